"""Sparse working columns: against dense ones, and conjugate gradients against factorisations."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse as sp

from sparsebounds import Program, relax
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import Pattern
from sparsebounds.program import Form
from sparsebounds.relaxation import Workspace, conjugate, relaxation_of, sparse_part, working_set
from sparsebounds.relaxation.general_part import GeneralPart
from sparsebounds.relaxation.newton import newton_point
from sparsebounds.relaxation.sparse_part import SparsePart, working_part

Draw = Callable[[np.random.Generator, np.ndarray, str], np.ndarray]
LOSSES, FORMS = sorted(REGISTRY), get_args(Form)


def thin(rng: np.random.Generator, n: int, m: int, share: float = 0.07) -> np.ndarray:
    """A dense array of few entries: one column is full, and one has none."""
    X = np.where(rng.random((n, m)) < share, rng.normal(size=(n, m)), 0.0)
    X[:, 0], X[:, 1] = 3.0 + rng.normal(size=n), 0.0
    return X


def pose(form: str, rng: np.random.Generator, m: int) -> dict[str, Any]:
    count, size = form.split("+")
    posed: dict[str, Any] = {"k": 3} if count == "k" else {"l0": 0.02 * rng.uniform(0.5, 2.0, m)}
    return posed | ({"ridge": 0.05} if size == "ridge" else {"ball": 0.5})


@pytest.fixture
def iterative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems of any size by products, to many digits."""
    monkeypatch.setattr(sparse_part, "FEW", 0)
    monkeypatch.setattr(sparse_part, "FACTORED", 0)
    monkeypatch.setattr(sparse_part, "FLOP", 1e9)
    monkeypatch.setattr(conjugate, "LEAST", 1e-26)
    monkeypatch.setattr(conjugate, "MOST", 1e-26)


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_relaxations_of_sparse_and_dense_columns_are_the_same(
    response: Draw, loss: str, products: bool, request: pytest.FixtureRequest
) -> None:
    if products:
        request.getfixturevalue("iterative")
    for seed, form in enumerate(FORMS, LOSSES.index(loss)):
        rng = np.random.default_rng(seed)
        X = thin(rng, 60, 30)
        intercept, standardize = bool(seed & 1), bool(seed & 2)
        options = pose(form, rng, 30) | {"loss": loss, "fit_intercept": intercept}
        options |= {"standardize": standardize, "sample_weight": rng.uniform(0.5, 2.0, 60)}
        y = response(rng, X, loss)
        found = []
        for data in (X, sp.csc_array(X)):
            program = Program(data, y, **options)
            assert isinstance(working_part(program), SparsePart) == (data is not X)
            found.append(relaxation_of(program, tol=1e-11))
        dense, sparse = found
        # Where float64 does not close the gap, both are as far from one another as that allows.
        room = 1e-10 + max(dense.gap, sparse.gap)
        assert sparse.value == pytest.approx(dense.value, rel=1e-10, abs=room)
        assert sparse.dual_value == pytest.approx(dense.dual_value, rel=1e-10, abs=room)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_products_have_the_point_of_the_factorisation(
    response: Draw, iterative: None, loss: str, intercept: bool
) -> None:
    """On a piece of each kind, where features leave the piece, and where signs are wrong."""
    rng = np.random.default_rng(4)
    m, X = 30, thin(rng, 60, 30)
    scale = {"standardize": True} if intercept else {}
    options = {"loss": loss, "k": 3, "ridge": 0.1, "fit_intercept": intercept} | scale
    program = Program(sp.csc_array(X), response(rng, X, loss), **options)
    part, dense = working_part(program), GeneralPart(program, program.matrix.home)
    part.read(program.matrix, np.arange(20))
    part.read(program.matrix, np.arange(20, m))
    dense.add(program.matrix.columns(np.arange(m)))
    w, b = 0.1 * rng.normal(size=m), 0.2 if intercept else 0.0
    for size in (m, m - 5):
        active = np.sort(rng.choice(m, size, replace=False))
        sign = np.where(rng.random(size) < 0.5, rng.choice([-1.0, 1.0], size), 0.0)
        none, full = np.zeros(size), np.full(size, 0.3)
        for pattern in (
            Pattern(active, none, full, none, None, np.inf),
            Pattern(active, sign, full, 0.01 * sign, None, np.inf),
            Pattern(active, sign, full, none, sign, 1.5),
        ):
            points = []
            for smooth in (part, dense):
                points.append(newton_point(smooth, smooth.at(w, b), pattern, np.full(m, 1e-3)))
            (own, level), (other, shift) = points  # type: ignore[misc]
            assert own == pytest.approx(other, abs=1e-9)
            assert level == pytest.approx(shift, abs=1e-9)


