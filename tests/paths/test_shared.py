"""What points of a path share: dual points scored together, and bounds in few bits."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds.bounds import bound_at, dual_point_at, dual_points_at, repair
from sparsebounds.datasets import make_correlated
from sparsebounds.losses import REGISTRY
from sparsebounds.paths.shared import BITS, coarse
from sparsebounds.program import Program
from sparsebounds.testing import random_program


@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_dual_points_scored_together(loss: str) -> None:
    for seed in range(3):
        program = random_program(seed, loss=loss, fit_intercept=bool(seed % 2))
        rng = np.random.default_rng(seed)
        t = np.stack([repair(program, rng.normal(size=program.n)) for _ in range(4)])
        for row, point in zip(t, dual_points_at(program, t), strict=True):
            alone = dual_point_at(program, row)
            slack = 1e-12 * max(abs(program.null), abs(alone.conjugate))
            assert abs(bound_at(program, point) - bound_at(program, alone)) <= slack
            assert np.all(np.abs(point.scores - alone.scores) <= point.radius + alone.radius)


def test_coarse_bounds_are_below_and_close() -> None:
    data = make_correlated(60, 25, nonzeros=5, random_state=0)
    program = Program(data.X, data.y, k=2, ridge=0.1)
    for lower in [-program.null, 0.0, 1e-20, -1e-20, 0.3 * program.null, 1e9, -np.inf]:
        rounded = coarse(program, lower)
        assert rounded <= lower
        assert coarse(program, rounded) == rounded
        if np.isfinite(lower):
            assert lower - rounded <= 2.0 ** (1 - BITS) * max(abs(lower), program.null)
