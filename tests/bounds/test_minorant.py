"""Small programs below larger ones: in rational arithmetic, for every model; -inf where not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds.bounds import Curvature, Minorant
from sparsebounds.matrices import StandardizedMatrix
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import central_diagonal, minorant_at
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


class Exact:
    """The smooth parts of a program and of its minorant in rational numbers."""

    def __init__(self, program: Program, minorant: Minorant) -> None:
        matrix, weights = program.matrix, fractions(program.weights)
        whole = sum(weights)
        base = matrix.base if isinstance(matrix, StandardizedMatrix) else matrix
        X = [fractions(row) for row in base.columns(np.arange(program.m))]
        if isinstance(matrix, StandardizedMatrix):
            center, scale = fractions(matrix.center), fractions(matrix.scale)
            X = [[(x - c) / s for x, c, s in zip(row, center, scale, strict=True)] for row in X]
        offset = np.zeros(program.n) if program.offset is None else program.offset
        self.y = [a - b for a, b in zip(fractions(program.y), fractions(offset), strict=True)]
        self.X, self.p, self.intercept = X, [w / whole for w in weights], program.fit_intercept
        self.own = fractions(program.ridges) if program.ball is None else [Fraction()] * program.m
        self.factor = [fractions(row) for row in minorant.factor]
        self.target, self.ridge = fractions(minorant.target), fractions(minorant.ridge)

    def large(self, w: list[Fraction]) -> Fraction:
        """The loss at the best intercept, and the ridge."""
        rest = [sum(a * b for a, b in zip(row, w, strict=True)) for row in self.X]
        rest = [a - b for a, b in zip(rest, self.y, strict=True)]
        level = sum(a * b for a, b in zip(self.p, rest, strict=True)) if self.intercept else 0
        loss = sum(p * (r - level) ** 2 for p, r in zip(self.p, rest, strict=True))
        return (loss + sum(r * v * v for r, v in zip(self.own, w, strict=True))) / 2

    def small(self, w: list[Fraction]) -> Fraction:
        """The same of the minorant's program."""
        rest = [sum(a * b for a, b in zip(row, w, strict=True)) for row in self.factor]
        loss = sum((a - b) ** 2 for a, b in zip(rest, self.target, strict=True)) / len(self.target)
        return (loss + sum(r * v * v for r, v in zip(self.ridge, w, strict=True))) / 2


def posed(form: Form, count: int, *, rows: int = 14) -> Iterator[tuple[Program, Curvature]]:
    for seed in seeds(count, "minorant", form):
        program = random_program(seed, form=form, fit_intercept=bool(seed % 2), most_rows=rows)
        yield program, Curvature(program)


def made(program: Program, curvature: Curvature, eta: float = 0.05) -> Minorant | None:
    """As a search makes it; with no diagonal where there is none."""
    eta = 0.0 if program.ball is None else eta
    own = program.ridges if program.ball is None else np.full(program.m, eta)
    diagonal = central_diagonal(curvature, own)
    return minorant_at(curvature, -0.1 * own if diagonal is None else diagonal, eta)


def models(program: Program, curvature: Curvature, minorant: Minorant) -> Iterator[np.ndarray]:
    """Coefficients of all sizes, near the best ones, and where there is the least curvature."""
    rng = np.random.default_rng(program.m)
    with np.errstate(all="ignore"):
        length = 1.0 / np.sqrt(curvature.spread + minorant.ridge)
        scaled = curvature.gram * length * length[:, None]
        best = np.linalg.lstsq(scaled, curvature.linear()[1] * length, rcond=1e-12)[0]
        root = minorant.factor * length / math.sqrt(program.m)
        own = 0.0 if program.ball is not None else program.ridges
        left = scaled - root.T @ root - np.diag((minorant.ridge - own) * length**2)
        least = np.linalg.eigh(left)[1][:, 0]
    for size in (0.0, 1e-3, 1.0, 1e3):
        yield length * (best + size * rng.normal(size=program.m))
        yield length * (best + size * least)
        yield length * size * rng.normal(size=program.m) * (rng.random(program.m) < 0.5)


@pytest.mark.parametrize("form", FORMS)
def test_it_lies_below_for_every_model(form: Form) -> None:
    count = 0
    for program, curvature in posed(form, 16):
        minorant = made(program, curvature)
        if minorant is None:
            continue
        bases = [minorant.base(curvature, claim=claim) for claim in (True, False)]
        assert bases[0] <= bases[1]
        if not math.isfinite(bases[1]):
            continue
        exact, base = Exact(program, minorant), Fraction(bases[1])
        count += 1
        for w in models(program, curvature, minorant):
            if program.ball is not None:
                w = w * min(1.0, 0.999 * math.sqrt(program.ball) / max(np.linalg.norm(w), 1e-300))
            at = fractions(w)
            assert base + exact.small(at) <= exact.large(at)
    assert count >= 6


