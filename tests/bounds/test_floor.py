"""The least loss: no bound that is returned lies below it, and it is a bound."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import (
    WIDER,
    Node,
    bound_at,
    budget_curve,
    cardinality_curve,
    claim_at,
    dual_point,
    enclosed,
    floor,
    widened,
)
from sparsebounds.bounds.forcing import forced_bounds
from sparsebounds.bounds.gram import GramBounds
from sparsebounds.bounds.many import node_bounds
from sparsebounds.losses import NONCONVEX, REGISTRY
from sparsebounds.program import Form
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
ZERO = ["squared", "logistic", "huber", "squared_hinge"]


def awkward(loss: str, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 6)) * np.logspace(-4, 4, 6)
    y = rng.normal(size=14)
    if loss in ("logistic", "squared_hinge"):
        y = np.where(np.arange(14) % 3, 1.0, -1.0)
    return {"X": X, "y": y, "loss": loss}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_bounds_of_every_kind(loss: str, form: Form) -> None:
    """At dual vectors that prove nothing else, and never above the optimum."""
    for seed in range(6):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        least, optimum = floor(program), brute_force(program).value
        exact = -program.F.conjugate(np.zeros(program.n))
        assert least <= exact * (1.0 + 1e-15 * np.sign(exact))
        assert least == pytest.approx(exact, rel=1e-13, abs=0.0)
        if loss in ZERO:
            assert least == 0.0
        a = 1e3 * np.random.default_rng(seed).normal(size=program.n) * program.F.p
        point = dual_point(program, a)
        state = np.zeros((1, program.m), dtype=np.int8)
        state[:, program.always], state[:, program.never] = 1, -1
        nodes = node_bounds(program, point.t[None], state)
        forced = forced_bounds(program, point)
        assert claim_at(program, widened(program, point)) >= floor(program, WIDER)
        found = [bound_at(program, point), *budget_curve(program.with_budget(0), point)]
        found += [*nodes.lower, *forced.inside, *forced.outside, sb.lower_bound(program, a)]
        if form.startswith("l0") and isinstance(program.l0, float):
            found += [*cardinality_curve(program, point)]
        assert min(found) >= least
        assert bound_at(program, point) <= optimum
        assert least <= optimum
        assert bound_at(program, point, Node(low=program.m + 1)) == np.inf


@pytest.mark.parametrize("loss", sorted(NONCONVEX))
def test_envelopes(loss: str) -> None:
    rng = np.random.default_rng(1)
    y = np.abs(rng.normal(size=10)) if loss != "quartic" else rng.normal(size=10)
    y = np.where(y > 0.6, 1.0, -1.0) if NONCONVEX[loss].two_class else y
    program = sb.Program(rng.normal(size=(10, 3)), y, k=1, ridge=1e-3, loss=loss)
    convex = enclosed(program)
    least = float(np.mean(program.loss.infimum(program.y)))
    assert floor(convex) == floor(program) == pytest.approx(least, rel=1e-13)
    point = dual_point(convex, 100.0 * rng.normal(size=10))
    assert floor(convex) <= bound_at(convex, point) <= brute_force_value(program)


def brute_force_value(program: sb.Program) -> float:
    """The objective of the empty model: above the optimum."""
    return program.objective(np.zeros(program.m))


def test_bounds_by_shifts() -> None:
    rng = np.random.default_rng(0)
    program = sb.Program(rng.normal(size=(9, 4)), rng.normal(size=9), k=1, ridge=0.1)
    state = np.zeros(4, dtype=np.int8)
    assert GramBounds(program).bound(state, 1e3 * np.ones(4), np.zeros(4)) == 0.0


@pytest.mark.parametrize("loss", ZERO)
@pytest.mark.parametrize("size", [{"ridge": 1e-20}, {"ball": 1e4}])
def test_what_is_returned(loss: str, size: dict[str, float]) -> None:
    """Tiny ridges, and no time at all."""
    data = awkward(loss)
    for terms in ({"k": 2}, {"l0": 0.01}):
        options = {**data, **terms, **size, "fit_intercept": "k" in terms}
        for limits in ({}, {"time_limit": 1e-6}):
            solution = sb.solve(**options, exact=True, node_limit=4, **limits)
            assert 0.0 <= solution.lower <= solution.upper
            assert solution.relaxation.lower >= 0.0
            assert solution.certificate.lower == solution.lower
            assert solution.certificate.verify(data["X"], data["y"]).ok
        program = sb.Program(**options)
        near = sb.near_optimal(program, 0.01, time_limit=1e-6)
        assert 0.0 <= near.lower <= near.upper
        certificate = sb.certify(program, np.zeros(6))
        assert 0.0 <= certificate.lower <= solution.upper


def test_paths_with_a_null_far_above_the_optimum() -> None:
    """Rounding to bits of the null objective does not go below 0 either."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = 1e6 * X[:, 0] + 0.01 * rng.normal(size=30)
    for grid in ({"ks": [1, 2, 3]}, {"l0s": [1.0, 1e-3]}):
        for point in sb.path(X, y, ridge=1e-14, **grid):
            assert 0.0 <= point.lower <= point.upper
            assert math.isfinite(point.upper)
            assert point.certificate.verify(X, y).ok
