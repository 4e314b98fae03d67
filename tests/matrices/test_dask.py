"""Dask arrays: every method as on the NumPy array, whatever the chunks, read where they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import CancelledError
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import sparsebounds as sb
from sparsebounds.bounds import dual_point
from sparsebounds.matrices import DenseMatrix, Matrix, StandardizedMatrix, as_matrix
from sparsebounds.matrices.dask import FAN, TRIES, DaskMatrix
from sparsebounds.matrices.progress import PassProgress, heard_by
from sparsebounds.program import Program
from sparsebounds.ranks.basis import Rows, factorise, residual
from sparsebounds.testing import brute_force

N, M = 61, 43
CHUNKS = {"rows": (6, M), "columns": (N, 5), "tiles": (17, 11), "one": (N, M), "thin": (1, M)}
DTYPES = (np.float64, np.float32, np.int32, np.bool_)


def entries(dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(N, M)) * 3.0
    return X.astype(dtype) if dtype is not np.bool_ else X > 0


def pair(chunks: tuple[int, int], dtype: Any = np.float64) -> tuple[DaskMatrix, Matrix]:
    X = entries(dtype)
    there, _ = as_matrix(da.from_array(X, chunks=chunks))
    here, _ = as_matrix(X)
    assert isinstance(there, DaskMatrix)
    return there, here


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_every_method_agrees_with_numpy(
    chunks: tuple[int, int], dtype: Any, rng: np.random.Generator
) -> None:
    there, here = pair(chunks, dtype)
    a, many = rng.normal(size=N), rng.normal(size=(3, N))
    shares = rng.uniform(size=N)
    shares /= shares.sum()
    some = np.array([40, 2, 3, 17, 2])
    for got, expected in (
        (there.norms, here.norms),
        (there.scores(a), here.scores(a)),
        (there.scores_many(many), here.scores_many(many)),
        (there.columns(some), here.columns(some)),
        (there.part(some).scores(a), here.part(some).scores(a)),
        (there.combine(many[:, :M].T), here.combine(many[:, :M].T)),
        (there.project(many.T), here.project(many.T)),
        *zip(there.moments(shares), here.moments(shares), strict=True),
        *zip(there.image(some, a[:5]), here.image(some, a[:5]), strict=True),
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(there.signature, here.signature)
    assert np.all(there.norms >= np.linalg.norm(entries(dtype).astype(float), axis=0))
    exact = here.scores(a)
    assert np.all(np.abs(there.scores(a) - exact) <= there.score_radius(a) + here.score_radius(a))
    assert np.all(there.score_radius_many(many) > 0.0)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_misfits(chunks: tuple[int, int], rng: np.random.Generator) -> None:
    there, here = pair(chunks)
    left, right = rng.normal(size=(N, 3)), rng.normal(size=(3, 7))
    weights, index = rng.uniform(size=N), np.array([42, 0, 5, 6, 7, 21, 30])
    center, scale = rng.normal(size=M), rng.uniform(0.5, 2.0, size=M)
    X = entries()
    for matrix in (there, here):
        got = matrix.misfits(left, right, weights, index)
        expected = weights @ (X[:, index] - left @ right) ** 2
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        got = StandardizedMatrix(matrix, center, scale).misfits(left, right, weights, index)
        standard = ((X - center) / scale)[:, index]
        np.testing.assert_allclose(got, weights @ (standard - left @ right) ** 2, rtol=1e-12)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    st.integers(0, 10_000),
)
def test_any_chunks_even_empty_ones(heights: list[int], widths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(heights), sum(widths)))
    with dask.config.set(scheduler="synchronous"):
        there = DaskMatrix(da.from_array(X, chunks=(tuple(heights), tuple(widths))))
        a, index = rng.normal(size=len(X)), rng.permutation(X.shape[1])
        np.testing.assert_allclose(there.scores(a), X.T @ a, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(there.columns(index), X[:, index])
        assert np.array_equal(there.signature, DenseMatrix(X).signature)


@pytest.mark.parametrize("format", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_chunks(format: Any, rng: np.random.Generator) -> None:
    X = entries() * (rng.uniform(size=(N, M)) < 0.2)
    there, _ = as_matrix(da.from_array(X, chunks=(13, 11)).map_blocks(format))
    here, _ = as_matrix(sp.csc_array(X))
    a = rng.normal(size=N)
    np.testing.assert_allclose(there.scores(a), here.scores(a), rtol=1e-12)
    np.testing.assert_array_equal(there.columns(np.arange(M)), X)
    assert np.array_equal(there.signature, here.signature)


DERIVED = {
    "transposed": lambda X: X.T,
    "cut again": lambda X: X.rechunk((10, 20)),
    "every other": lambda X: X[::2, ::3],
    "product": lambda X: X @ X.T,
    "running sums": lambda X: da.cumsum(X, axis=0),  # chunks depend on one another
    "joined": lambda X: da.concatenate([X, 2.0 * X + 1.0], axis=1),
    "in memory": lambda X: X.persist(),
}


@pytest.mark.parametrize("fused", [None, False])
@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_arrays_made_of_others(derive: Any, fused: bool | None) -> None:
    array = derive(da.from_array(entries(), chunks=CHUNKS["tiles"]))
    X = array.compute()
    with dask.config.set({"optimization.fuse.active": fused}):
        there = DaskMatrix(array)
        a = np.cos(np.arange(len(X)))
        np.testing.assert_allclose(there.scores(a), X.T @ a, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(there.columns(np.array([5, 1])), X[:, [5, 1]], rtol=1e-12)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_every_scheduler_gives_the_same_numbers(scheduler: str, rng: np.random.Generator) -> None:
    a = rng.normal(size=N)
    expected = pair((6, 11))[0].scores(a)
    with dask.config.set(scheduler=scheduler, num_workers=2):
        assert np.array_equal(pair((6, 11))[0].scores(a), expected)


def test_passes_are_counted(rng: np.random.Generator) -> None:
    there, _ = pair(CHUNKS["columns"])
    assert there.passes == 1.0  # norms and checksums together
    assert len(there.signature) == 2
    assert there.passes == 1.0
    there.scores(rng.normal(size=N))
    assert there.passes == 2.0
    there.columns(np.array([0, 4, 42]))
    assert there.passes == 2.0 + (5 + 3) / M  # the first and the last column of chunks
    there.columns(np.array([42, 0]))
    assert there.passes == 2.0 + (5 + 3) / M  # kept


def test_a_pass_tells_of_each_block() -> None:
    there, _ = pair(CHUNKS["tiles"])
    told: list[PassProgress] = []
    with heard_by(told.append):
        there.scores(np.ones(N))
    assert [now.done for now in told] == list(range(1, 17))
    assert {now.total for now in told} == {16}
    assert told[-1].bytes == 8 * N * M
    assert told[-1].passes == there.passes


def test_chunks_are_read_once_a_pass_and_only_where_needed() -> None:
    X, seen = entries(), []

    def chunk(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        seen.append(block_info[0]["chunk-location"])
        return block

    array = da.from_array(X, chunks=CHUNKS["tiles"]).map_blocks(chunk, dtype=X.dtype, meta=X[:0])
    there, every = DaskMatrix(array), [(i, j) for i in range(4) for j in range(4)]
    seen.clear()
    there.scores(np.ones(N))
    assert sorted(seen) == every
    seen.clear()
    there.columns(np.array([12]))
    assert sorted(seen) == [(i, 1) for i in range(4)]


def test_partial_sums_are_merged_as_they_come() -> None:
    """Of 200 partial vectors a few are alive at a time, not all of them."""
    rows, columns = 200, 100_000
    X = da.ones((rows, columns), chunks=(1, columns), dtype=np.float32)
    there = DaskMatrix(X)
    with dask.config.set(scheduler="threads", num_workers=2):
        tracemalloc.start()
        got = there.scores(np.arange(rows, dtype=np.float64))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert np.all(got == rows * (rows - 1) / 2)
    partial = 8 * columns
    assert peak < (3 * FAN + 10) * partial < 0.2 * rows * partial


def test_plans_are_small() -> None:
    """What travels with a pass over n x m data is a vector, not one a block."""
    sent: list[int] = []

    class Spy(DaskMatrix):
        def _pass(self, plan: Any, *rest: Any) -> Any:
            sent.append(len(pickle.dumps(plan)))
            return super()._pass(plan, *rest)

    n, m = 20_000, 40
    there = Spy(da.zeros((n, m), chunks=(n, 2)))
    there.scores(np.ones(n))
    there.columns(np.array([3]))
    assert len(there.norms) == m
    assert sent[0] < 1.1 * 8 * n
    assert max(sent[1:]) < 0.1 * 8 * n


def test_frames_keep_their_names() -> None:
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X = entries()
    frame = dd.from_pandas(pd.DataFrame(X, columns=[f"c{j}" for j in range(M)]), npartitions=3)
    y = X[:, 0] - X[:, 1]
    there = Program(frame, dd.from_pandas(pd.Series(y), npartitions=3), k=2, ridge=0.1)
    here = Program(X, y, k=2, ridge=0.1)
    assert there.feature_names == tuple(f"c{j}" for j in range(M))
    assert there.fingerprint == here.fingerprint


def test_frames_of_several_types() -> None:
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, counts = entries(), np.arange(N)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": pd.array(counts, "Int64")})
    there = Program(dd.from_pandas(frame, npartitions=3), X[:, 2], k=2, ridge=0.1)
    here = Program(frame.astype(float), X[:, 2], k=2, ridge=0.1)
    assert there.fingerprint == here.fingerprint
    frame["d"] = pd.Categorical(counts.astype(str))
    with pytest.raises(TypeError, match="columns that are not numbers: 'd'"):
        Program(dd.from_pandas(frame, npartitions=3), X[:, 2], k=2, ridge=0.1)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_programs(chunks: tuple[int, int], rng: np.random.Generator) -> None:
    """Weights (0 too), offsets and responses that are Dask arrays, standardized columns."""
    X, weights, offset = entries(), rng.integers(0, 3, size=N), 0.1 * rng.normal(size=N)
    y = X[:, 0] - X[:, 1] + rng.normal(size=N)
    options: dict[str, Any] = {"k": 3, "ridge": 0.1, "fit_intercept": True, "standardize": True}

    def lazy(x: np.ndarray) -> Any:
        return da.from_array(x, chunks=9)

    there = Program(
        da.from_array(X, chunks=chunks),
        lazy(y),
        sample_weight=lazy(weights),
        offset=lazy(offset),
        **options,
    )
    here = Program(X, y, sample_weight=weights, offset=offset, **options)
    assert there.fingerprint == here.fingerprint
    assert sb.relax(there).value == pytest.approx(sb.relax(here).value, rel=1e-9)
    a = rng.normal(size=there.n)
    one, other = dual_point(there, a), dual_point(here, a)
    assert np.all(np.abs(one.scores - other.scores) <= one.radius + other.radius)


def test_bounds_hold_against_brute_force(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 7))
    y = X[:, 0] - X[:, 3] + rng.normal(size=20)
    found = sb.solve(da.from_array(X, chunks=(6, 3)), y, k=2, ridge=0.1)
    best = brute_force(Program(X, y, k=2, ridge=0.1)).value
    assert found.lower <= best * (1 + 1e-12)
    assert found.upper >= best * (1 - 1e-12)


@pytest.mark.parametrize("chunks", [CHUNKS["rows"], CHUNKS["columns"], CHUNKS["tiles"]])
@pytest.mark.parametrize("standardize", [False, True])
def test_rank_bounds(chunks: tuple[int, int], standardize: bool, rng: np.random.Generator) -> None:
    X = rng.normal(size=(N, 8)) @ rng.normal(size=(8, M)) + 0.05 * rng.normal(size=(N, M)) + 1.0
    y = X[:, 0] - X[:, 1] + rng.normal(size=N)
    options: dict[str, Any] = {"fit_intercept": True, "standardize": standardize}
    there = Program(da.from_array(X, chunks=chunks), y, k=3, ridge=0.1, **options)
    here = Program(X, y, k=3, ridge=0.1, **options)
    found = sb.rank_bounds(there, [2, 8, 20], random_state=1)
    expected = sb.rank_bounds(here, [2, 8, 20], method="randomized", random_state=1)
    assert found.method == "randomized"
    truth = sb.solve(X, y, k=3, ridge=0.1, exact=True, **options)
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert one.lower == pytest.approx(other.lower, rel=1e-6)
        assert one.explained == pytest.approx(other.explained, rel=1e-9)
        assert one.lower <= truth.upper * (1 + 1e-12)
        assert one.upper >= truth.lower * (1 - 1e-12)


def test_residuals_take_one_pass(rng: np.random.Generator) -> None:
    """Where Pythagoras loses its digits, on data of rank 5, the residual is still right."""
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, M))
    X += 1e-7 * rng.normal(size=(N, M))
    there = Program(da.from_array(X, chunks=CHUNKS["rows"]), X[:, 0], k=3, ridge=0.1)
    rows, Q = Rows.of(there), np.linalg.svd(X)[0][:, :5]
    before = there.matrix.passes
    expected = np.sum((X - Q @ (Q.T @ X)) ** 2)
    assert residual(rows, Q, Q.T @ X) == pytest.approx(expected, rel=1e-6, abs=0.0)
    assert there.matrix.passes == before + 1.0
    before = there.matrix.passes
    factorise(there, 5, "randomized", None, 2, 0)
    # Moments; a range found, twice improved, rotated; B; the residual.
    assert there.matrix.passes == before + 1 + (1 + 2 * 2 + 1) + 1 + 1


def test_what_is_not_a_matrix_of_numbers_is_refused() -> None:
    X, y = entries(), np.zeros(N)
    known = da.from_array(X, chunks=9)
    spoilt = X.copy()
    spoilt[5, 7] = np.nan
    for bad, error, words in (
        (known[known[:, 0] > 0], ValueError, r"compute_chunk_sizes\(\)"),
        (known[:, known[0] > 0], ValueError, r"compute_chunk_sizes\(\)"),
        (known[0], ValueError, "two dimensions"),
        (known.astype(complex), TypeError, "real numbers"),
        (known.astype(str), TypeError, "real numbers"),
        (da.from_array(spoilt, chunks=9), ValueError, "NaN in column 7"),
        (da.zeros((0, 3)), ValueError, "empty"),
    ):
        size = bad.shape[0] if bad.shape[0] in (0, M) else N
        with pytest.raises(error, match=words):
            Program(bad, y[:size], k=1, ridge=1.0)


def test_an_error_in_a_chunk_is_the_users_to_see() -> None:
    def broken(block: np.ndarray) -> np.ndarray:
        raise OSError("the disk is gone")

    X = da.zeros((10, 4), chunks=(5, 4)).map_blocks(broken, meta=np.zeros((0, 0)))
    with pytest.raises(OSError, match="the disk is gone"):
        Program(X, np.zeros(10), k=1, ridge=1.0)


@pytest.mark.parametrize("failures", [2, 3])
def test_a_pass_whose_data_are_lost_is_begun_again(failures: int) -> None:
    there, here = pair(CHUNKS["tiles"])
    left, a = [failures], np.ones(N)

    def flaky(graph: Any, keys: Any, **_: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise CancelledError("lost dependencies")
        return dask.get(graph, keys)

    with dask.config.set(scheduler=flaky):
        if failures == TRIES:
            with pytest.raises(RuntimeError, match="lost workers") as caught:
                there.scores(a)
            assert isinstance(caught.value.__cause__, CancelledError)
        else:
            np.testing.assert_allclose(there.scores(a), here.scores(a), rtol=1e-12)
            assert there.passes == 2.0


def test_dask_is_loaded_only_where_it_is_used() -> None:
    code = (
        "import sys, numpy as np, sparsebounds as sb; sb.solve(np.eye(3), np.ones(3), k=1, ridge=1)"
        "; assert 'dask' not in sys.modules and 'distributed' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_dask_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "try:\n    import sparsebounds.matrices.dask\n"
        "except ImportError as error:\n    assert 'sparsebounds[dask]' in str(error)\n"
        "else:\n    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
