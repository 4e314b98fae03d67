"""Regions of good models: their parts, that they hold every model, and what is no region."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds.bounds import (
    Curvature,
    Region,
    dual_point_at,
    leverages,
    objective_up,
    repair,
    secants,
)
from sparsebounds.losses import get_loss
from sparsebounds.models import refit
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import region_at, relax
from sparsebounds.testing import brute_force, random_program

LOSSES = ("logistic", "poisson")
FORMS: tuple[Form, ...] = ("k+ridge", "l0+ridge")


@pytest.mark.parametrize("name", LOSSES)
def test_secants_are_not_too_large_and_nearly_the_largest(name: str) -> None:
    """Against the loss in extended precision, on a grid of the interval."""
    rng, loss = np.random.default_rng(0), get_loss(name)
    z = rng.uniform(-30.0, 20.0, 3000)
    reach = 10.0 ** rng.uniform(-6, 2, 3000)
    y = rng.choice([-1.0, 1.0], 3000) if name == "logistic" else rng.poisson(2.0, 3000) * 1.0
    with np.errstate(all="ignore"):
        found, wide = (secants(loss, y, z, reach, wider) for wider in (1.0, 4.0))
        at = z.astype(np.longdouble)
        slope = np.exp(at) - y if name == "poisson" else -y / (1.0 + np.exp(y * at))
        largest = np.full(3000, np.inf, dtype=np.longdouble)
        for part in np.linspace(-1.0, 1.0, 41):
            d = (part * reach).astype(np.longdouble)
            if name == "poisson":
                rise = np.exp(at) * (np.expm1(d) - d)
            else:
                # log((1 + e^{-y(z + d)})/(1 + e^{-yz})) - slope d
                share = 1.0 / (1.0 + np.exp(y * at))
                rise = np.log1p(share * np.expm1(-y * d)) - slope * d
            exact = 2.0 * rise / np.square(d)
            # Below that the referee itself has no digits.
            sure = loss.curvature(y, z) * np.square(d) > 1e-9 * (1.0 + np.abs(d))
            largest = np.where(sure, np.fmin(largest, exact * (1.0 + 1e-9)), largest)
    assert np.all(wide <= found)
    assert np.all(found <= largest)
    assert np.all(found <= loss.curvature(y, z))
    clear = (reach > 1e-3) & (z > -15.0) & (reach < 10.0)
    assert np.median(found[clear] / largest[clear].astype(float)) > 1.0 - 1e-6
    # Short intervals have nearly all of the curvature.
    short = reach < 1e-3
    assert np.all(found[short] >= (1.0 - 1e-3) * loss.curvature(y[short], z[short]))


def exact_leverages(X: Any, weights: Any, added: Any, *, intercept: bool) -> list[Fraction]:
    """x (X^T W X + diag(added))^-1 x in rational numbers, by elimination."""
    rows = [[Fraction(float(x)) for x in row] + [Fraction(1)] * intercept for row in X]
    size, share = len(rows[0]), [Fraction(float(v)) for v in weights]
    matrix = [
        [sum(s * r[i] * r[j] for s, r in zip(share, rows, strict=True)) for j in range(size)]
        for i in range(size)
    ]
    for j, value in enumerate(added):
        matrix[j][j] += Fraction(float(value))
    found = []
    for row in rows:
        system = [[*line, right] for line, right in zip(matrix, row, strict=True)]
        for i in range(size):
            for k in range(i + 1, size):
                ratio = system[k][i] / system[i][i]
                system[k] = [a - ratio * b for a, b in zip(system[k], system[i], strict=True)]
        # x M^-1 x is the sum of squares of the eliminated right side over the pivots.
        found.append(sum(system[i][-1] ** 2 / system[i][i] for i in range(size)))
    return found


@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_are_not_too_small(intercept: bool) -> None:
    count = 0
    for seed in seeds(12, "leverages", intercept):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9, 3)) * 10.0 ** rng.uniform(-8, 8, 3)
        if seed % 3 == 0:
            X[:, 2] = X[:, 1] * (1.0 + 1e-7 * rng.normal(size=9))
        if seed % 3 == 1:
            X += 100.0 * np.abs(X).max(axis=0)
        bend = rng.uniform(0.0, 0.25, 9) * (rng.random(9) < 0.9)
        y = np.where(rng.random(9) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        program = Program(X, y, loss="logistic", k=1, ridge=0.1, fit_intercept=intercept)
        weights = program.F.p * bend
        added = 0.01 * np.square(X).T @ weights * (1e-9 if seed % 3 == 0 else 1.0)
        curvature = Curvature(program, weights=weights)
        exact = exact_leverages(X, weights, added, intercept=intercept)
        for wider in (1.0, 4.0):
            found = leverages(curvature, added, wider)
            if found is None:
                continue
            count += 1
            for bound, value in zip(found, exact, strict=True):
                assert Fraction(float(bound)) ** 2 >= value
                assert bound**2 <= float(value) * (1.0 + 1e-2)
    assert count >= 10


def supports(program: Program) -> Iterator[Any]:
    """All that a model may have."""
    free, always = np.flatnonzero(program.free), np.flatnonzero(program.always)
    most = len(free) if program.k is None else min(program.k, len(free))
    for size in range(most + 1):
        for chosen in combinations(free.tolist(), size):
            yield np.union1d(always, np.array(chosen, dtype=np.int64))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_distance_of_a_model_from_the_center(loss: str, form: Form) -> None:
    """Psi - objective is at most T - V at any dual vector and center, and that on some support."""
    count = 0
    for seed in seeds(20, "distance", loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        rng = np.random.default_rng(seed)
        t = repair(program, 0.5 * rng.normal(size=program.n))
        point, ridges = dual_point_at(program, t), program.ridges
        best = -point.scores / ridges
        best = np.where(program.positive, np.maximum(best, 0.0), best)
        share, size = rng.uniform(0.01, 0.9, program.m), np.max(np.abs(best))
        center = rng.choice([0.0, 0.5, 1.0], program.m) * best + 0.1 * size * rng.normal(
            size=program.m
        )
        level = 10.0 + abs(point.conjugate)
        total = Region(level, center, 0.0, share, np.zeros(program.n)).total(program, point, 1.0)
        found = []
        for support in supports(program):
            w = np.zeros(program.m)
            w[support] = (best + share / (1.0 - share) * (best - center))[support]
            w = np.where(program.positive, np.maximum(w, 0.0), w)
            away = 0.5 * float(share * ridges @ np.square(w - center))
            # F cancels: B is F less the linear function whose conjugate is at hand.
            inner = float(point.scores @ w) + program.regularizer(w)
            found.append(level + away - inner + point.conjugate)
        room = 1e-9 * (1.0 + max(map(abs, found)))
        assert max(found) <= total + room
        if not program.positive.any():
            count += 1
            assert total <= max(found) + room
    assert count >= 8


def posed(loss: str, form: Form, few: int) -> Iterator[tuple[int, Program, Any, float]]:
    """Programs with their relaxations and optima, on the features that are allowed."""
    for seed in seeds(few, "region", loss, form):
        program = random_program(
            seed, loss=loss, form=form, fit_intercept=bool(seed % 2), most_rows=14
        )
        if not program.never.all():
            program = program.restricted(np.flatnonzero(~program.never))
            yield seed, program, relax(program, tol=1e-7), brute_force(program).value


def good_models(program: Program, level: float, rng: Any) -> Iterator[tuple[Any, float]]:
    """Models of an objective nearly `level`, from the best ones of all supports outwards."""
    every = list(supports(program))
    for place in rng.permutation(len(every))[:12]:
        support = every[place]
        best = refit(program, support)
        if not best.value < level:
            continue
        columns = program.matrix.columns(support)
        for _ in range(3):
            # Where a row's prediction moves most, and somewhere else.
            step = columns[rng.integers(program.n)] / (program.ridges[support] + 1e-3)
            step = step * rng.choice([-1.0, 1.0]) + 0.1 * rng.normal(size=len(support))
            away, shift = np.zeros(program.m), float(rng.normal()) * program.fit_intercept
            away[support] = step
            inside, outside = 0.0, 1.0
            for _ in range(30):
                t = 0.5 * (inside + outside)
                good = objective_up(program, best.w + t * away, best.b + t * shift) <= level
                inside, outside = (t, outside) if good else (inside, t)
            yield best.w + inside * away, best.b + inside * shift


@pytest.mark.filterwarnings("ignore::sparsebounds.relaxation.RelaxationWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_model_up_to_the_level_is_inside(loss: str, form: Form) -> None:
    """And the loss lies above the quadratic there: at the relaxed solution, and away from it."""
    count = models = 0
    for seed, program, relaxed, optimum in posed(loss, form, 5):
        rng = np.random.default_rng(seed)
        for rise, moved in ((0.2, 0.0), (1.0, 1e-3), (3.0, 0.0)):
            level = optimum + rise * max(optimum - relaxed.lower, 1e-3 * abs(optimum))
            point, w = relaxed.point, relaxed.w * (1.0 + moved * rng.normal(size=program.m))
            region = region_at(program, point, w, relaxed.b, level)
            curvature = None if region is None else region.curvature(program, point.t)
            if curvature is None:
                continue
            count += 1
            kappa, slope, _ = curvature.linear()
            z = curvature.center[0]
            for v, b in good_models(program, level, rng):
                models += 1
                here = program.matrix.columns(np.arange(program.m)) @ v + b
                offset = 0.0 if program.offset is None else program.offset
                assert np.all(np.abs(here + offset - z) <= curvature.reach * (1.0 + 1e-9))
                below = kappa - slope @ v + 0.5 * v @ curvature.gram @ v
                value = program.F.value(here)
                assert below <= value + 1e-11 * (abs(value) + abs(kappa) + abs(slope @ v))
    assert count >= 4
    assert models >= 20


@pytest.fixture(scope="module")
def proved() -> tuple[Program, Region, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    y = np.where(rng.random(60) < 1.0 / (1.0 + np.exp(-X @ [0.5, -0.8, 0.6, 0.4])), 1.0, -1.0)
    program = Program(X, y, loss="logistic", k=2, ridge=0.02, fit_intercept=True)
    relaxed = relax(program)
    level = 0.5 * (relaxed.lower + brute_force(program).value)
    region = region_at(program, relaxed.point, relaxed.w, relaxed.b, level)
    assert region is not None
    for claim in (False, True):
        assert region.curvature(program, relaxed.point.t, claim=claim) is not None
    return program, region, relaxed.point.t


def test_claims_leave_more_room(proved: tuple[Program, Region, Any]) -> None:
    program, region, t = proved
    plain, claimed = (region.curvature(program, t, claim=claim) for claim in (False, True))
    assert plain is not None
    assert claimed is not None
    assert np.all(plain.reach < claimed.reach)
    assert np.all(claimed.reach < 1.01 * plain.reach)
    assert claimed.linear(4.0)[0] < plain.linear()[0]


def test_what_is_no_region(proved: tuple[Program, Region, Any]) -> None:
    program, region, t = proved
    wrong: list[dict[str, Any]] = [
        {"level": math.nan},
        {"level": math.inf},
        {"level": region.level + 1.0},
        {"bend": region.bend[:-1]},
        {"bend": -region.bend},
        {"bend": region.bend * 1.2},
        {"bend": np.zeros(60)},
        {"share": region.share[:-1]},
        {"share": -region.share},
        {"share": np.ones(4)},
        {"share": np.full(4, 1.5)},
        {"center": region.center[:-1]},
        {"center": region.center + 1.0},
        {"intercept": math.nan},
        {"intercept": region.intercept + 2.0},
    ]
    for name in ("bend", "share", "center"):
        for value in (math.nan, math.inf, -math.inf):
            array = getattr(region, name).copy()
            array[0] = value
            wrong.append({name: array})
    for fields in wrong:
        assert replace(region, **fields).curvature(program, t) is None, fields
    with pytest.raises(ValueError, match="outside the domain"):
        region.curvature(program, -t)


def test_losses_and_balls_that_have_none(proved: tuple[Program, Region, Any]) -> None:
    program, region, t = proved
    X, y = program.matrix.columns(np.arange(4)), program.y
    options: dict[str, Any] = {"k": 2, "fit_intercept": True}
    for other in (
        Program(X, y, loss="squared", ridge=0.02, **options),
        Program(X, y, loss="squared_hinge", ridge=0.02, **options),
        Program(X, y, loss="huber", ridge=0.02, **options),
        Program(X, y, loss="logistic", ball=1.0, **options),
    ):
        assert not Region.known(other)
        assert region.curvature(other, t) is None
    # Without an intercept there is none to centre on.
    bare = Program(X, y, loss="logistic", ridge=0.02, k=2)
    assert region.curvature(bare, t) is None


def test_a_dual_vector_far_from_the_gradients_costs_what_it_is_off_by(
    proved: tuple[Program, Region, Any],
) -> None:
    program, region, t = proved
    lost = []
    for part in (1.0, 1.0 - 1e-6, 1.0 - 1e-4):
        point = dual_point_at(program, part * t)
        found = region_at(program, point, region.center, region.intercept, region.level)
        assert found is not None
        curvature = found.curvature(program, part * t)
        assert curvature is not None
        lost.append(curvature.lost)
    assert lost[0] < 0.1 * lost[1]
    assert 50.0 * lost[1] < lost[2] < 200.0 * lost[1]
