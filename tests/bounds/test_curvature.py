"""Q and its proofs in rational arithmetic: no entry is off by more than is allowed for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sparsebounds.bounds import Curvature
from sparsebounds.program import Program

KINDS = ["plain", "intercept", "far", "weights", "scales", "offset"]


def posed(kind: str, seed: int = 0) -> Program:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(18, 4)) + rng.normal(size=(18, 1))
    y = X @ rng.normal(size=4) + rng.normal(size=18)
    if kind in ("far", "farther"):
        level = 1e3 if kind == "far" else 1e6
        X, y = X + level, y + level
    if kind == "scales":
        X = X * np.logspace(-8, 8, 4)
    options: dict[str, Any] = {"fit_intercept": kind in ("intercept", "far", "farther", "offset")}
    if kind == "weights":
        options["sample_weight"] = rng.uniform(0.1, 3.0, 18)
    if kind == "offset":
        options["offset"] = 100.0 + rng.normal(size=18)
    return Program(X, y, k=2, ridge=0.1, **options)


class Exact:
    """(kappa, c, Q) of a program in rational numbers: F(w) = w.Q w/2 - c.w + kappa."""

    def __init__(self, program: Program) -> None:
        columns = program.matrix.columns(np.arange(program.m)).T
        rows = [[Fraction(float(x)) for x in column] for column in columns]
        weights = [Fraction(float(w)) for w in program.weights]
        offset = np.zeros(program.n) if program.offset is None else program.offset
        y = [
            Fraction(float(a)) - Fraction(float(b)) for a, b in zip(program.y, offset, strict=True)
        ]
        whole = sum(weights)
        self.p = [w / whole for w in weights]
        if program.fit_intercept:
            rows, y = [self._centred(row) for row in rows], self._centred(y)
        self.gram = [[self._dot(a, b) for b in rows] for a in rows]
        self.slope = [self._dot(a, y) for a in rows]
        self.kappa = self._dot(y, y) / 2

    def _dot(self, a: list[Fraction], b: list[Fraction]) -> Fraction:
        return sum((p * x * z for p, x, z in zip(self.p, a, b, strict=True)), Fraction())

    def _centred(self, values: list[Fraction]) -> list[Fraction]:
        mean = sum(p * x for p, x in zip(self.p, values, strict=True))
        return [x - mean for x in values]


def definite(matrix: list[list[Fraction]]) -> bool:
    """Whether a rational matrix is positive definite, by elimination."""
    rows = [row[:] for row in matrix]
    for i, row in enumerate(rows):
        if row[i] <= 0:
            return False
        for below in rows[i + 1 :]:
            share = below[i] / row[i]
            below[:] = [b - share * a for a, b in zip(row, below, strict=True)]
    return True


@pytest.mark.parametrize("kind", [*KINDS, "farther"])
def test_the_room_is_more_than_the_rounding(kind: str) -> None:
    program = posed(kind)
    curvature, exact, live = Curvature(program), Exact(program), np.arange(4)
    d = np.zeros(4)
    unit = curvature.units(live, d)
    off = [
        [float(Fraction(float(a)) - b) for a, b in zip(*rows, strict=True)]
        for rows in zip(curvature.gram, exact.gram, strict=True)
    ]
    error = np.linalg.norm(np.array(off) * unit * unit[:, None], 2)
    room = curvature.room(live, d, unit)
    assert error <= 0.5 * room
    # No more than it need be: columns of all lengths, and far from 0, are all alike.
    least = float(np.max(curvature.power * unit**2))
    assert room <= 1e-12 * least
    assert np.all(np.abs(np.log2(curvature.spread * unit**2)) <= 1.001)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wider", [1.0, 4.0])
def test_the_linear_part(kind: str, wider: float) -> None:
    for seed in range(4):
        program = posed(kind, seed)
        exact = Exact(program)
        kappa, slope, error = Curvature(program).linear(wider)
        assert Fraction(kappa) <= exact.kappa
        assert kappa >= float(exact.kappa) * (1.0 - (1e-10 if kind in ("far", "offset") else 1e-12))
        for found, true, most in zip(slope, exact.slope, error, strict=True):
            assert abs(Fraction(float(found)) - true) <= Fraction(float(most)) / Fraction(wider)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_just_accepted_is_definite(kind: str) -> None:
    """The largest multiple of a diagonal, and of a factor, for which the proof is found."""
    program = posed(kind)
    curvature, exact, live = Curvature(program), Exact(program), np.arange(4)
    variance = 1.0 / np.diagonal(np.linalg.inv(curvature.gram / curvature.spread * 1.0))
    variance = variance / np.max(variance) * curvature.spread
    roots = np.diag(np.sqrt(variance))
    for factor in (None, roots):
        low, high = 0.0, 1.0

        def parts(t: float, factor: Any = factor) -> tuple[np.ndarray, Any]:
            return (t * variance, None) if factor is None else (-0.1 * variance * t, t * factor)

        def proved(t: float, parts: Any = parts) -> bool:
            d, root = parts(t)
            spare = 2.0 * curvature.room(live, d, curvature.units(live, d))
            return curvature.exceeds(live, d, spare, root)

        assert proved(low)
        assert not proved(high)
        while math.nextafter(low, 1.0) < high and high - low > 1e-17:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if proved(middle) else (low, middle)
        d, root = parts(low)
        unit = curvature.units(live, d)
        room = Fraction(curvature.room(live, d, unit))
        matrix = [row[:] for row in exact.gram]
        for i in range(4):
            # The proof was asked for twice the room: one is for rounding, one is left.
            matrix[i][i] -= Fraction(float(d[i])) + room / Fraction(float(unit[i])) ** 2
            if root is not None:
                matrix[i][i] -= Fraction(float(root[i, i])) ** 2
        assert definite(matrix)
        # And little more would not be.
        for i in range(4):
            matrix[i][i] -= 3 * room / Fraction(float(unit[i])) ** 2
        assert not definite(matrix)


def test_what_is_no_proof() -> None:
    program = posed("plain")
    curvature, live = Curvature(program), np.arange(4)
    assert curvature.exceeds(live, np.zeros(4), 0.0, np.zeros((4, 4)))
    for d in (np.full(4, math.nan), np.full(4, math.inf), 2.0 * curvature.spread):
        assert not curvature.exceeds(live, d, 0.0)
    assert not curvature.exceeds(live, np.zeros(4), math.nan)
    for factor in (np.zeros((3, 4)), np.full((4, 4), math.nan), 10.0 * np.eye(4)):
        assert not curvature.exceeds(live, np.zeros(4), 0.0, factor)