@pytest.mark.parametrize("form", ["k+ridge", "l0+ridge"])
def test_it_gives_away_little(form: Form) -> None:
    rng = np.random.default_rng(7)
    for seed in range(4):
        X = rng.normal(size=(25, 5)) + rng.normal(size=(25, 1))
        y = X @ rng.normal(size=5) + rng.normal(size=25)
        terms: dict[str, Any] = {"k": 2} if form == "k+ridge" else {"l0": 0.02}
        program = Program(X, y, ridge=0.01, fit_intercept=bool(seed % 2), **terms)
        curvature = Curvature(program)
        minorant = made(program, curvature)
        assert minorant is not None
        assert np.all(minorant.ridge > 1.5 * program.ridges)
        exact = Exact(program, minorant)
        for claim in (False, True):
            base = Fraction(minorant.base(curvature, claim=claim))
            for w in rng.normal(size=(5, 5)):
                at = fractions(w)
                lost = exact.large(at) - base - exact.small(at)
                assert 0 <= lost <= 1e-9 * (float(exact.large(at)) + program.null)


@pytest.mark.parametrize("form", FORMS)
def test_its_optimum_is_a_bound(form: Form) -> None:
    count = 0
    for program, curvature in posed(form, 10 if "ball" in form else 24, rows=20):
        minorant = made(program, curvature)
        if minorant is None:
            continue
        base = minorant.base(curvature)
        if not math.isfinite(base):
            continue
        count += 1
        small, optimum = minorant.program(program), brute_force(program).value
        for place in ("k", "l0"):
            assert np.array_equal(getattr(small, place), getattr(program, place))
        for place in ("always", "never", "positive"):
            assert np.array_equal(getattr(small, place), getattr(program, place))
        room = 1e-12 * (abs(base) + abs(optimum))
        assert base + brute_force(small).value <= optimum + room
    assert count >= 5


@pytest.fixture
def proved() -> tuple[Program, Curvature, Minorant]:
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(30, 5)) + rng.normal(size=(30, 1))) * np.logspace(-8, 8, 5)
    y = X @ (rng.normal(size=5) / np.logspace(-8, 8, 5)) + rng.normal(size=30)
    program = Program(X, y, k=2, ridge=0.01 * np.logspace(-16, 16, 5))
    curvature = Curvature(program)
    minorant = made(program, curvature)
    assert minorant is not None
    assert math.isfinite(minorant.base(curvature))
    assert math.isfinite(minorant.base(curvature, claim=True))
    return program, curvature, minorant


def test_a_diagonal_that_is_too_large_is_none(
    proved: tuple[Program, Curvature, Minorant],
) -> None:
    program, curvature, minorant = proved
    for feature in range(program.m):
        for part in (1e-9, 1e-6, 1.0):
            ridge = minorant.ridge.copy()
            ridge[feature] += part * curvature.spread[feature]
            assert replace(minorant, ridge=ridge).base(curvature) == -math.inf
        factor = minorant.factor.copy()
        factor[feature, feature] *= 1.0 + 1e-6
        assert replace(minorant, factor=factor).base(curvature) == -math.inf
    shifted = minorant.ridge + 1e-6 * (minorant.ridge - program.ridges)
    assert replace(minorant, ridge=shifted).base(curvature) == -math.inf


def test_numbers_that_are_none_prove_nothing(proved: tuple[Program, Curvature, Minorant]) -> None:
    _, curvature, minorant = proved
    for name in ("factor", "target", "ridge"):
        for value in (math.nan, math.inf):
            array = getattr(minorant, name).copy()
            array.flat[-1] = value
            changed = replace(minorant, **{name: array})
            assert changed.base(curvature) == changed.base(curvature, claim=True) == -math.inf
    wrong: list[dict[str, Any]] = [
        {"eta": -1e-300},
        {"eta": math.nan},
        {"ridge": np.append(minorant.ridge[:-1], 0.0)},
        {"ridge": -minorant.ridge},
        {"ridge": minorant.ridge[:-1]},
        {"factor": minorant.factor[:-1]},
        {"factor": minorant.factor[:, :-1]},
        {"factor": np.vstack((minorant.factor, np.zeros(5)))},
    ]
    for fields in wrong:
        assert replace(minorant, **fields).base(curvature) == -math.inf


def test_another_target_costs_what_it_is_off_by(
    proved: tuple[Program, Curvature, Minorant],
) -> None:
    """r = c - R^T s is paid for by the little curvature that is spared: any s is sound."""
    program, curvature, minorant = proved
    exact, rng = Exact(program, minorant), np.random.default_rng(0)
    before = (minorant.base(curvature), minorant.target)
    for size in (1e-12, 1e-9, 1e-3):
        target = minorant.target * (1.0 + size * rng.normal(size=5))
        other = replace(minorant, target=target)
        base = other.base(curvature)
        # At w = 0: what is left of kappa.
        at_0 = [base_ + 0.5 * np.mean(s**2) for base_, s in ((base, target), before)]
        assert at_0[0] < at_0[1] or size < 1e-9
        exact.target = fractions(target)
        for w in models(program, curvature, other):
            at = fractions(w)
            assert Fraction(base) + exact.small(at) <= exact.large(at)


def test_other_losses_have_none() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    squared = Program(X, y, k=1, ridge=0.1)
    minorant = made(squared, Curvature(squared))
    assert minorant is not None
    assert math.isfinite(minorant.base(Curvature(squared)))
    huber = Program(X, y, k=1, ridge=0.1, loss="huber")
    assert minorant.base(Curvature(huber)) == -math.inf
