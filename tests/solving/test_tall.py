"""Tall tables: the answers and proofs of columns in memory, without copies of them."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds._support import rounding
from sparsebounds.bounds import Curvature, Moments, many, upper
from sparsebounds.exact import root
from sparsebounds.matrices import dense
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import compressed, relaxation_of, sample, sampled
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

N, M = 24_000, 50
ORDERS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "frame": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
}


def table(loss: str, seed: int = 0) -> tuple[Any, Any]:
    """Correlated columns with means and scales of their own, and a noisy response."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) + rng.normal(size=(N, 1))
    X = X * rng.uniform(0.5, 2.0, size=M) + rng.normal(size=M)
    w = np.zeros(M)
    w[rng.choice(M, 8, replace=False)] = rng.uniform(-0.3, 0.3, 8)
    z = (X - X.mean(axis=0)) @ w
    if loss == "squared":
        return X, z + 3.0 * rng.normal(size=N)
    return X, np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks next to which the tables here are large."""
    monkeypatch.setattr(dense, "BLOCK", 1 << 13)
    monkeypatch.setattr(dense, "BITS", 1 << 12)
    monkeypatch.setattr(dense, "ROWS", 1 << 10)
    monkeypatch.setattr(upper, "ROWS", 1 << 10)
    monkeypatch.setattr(rounding, "FOLD", 1 << 10)
    monkeypatch.setattr(many, "TOGETHER", 1 << 10)


@pytest.fixture
def everything_tall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dense matrix is read as tall ones are, a few rows at a time."""
    for name, value in (("MANY", 0), ("STEEP", 0), ("BLOCK", 1), ("SLIVER", 3)):
        monkeypatch.setattr(dense, name, value)
    monkeypatch.setattr(upper, "ROWS", 3)


