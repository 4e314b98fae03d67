"""Drafts on columns that are not copied: those of drafts on copies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds._support.array import Index
from sparsebounds.fitting import Bends, Wanted, drafted, streamed
from sparsebounds.losses import REGISTRY
from sparsebounds.matrices import dense
from sparsebounds.program import Program
from sparsebounds.testing import random_program


@pytest.fixture(autouse=True)
def everything_tall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dense matrix is read as tall ones are, a few rows at a time."""
    for name, value in (("MANY", 0), ("STEEP", 0), ("BLOCK", 1), ("SLIVER", 3)):
        monkeypatch.setattr(dense, name, value)


def supports_of(program: Program, seed: int) -> list[Index]:
    rng = np.random.default_rng(seed)
    sizes = [0, *rng.integers(0, program.m + 1, 5)]
    return [np.sort(rng.permutation(program.m)[:size]) for size in sizes]


def curvature(program: Program, z: np.ndarray) -> Bends:
    """The second derivatives at predictions z."""
    A, bend = program.matrix.columns(np.arange(program.m)), program.F.curvature(z) + 1e-3
    mass = float(bend.sum())
    mean = bend @ A / mass if program.fit_intercept else np.zeros(program.m)
    centred = A - mean
    return Bends(centred.T @ (bend[:, None] * centred), mean, mass)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("loss", sorted(name for name in REGISTRY if REGISTRY[name]().convex))
def test_streams_are_drafts(loss: str, near: bool) -> None:
    settled = 0
    for seed in seeds(6, "stream", loss, near):
        program = random_program(
            seed, loss=loss, form="k+ridge", fit_intercept=bool(seed % 2), most_rows=30
        )
        supports = supports_of(program, seed)
        rows = program.matrix.columns(np.arange(program.m)).T
        count = len(supports)
        w, b = np.zeros((count, program.m)), np.full(count, program.null_intercept)
        start, never = (program.ridges, supports, w, b), np.full(count, np.inf)
        known = curvature(program, np.full(program.n, program.null_intercept)) if near else None
        copied = drafted(program, rows.__getitem__, Wanted(*start, never))
        found = streamed(program, program.matrix, Wanted(*start, never), known)
        both = np.isfinite(copied.value) & np.isfinite(found.value)
        settled += int(np.count_nonzero(both))
        scale = np.maximum(np.abs(copied.value), 1e-6 * abs(program.null))[both]
        assert np.all(np.abs(found.value - copied.value)[both] <= 1e-7 * scale)
        if not both.any():
            continue
        # With a limit nothing is lost that comes clearly below it and is the best.
        best = float(np.min(copied.value[both]))
        limit = np.full(count, best + 1e-3 * abs(best) + 1e-6)
        raced = streamed(program, program.matrix, Wanted(*start, limit), known)
        done = np.isfinite(raced.value)
        assert np.all(raced.value[done] >= best - 1e-6 * abs(best) - 1e-12)
    assert settled > 10