def test_a_system_that_takes_many_products_is_factored(response: Draw) -> None:
    """With a budget of one product, nothing but the factorisation is left."""
    rng = np.random.default_rng(0)
    X = thin(rng, 60, 30)
    program = Program(sp.csc_array(X), response(rng, X, "squared"), k=3, ridge=1e-6)
    part = working_part(program)
    part.read(program.matrix, np.arange(30))
    point, every = part.at(np.zeros(30), 0.0), np.arange(30)
    bend = np.full(60, 1.0 / 60)
    matrix = part.system(point, every)[0]
    assert matrix == pytest.approx(X.T @ (X * bend[:, None]), abs=1e-14)
    none = np.zeros(30)
    pattern = Pattern(every, none, none + 1e-6, none, None, np.inf)
    for final in (False, True):
        one = conjugate.Products(
            lambda v: matrix @ v, np.diagonal(matrix), point.gradient, False, 1, final
        )
        assert (one.minimum(point, pattern, none, 0.0) is None) == (not final)


def test_columns_that_products_would_drown_are_dense(rng: np.random.Generator) -> None:
    X = thin(rng, 400, 60, 0.02)
    for mean, expected in ((2010.0, True), (1e8, False)):
        X[:, 0] = mean + 5.0 * rng.normal(size=400)
        program = Program(sp.csc_array(X), X[:, 0] - mean, k=3, ridge=0.1, fit_intercept=True)
        assert isinstance(working_part(program), SparsePart) == expected
    X[:, 2:12] = 1.0
    assert not Program(sp.csc_array(X), X[:, 0], k=3, ridge=0.1).matrix.thin


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_relaxation_takes_less_memory_than_the_data(loss: str) -> None:
    """20 entries in each of 8,000 columns; hundreds of them are in the working set."""
    rng = np.random.default_rng(0)
    n, m = 2000, 8000
    rows = rng.integers(0, 100, size=(m, 20)) + 100 * np.arange(20)
    X = sp.csc_array((rng.normal(size=20 * m), rows.ravel(), np.arange(0, 20 * m + 1, 20)), (n, m))
    z = X @ np.where(np.arange(m) < 100, 1.0, 0.0) + 0.3 * rng.normal(size=n)
    y = np.where(z > 0.0, 1.0, -1.0) if loss == "logistic" else z
    options = {"loss": loss, "k": 10, "ridge": 1e-4, "standardize": True, "fit_intercept": True}
    tracemalloc.start()
    found = relax(Program(X, y, **(options | {"ridge": 0.03})))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.status == "optimal"
    assert found.stats.working_set >= 200
    dense = 8 * n * found.stats.working_set
    data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert peak <= 1.5 * data < 1.5 * dense


def test_the_first_columns_hold_few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as ever where columns are short, but few that are long."""
    monkeypatch.setattr(working_set, "SMALL_BATCH", 2)
    rng, n, m = np.random.default_rng(7), 400, 15_000
    first = []
    for length in (2, 200):
        rows = rng.integers(0, n, size=(m, 2))
        long = np.stack([rng.choice(n, length, replace=False) for _ in range(20)])
        values = np.concatenate((np.full(2 * m, 1e-3), np.ones(20 * length)))
        places = np.concatenate((rows.ravel(), long.ravel()))
        columns = np.concatenate((np.repeat(np.arange(m), 2), m + np.repeat(range(20), length)))
        X = sp.csc_array((values, (places, columns)), shape=(n, m + 20))
        program = Program(X, X[:, m:].sum(axis=1) + rng.normal(size=n), l0=1e-3, ridge=0.01)
        workspace = Workspace(program)
        relaxed = relax(program, workspace=workspace)
        assert relaxed.status == "optimal"
        first.append(len(workspace.batches[0]))
    assert first == [10, 2]