def peak(work: Callable[[], Any]) -> float:
    """Memory that some work takes at most, next to the table."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8.0 * N * M)
    finally:
        tracemalloc.stop()


def test_one_relaxation_multiplies_few_of_many_columns() -> None:
    X, y = table("squared", 3)
    X = np.hstack((X, np.random.default_rng(4).normal(size=(N, M))))
    program = Program(X, y, k=5, ridge=1e-2, standardize=True, fit_intercept=True)
    assert program.matrix.tall
    alone, whole = sb.relax(program), relaxation_of(program)
    assert alone.stats.working_set < program.m
    assert alone.status == whole.status == "optimal"
    assert alone.value == pytest.approx(whole.value, rel=2e-8)
    assert max(alone.lower, whole.lower) <= min(alone.value, whole.value)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("order", ORDERS)
def test_squared_losses_take_little_memory(order: str) -> None:
    plain, y = table("squared")
    X = ORDERS[order](plain)
    problem = {"k": 5, "ridge": 1e-3, "standardize": True, "fit_intercept": True}
    found: list[Any] = []
    assert peak(lambda: found.append(sb.solve(X, y, **problem))) < 0.35
    # So small a tolerance is beyond a minorant: nodes are bounded on all rows.
    fine = {"tol": 1e-9} if order == "C" else {}
    searching = {"exact": True, "node_limit": 4} | fine
    assert peak(lambda: found.append(sb.solve(X, y, **problem, **searching))) < 0.5
    for solution in found:
        assert peak(lambda: solution.certificate.verify(X, y)) < 0.5  # noqa: B023
        assert solution.certificate.verify(plain, y)
    program = Program(X, y, **problem)
    assert peak(lambda: sb.certify(program, found[0].coef, found[0].intercept)) < 0.35
    # Every point keeps a dual vector.
    path = {"ks": (2, 4, 6), "ridge": 1e-3, "standardize": True, "fit_intercept": True}
    assert peak(lambda: sb.path(X, y, **path)) < 0.35 + 3.0 * 3.0 / M
    model = sb.SparseRegressor(k=5, ridge=1e-3).fit(X, y)
    assert peak(lambda: model.predict(X)) < 0.35


@pytest.mark.usefixtures("small_blocks")
def test_logistic_losses_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof by curvature, which copies columns, is for smaller tables than those meant here."""
    monkeypatch.setattr(root, "LARGE", 0)
    monkeypatch.setattr(sample, "LEAST", 1000)
    X, y = table("logistic")
    problem = {
        "k": 5,
        "ridge": 1e-3,
        "standardize": True,
        "fit_intercept": True,
        "loss": "logistic",
    }
    program = Program(X, y, **problem)
    assert sampled(program) is not None
    assert peak(lambda: sb.relax(program)) < 0.5
    assert peak(lambda: sb.solve(X, y, **problem, exact=False)) < 0.5
    constant = 1e6 / X.nbytes
    assert peak(lambda: sb.solve(X, y, **problem, exact=True, node_limit=2)) < 0.5 + constant


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_tall_tables_have_the_answers_of_others(
    loss: str, monkeypatch: pytest.MonkeyPatch, small_blocks: None
) -> None:
    X, y = table(loss)
    X, y = X[:1000, :16], y[:1000]
    weights = np.random.default_rng(1).integers(1, 4, size=len(y))
    sides: tuple[dict[str, Any], ...] = ({}, {"sample_weight": weights, "offset": 0.1 * y})
    kinds = list(itertools.product(("C", "F"), ({"k": 4}, {"l0": 2e-3}), sides))
    for order, sizes, given in kinds if loss == "squared" else kinds[1::4]:
        problem: dict[str, Any] = (
            {"ridge": 1e-3, "loss": loss, "standardize": True, "fit_intercept": True}
            | sizes
            | given
        )
        monkeypatch.setattr(dense, "MANY", 1 << 60)
        other = sb.solve(X, y, **problem)
        monkeypatch.setattr(dense, "MANY", 1)
        tall = sb.solve(ORDERS[order](X), y, **problem)
        np.testing.assert_array_equal(tall.support, other.support)
        np.testing.assert_allclose(tall.coef, other.coef, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose((tall.lower, tall.upper), (other.lower, other.upper), rtol=1e-6)
        arguments = {name: given[name] for name in given}
        assert other.certificate.verify(X, y, **arguments)
        monkeypatch.setattr(dense, "MANY", 1 << 60)
        assert tall.certificate.verify(X, y, **arguments)


@pytest.mark.usefixtures("everything_tall")
@pytest.mark.parametrize(
    ("loss", "form"), list(itertools.product(("squared", "logistic"), get_args(Form)))
)
def test_bounds_enclose_the_optimum(loss: str, form: Form) -> None:
    for seed in seeds(4 if loss == "squared" else 1, "tall", loss, form):
        kind: dict[str, Any] = {"loss": loss, "form": form, "fit_intercept": bool(seed % 2)}
        program = random_program(seed, **kind, most_rows=14, most_columns=4)
        assert program.matrix.tall
        optimum = brute_force(program).value
        scale = max(abs(optimum), abs(program.null), 1e-300)
        for exact in (False, True):
            solution = solve_program(program, exact=exact, node_limit=20)
            assert solution.lower <= optimum
            assert solution.upper >= optimum - 1e-9 * scale
            assert solution.upper <= program.null * (1.0 + 1e-9) + 1e-9 * scale
            value = program.objective(solution.coef, solution.intercept)
            assert value <= solution.upper * (1.0 + 1e-9) + 1e-9 * scale


@pytest.mark.usefixtures("everything_tall")
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_moments_are_those_of_the_columns(fit_intercept: bool, rng: np.random.Generator) -> None:
    n, m = 400, 6
    X = rng.normal(size=(n, m)) * [1.0, 3.0, 1e-3, 1.0, 1.0, 2.0] + [0, 1e7, 5, -1e3, 0, 1]
    X[:, 4] = 7.0
    y, weights = rng.normal(size=n) + 1e6, rng.integers(1, 4, size=n)
    offset = rng.normal(size=n)
    for standardize in (False, True):
        program = Program(
            X,
            y,
            k=2,
            ridge=0.1,
            standardize=standardize,
            fit_intercept=fit_intercept,
            sample_weight=weights,
            offset=offset,
        )
        moments = Moments.of(program)
        A = X.astype(np.longdouble)
        p = weights.astype(np.longdouble) / weights.sum()
        if standardize:
            pair = program.problem.standardize
            assert pair is not None
            A = (A - pair[0]) / pair[1]
        target = y.astype(np.longdouble) - program.level - offset
        power = p @ A**2
        if fit_intercept:
            A, target = A - p @ A, target - p @ target
        size = np.sqrt(power)
        room = 1e-13 * np.outer(size, size) + 1e-30
        assert np.all(np.abs(moments.gram - (A.T * p) @ A) <= room)
        spread = np.sqrt(p @ target**2)
        assert np.all(np.abs(moments.linear - A.T @ (p * target)) <= 1e-13 * size * spread + 1e-30)
        assert np.all(moments.power >= power * (1.0 - 1e-13))
        # What rounding may be is what the proofs leave room for.
        curvature = Curvature(program)
        kappa, slope, unsure = curvature.linear()
        assert kappa <= 0.5 * (p @ target**2)
        assert np.all(np.abs(slope - A.T @ (p * target)) <= unsure)
        part = program.restricted(np.array([0, 3, 5]))
        np.testing.assert_array_equal(
            Moments.of(part).gram, moments.gram[np.ix_([0, 3, 5], [0, 3, 5])]
        )


@pytest.mark.usefixtures("everything_tall")
def test_small_programs_have_the_objective_of_tall_ones(rng: np.random.Generator) -> None:
    n, m = 300, 5
    X = rng.normal(size=(n, m)) + 3.0
    X[:, 3] = X[:, 1] - X[:, 2]  # dependent
    y = X[:, 0] + rng.normal(size=n)
    for fit_intercept in (False, True):
        program = Program(X, y, k=5, ridge=0.1, fit_intercept=fit_intercept)
        small = compressed(program)
        assert small is not None
        for w in rng.normal(size=(5, m)):
            z = X @ w
            b = float(np.mean(y - z)) if fit_intercept else 0.0
            assert small.objective(w) == pytest.approx(program.objective(w, b), rel=1e-12)


def test_long_sums_are_exact(rng: np.random.Generator) -> None:
    import math

    x = rng.normal(size=5 * rounding.FOLD + 77) * 10.0 ** rng.uniform(
        -12, 12, 5 * rounding.FOLD + 77
    )
    x = np.concatenate((x, -x[::2], rng.normal(size=100)))
    total, radius = rounding.exact_sum(x)
    assert abs(total - math.fsum(x)) <= radius
    assert radius <= 1e-13 * abs(total) + 1e-25 * float(np.sum(np.abs(x)))
    assert rounding.length_up(x) >= math.sqrt(math.fsum(x * x)) * (1.0 - 1e-15)
