"""Bounds of many nodes at once: those of one node at a time, or a rounding below."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest

from sparsebounds.bounds import Node, bound_at, dual_point_at
from sparsebounds.bounds.forcing import forced_bounds
from sparsebounds.bounds.many import node_bounds
from sparsebounds.bounds.repair import repair
from sparsebounds.losses import REGISTRY
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program

EVERY = list(itertools.product(sorted(REGISTRY), get_args(Form)))


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_many_bounds_are_single_bounds(loss: str, form: Form) -> None:
    for seed in range(12):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        rng = np.random.default_rng(seed)
        state = rng.choice(np.array([-1, 0, 0, 0, 1], dtype=np.int8), size=(6, program.m))
        state[:, program.always], state[:, program.never] = 1, -1
        t = np.stack([repair(program, row) for row in rng.normal(size=(6, program.n))])
        found = node_bounds(program, t, state)
        for i in range(6):
            inside = np.flatnonzero((state[i] > 0) & program.free)
            node = Node(inside, np.flatnonzero((state[i] < 0) & program.free))
            point = dual_point_at(program, t[i])
            scale = abs(point.conjugate) + np.max(point.reach, initial=0.0) ** 2 / 1e-3 + 1.0
            single = bound_at(program, point, node)
            near(found.lower[i], single, scale)
            forced = forced_bounds(program, point, node)
            for j, into, out in zip(forced.features, forced.inside, forced.outside, strict=True):
                near(found.inside[i, j], min(into, point.ceiling), scale)
                near(found.outside[i, j], min(out, point.ceiling), scale)


def near(found: float, single: float, scale: float) -> None:
    if np.isinf(single):
        assert found == single
    else:
        assert single - 1e-10 * scale <= found <= single + 1e-13 * scale


def test_features_always_in_do_not_use_the_budget() -> None:
    """k = 1 with two features always in: the bound is one over three features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5))
    y = X @ np.array([1.0, -1.0, 2.0, 0.0, 0.0]) + 0.1 * rng.normal(size=12)
    program = Program(X, y, k=1, ridge=0.1, always=[0, 1])
    best = brute_force(program)
    t = program.loss.gradient(y, X @ best.w)[None]
    state = np.array([[1, 1, 0, 0, 0]], dtype=np.int8)
    found = node_bounds(program, t, state)
    assert found.lower[0] <= best.value
    assert found.lower[0] == pytest.approx(bound_at(program, dual_point_at(program, t[0])))
    assert found.inside[0, 2] <= best.value
