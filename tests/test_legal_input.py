"""Legal input is taken, and left untouched."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from tests.test_input import LABELS, NAMES, M, N, X, Y, frame, pose

from sparsebounds.bounds import lower_bound
from sparsebounds.matrices import DenseMatrix
from sparsebounds.program import Program


def test_constant_and_zero_columns() -> None:
    bland = np.column_stack([np.zeros(6), np.full(6, 7.0), X[:, 0]])
    for intercept in (False, True):
        program = pose(bland, standardize=True, fit_intercept=intercept)
        assert np.all(np.isfinite(program.matrix.columns(np.arange(3))))
        assert program.objective([1.0, 0.0, 0.0]) == pytest.approx(
            float(np.mean(Y**2)) / 2 + 0.25, rel=1e-14
        )


@pytest.mark.parametrize("intercept", [False, True])
def test_one_row_and_one_column(intercept: bool) -> None:
    program = pose([[2.0]], [3.0], k=1, ridge=1.0, fit_intercept=intercept)
    assert program.objective([0.5]) == 0.5 * (1.0 - 3.0) ** 2 + 0.125
    assert program.null == (0.0 if intercept else 4.5)


@pytest.mark.parametrize("k", [0, 3, 100, np.int64(2)])
def test_every_k_from_zero_up(k: Any) -> None:
    program = pose(k=k)
    assert program.k == int(k)
    assert type(program.k) is int
    assert program.objective(np.zeros(3)) == pytest.approx(np.mean(Y**2) / 2, rel=1e-15)
    assert math.isinf(program.objective(np.ones(3))) == (k < 3)


@pytest.mark.parametrize("number", [1, np.float32(0.5), np.int8(2), Fraction(1, 4), np.array(0.5)])
def test_numbers_of_every_kind(number: Any) -> None:
    assert pose(ridge=number).ridge == float(number)
    assert pose(l0=number).l0 == float(number)
    assert pose(ball=number).ball == float(number)


@pytest.mark.parametrize(
    "like",
    [
        np.array(X, order="F"),
        X.astype(np.float32),
        X.tolist(),
        tuple(map(tuple, X)),
        frame(pd),
        frame(pl),
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_array(X),
        DenseMatrix(X),
    ],
    ids=lambda like: f"{type(like).__module__}.{type(like).__name__}",
)
def test_matrices_of_every_kind(like: Any) -> None:
    coef = [0.5, -1.0, 0.0]
    assert pose(like).objective(coef) == pytest.approx(pose().objective(coef), rel=1e-15)
    assert pose(like).fingerprint == pose().fingerprint


@pytest.mark.parametrize("dtype", [int, np.uint8, np.int8, bool, np.float16, np.longdouble])
def test_integers_and_booleans(dtype: Any) -> None:
    whole = np.abs(np.round(X)).astype(dtype)
    assert pose(whole).fingerprint == pose(whole.astype(np.float64)).fingerprint


@pytest.mark.parametrize("kind", [pd, pl])
def test_frames_of_mixed_numbers(kind: Any) -> None:
    columns = {"a": X[:, 0], "b": X[:, 1] > 0, "c": np.arange(6)}
    program = pose(kind.DataFrame(columns))
    assert program.fingerprint == pose(np.column_stack(list(columns.values()))).fingerprint
    assert program.feature_names == ("a", "b", "c")


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series, pl.Series])
def test_responses_and_weights_of_every_kind(kind: Any) -> None:
    weights = np.arange(1, 7)
    program = pose(y=kind(Y), sample_weight=kind(weights), offset=kind(Y))
    assert np.array_equal(program.y, Y)
    assert np.array_equal(program.weights, weights)
    assert np.array_equal(program.offset, Y)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["no", "yes", "yes", "no", "no", "yes"], ("no", "yes")),
        (np.array(["no", "yes", "yes", "no", "no", "yes"], dtype=object), ("no", "yes")),
        (pd.Series(["no", "yes", "yes", "no", "no", "yes"], dtype="category"), ("no", "yes")),
        (pl.Series(["no", "yes", "yes", "no", "no", "yes"]), ("no", "yes")),
        ([False, True, True, False, False, True], (False, True)),
        ([0, 1, 1, 0, 0, 1], (0, 1)),
        ([2.5, 7.0, 7.0, 2.5, 2.5, 7.0], (2.5, 7.0)),
        ([-1, 1, 1, -1, -1, 1], (-1, 1)),
        ([-7, -3, -3, -7, -7, -3], (-7, -3)),
    ],
)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_larger_label_is_plus_one(labels: Any, classes: tuple[Any, Any], loss: str) -> None:
    program = pose(y=labels, loss=loss)
    assert program.classes == classes
    assert program.y.tolist() == [-1, 1, 1, -1, -1, 1]


@pytest.mark.parametrize("label", [-1, 1])
def test_one_class_of_a_signed_response_without_intercept(label: int) -> None:
    program = pose(y=np.full(6, label), loss="logistic")
    assert program.y.tolist() == [label] * 6
    assert program.null == pytest.approx(math.log(2), rel=1e-15)


def test_poisson_of_zeros_without_intercept() -> None:
    assert pose(y=np.zeros(6), loss="poisson").null == pytest.approx(1.0, rel=1e-15)


def test_a_single_feature_by_name_or_index() -> None:
    for chosen in ("dose", 1, ["dose"], [1], np.array([1]), ("dose", 1), np.int64(1)):
        program = pose(frame(pl), always=chosen)
        assert program.always.tolist() == [False, True, False]


@pytest.mark.parametrize("positive", [[True, False, True], np.array([True, False, True])])
def test_positive_mask(positive: Any) -> None:
    program = pose(positive=positive)
    assert program.positive.tolist() == [True, False, True]
    assert pose(positive=True).positive.all()
    assert not pose(positive=np.False_).positive.any()


def test_feature_names() -> None:
    assert pose().feature_names is None
    assert pose().label(1) == "feature 1"
    for kind in (pd, pl):
        assert pose(frame(kind)).feature_names == tuple(NAMES)
        assert pose(frame(kind)).label(1) == "'dose'"
    assert pose(pd.DataFrame(X)).feature_names == ("0", "1", "2")
    named = pose(feature_names=["a", "b", "c"], never="b")
    assert named.feature_names == ("a", "b", "c")
    assert named.never.tolist() == [False, True, False]
    renamed = pose(frame(pd), feature_names=["a", "b", "c"])
    assert renamed.feature_names == ("a", "b", "c")


# Nothing is modified, nothing is copied.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("view", [lambda A: A, lambda A: A.T, lambda A: A[::2, ::-1]])
def test_floats_are_viewed_not_copied(dtype: Any, view: Any) -> None:
    A = view(np.random.default_rng(3).normal(size=(8, 8)).astype(dtype))
    before = A.copy()
    program = pose(A, np.arange(float(len(A))), fit_intercept=True)
    assert np.shares_memory(program.matrix.array, A)
    program.objective(np.zeros(A.shape[1]))
    lower_bound(program, np.ones(len(A)))
    assert program.fingerprint
    assert np.array_equal(A, before)


@pytest.mark.parametrize("wrap", [np.array, sp.csc_array, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_caller_s_data_are_untouched(wrap: Any, loss: str) -> None:
    A, y = wrap(X.copy()), LABELS.astype(float)
    weights, offset, ridge = np.array([0.0, 1, 2, 1, 1, 3]), Y.copy(), np.ones(3)
    given = [y, weights, offset, ridge]
    if sp.issparse(A):
        parts = ("row", "col", "data") if A.format == "coo" else ("indptr", "indices", "data")
        given += [getattr(A, part) for part in parts]
    else:
        given.append(A)
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    program = pose(A, y, loss=loss, sample_weight=weights, offset=offset, ridge=ridge,
                   fit_intercept=True, standardize=True)  # fmt: skip
    program.objective([1.0, 0.0, 2.0], 0.5)
    lower_bound(program, np.ones(5))
    assert program.null < program.objective([5.0, 0.0, 5.0], 0.5)
    for array, copy in zip(given, before, strict=True):
        assert np.array_equal(array, copy)


def test_unsummed_duplicates_of_the_caller_stay() -> None:
    A = sp.csc_array((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    program = pose(A, [1.0, 2.0])
    assert A.nnz == 4
    assert np.array_equal(program.matrix.columns(np.arange(2)), [[2.0, 0.0], [0.0, 2.0]])


def test_later_changes_of_the_response_do_not_reach_the_program() -> None:
    y, weights, ridge = Y.copy(), np.ones(6), np.ones(3)
    program = pose(y=y, sample_weight=weights, offset=y, ridge=ridge)
    value = program.objective(np.ones(3) * [1, 1, 0])
    y[:], weights[0], ridge[:] = 0.0, 9.0, 5.0
    again = pose(sample_weight=np.ones(6), offset=Y, ridge=np.ones(3))
    assert program.objective(np.ones(3) * [1, 1, 0]) == value == again.objective([1.0, 1.0, 0.0])


@pytest.mark.parametrize(("y", "loss"), [(Y, "squared"), (LABELS.astype(float), "logistic")])
def test_vectors_are_copies_of_the_caller_s(y: np.ndarray, loss: str) -> None:
    given = {name: np.full(n, 0.5) for name, n in (("sample_weight", N), ("offset", N))}
    ridge, l0 = np.full(M, 0.5), np.full(M, 0.1)
    program = Program(X, y, loss=loss, ridge=ridge, l0=l0, **given)
    data, problem = program.data, program.problem
    kept = (data.y, data.weights, data.offset, problem.ridge, problem.l0)
    for own, theirs in zip(kept, (y, *given.values(), ridge, l0), strict=True):
        assert not np.shares_memory(own, theirs)
