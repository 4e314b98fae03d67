"""A matrix in a file says what the same matrix in memory says, within its budget of memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.matrices import DenseMatrix, StandardizedMatrix, StoredMatrix, as_matrix, stored
from sparsebounds.matrices.bits import seeded
from sparsebounds.matrices.progress import PassProgress, heard_by
from sparsebounds.matrices.storage import MappedStorage
from sparsebounds.matrices.stored import THREAD, ahead

N, M = 37, 23
SMALL = 4096
"""A budget of 64 float64 numbers a block: many blocks, some of them narrower than X."""


def data(kind: str = "") -> np.ndarray:
    """Small integers, so that every storage holds the same numbers; for bool, 0 and 1."""
    X = np.random.default_rng(3).integers(-40, 41, size=(N, M)).astype(float)
    X[:, 4] = 0.0
    return (X > 0).astype(float) if "bool" in kind else X


def reading_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith(THREAD)]


@pytest.fixture
def X(request: pytest.FixtureRequest) -> np.ndarray:
    return data(request.node.name)


@pytest.mark.parametrize("memory", [SMALL, "1 GiB"])
@pytest.mark.parametrize("kept", ["all", "most", "few"])
def test_every_answer_is_that_of_the_matrix_in_memory(
    store: Any, X: np.ndarray, memory: Any, kept: str
) -> None:
    keep = {"all": None, "most": np.arange(N) % 3 > 0, "few": np.arange(N) == 30}[kept]
    matrix = sb.open_matrix(store(X), memory=memory)
    if keep is not None:
        matrix, X = matrix.kept(keep), X[keep]
    n, rng = len(X), np.random.default_rng(0)
    dense = DenseMatrix(X)
    assert matrix.shape == dense.shape
    index = np.array([22, 0, 7, 0, 13])
    np.testing.assert_array_equal(matrix.columns(index), X[:, index])
    np.testing.assert_array_equal(matrix.columns(np.arange(M)), X)
    np.testing.assert_array_equal(matrix.columns(index[:0]), X[:, :0])
    np.testing.assert_array_equal(matrix.part(index).columns(np.arange(5)), X[:, index])
    exact = np.sqrt(np.sum(X**2, axis=0))
    assert np.all(matrix.norms >= exact)
    np.testing.assert_allclose(matrix.norms, exact, rtol=1e-13, atol=1e-150)
    np.testing.assert_array_equal(matrix.signature, dense.signature)
    rows, cols = seeded(*(slice(0, size) for size in X.shape))
    np.testing.assert_array_equal(matrix.checksum(rows, cols), dense.checksum(rows, cols))
    a = rng.normal(size=(3, n))
    assert np.all(np.abs(matrix.scores(a[0]) - X.T @ a[0]) <= 2 * matrix.score_radius(a[0]))
    assert np.all(np.abs(matrix.scores_many(a) - a @ X) <= 2 * matrix.score_radius_many(a))
    np.testing.assert_allclose(
        matrix.score_radius(a[0]), dense.score_radius(a[0]), rtol=1e-12, atol=1e-160
    )
    weights, basis = rng.normal(size=(M, 2)), rng.normal(size=(n, 2))
    np.testing.assert_allclose(matrix.combine(weights), X @ weights, atol=1e-11)
    np.testing.assert_allclose(matrix.project(basis), basis.T @ X, atol=1e-11)
    shares = rng.random(n)
    shares /= shares.sum()
    for found, expected in zip(matrix.moments(shares), dense.moments(shares), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    w = rng.normal(size=3)
    z, radius = matrix.image(index[:3], w)
    assert np.all(np.abs(z - X[:, index[:3]] @ w) <= 2 * radius)
    assert not reading_threads()


def test_the_budget_holds(store: Any, X: np.ndarray) -> None:
    """No block beyond an eighth, no more columns than half, whatever is asked."""
    matrix = sb.open_matrix(store(X), memory=SMALL)
    size = matrix.storage.dtype.itemsize
    tallest = max(rows.stop - rows.start for rows in matrix.rows)
    widest = max(cols.stop - cols.start for cols in matrix.cols)
    rows, cols = matrix.storage.tile
    chunk = rows * cols * size if 1 < rows < N or 1 < cols < M else 0
    assert tallest * widest * size <= max(SMALL // 8, chunk)
    for start in range(0, M, 3):
        matrix.columns(np.arange(start, min(M, start + 3)))
        assert matrix._cache._array is None or matrix._cache._array.nbytes <= SMALL // 2
    assert len(matrix.rows) * len(matrix.cols) > 1


@pytest.mark.parametrize("store", ["C float32", "F", "zarr rows float32", "hdf5"], indirect=True)
def test_columns_asked_again_cost_nothing(store: Any, X: np.ndarray) -> None:
    matrix = sb.open_matrix(store(X))
    index = np.array([3, 20, 11])
    first = matrix.columns(index)
    passes = matrix.passes
    np.testing.assert_array_equal(matrix.columns(index[::-1]), first[:, ::-1])
    assert matrix.passes == passes
    first[:] = np.nan  # the caller's, to do with as it likes
    np.testing.assert_array_equal(matrix.columns(index), X[:, index])


@pytest.mark.parametrize(
    "store", ["C", "F", "zarr columns", "zarr rows", "zarr tiles"], indirect=True
)
def test_passes_are_what_is_read(store: Any, X: np.ndarray, request: Any) -> None:
    matrix = sb.open_matrix(store(X), memory=1 << 16)
    as_matrix(matrix)
    assert matrix.passes == pytest.approx(1.0)  # the check for NaN, norms and checksums
    assert len(matrix.signature)
    as_matrix(matrix)
    assert matrix.passes == pytest.approx(1.0)
    matrix.scores(np.ones(N))
    assert matrix.passes == pytest.approx(2.0)
    matrix.columns(np.array([0, 1]))
    share = {"C": 1.0, "F": 2 / M, "zarr columns": 3 / M, "zarr rows": 1.0, "zarr tiles": 4 / M}
    name = request.node.callspec.params["store"]
    assert matrix.passes - 2.0 == pytest.approx(share[name])
    assert matrix.by_columns == (share[name] < 1.0)


def test_pages_of_a_wide_map_are_counted(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros((4, 10_240), np.float32))
    matrix = sb.open_matrix(tmp_path / "X.npy")
    matrix.columns(np.array([1, 2, 5000]))
    assert matrix.passes == pytest.approx(2 / 10)


@pytest.mark.parametrize("store", ["C", "zarr rows", "hdf5"], indirect=True)
def test_likely_columns_are_read_along_where_a_read_costs_a_pass(
    store: Any, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparsebounds.matrices.blocks.ALONG", 4)
    matrix = sb.open_matrix(store(X))
    StandardizedMatrix(matrix, np.zeros(M), np.ones(M)).expect(np.arange(M, dtype=float))
    matrix.columns(np.array([1, 2]))
    passes = matrix.passes
    np.testing.assert_array_equal(matrix.columns(np.array([M - 1, M - 5, 2])), X[:, [-1, -5, 2]])
    assert matrix.passes == passes
    matrix.columns(np.array([M - 6]))
    assert matrix.passes > passes


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(value: float, tmp_path: Path) -> None:
    X = data()
    X[20, 6] = value
    np.save(tmp_path / "X.npy", X)
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"X holds {kind} in column 6; drop or impute"):
        as_matrix(sb.open_matrix(tmp_path / "X.npy", memory=SMALL))


def test_arrays_in_files_are_read_by_blocks_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import h5py
    import zarr

    X = data()
    np.save(tmp_path / "X.npy", X)
    small = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(as_matrix(small)[0], DenseMatrix)
    monkeypatch.setattr("sparsebounds.matrices.opening.MEMORY", X.nbytes - 1)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        for source in (small, zarr.array(X), file.create_dataset("X", data=X)):
            matrix, names = as_matrix(source, np.arange(N) > 5)
            assert isinstance(matrix, StoredMatrix)
            assert names is None
            np.testing.assert_array_equal(matrix.columns(np.arange(M)), X[6:])
        with pytest.raises(TypeError, match=r"several arrays; pass one of them: 'X'"):
            as_matrix(file)


# The thread that reads ahead.


class Broken(MappedStorage):
    """A storage that fails at its third block."""

    reads = 0

    def read(self, rows: slice, cols: slice, room: Any) -> Any:
        self.reads += 1
        if self.reads == 3:
            raise OSError("the disk is gone")
        return super().read(rows, cols, room)


def test_errors_in_reading_surface_and_the_next_read_works() -> None:
    X = data()
    matrix = StoredMatrix(Broken(X), SMALL)
    with pytest.raises(OSError, match="the disk is gone"):
        matrix.scores(np.ones(N))
    assert not reading_threads()
    np.testing.assert_allclose(matrix.scores(np.ones(N)), X.sum(axis=0))
    assert not reading_threads()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize(
    "ask", [lambda X: X.norms, lambda X: X.columns(np.arange(3)), lambda X: X.scores(np.ones(N))]
)
def test_an_interrupted_pass_leaves_no_thread(error: Any, ask: Any) -> None:
    X = data()
    matrix = StoredMatrix(MappedStorage(X), SMALL)

    def listener(now: PassProgress) -> None:
        if now.done == 2:
            raise error

    with pytest.raises(error), heard_by(listener):
        ask(matrix)
    assert not reading_threads()
    # What was interrupted is not taken for read.
    np.testing.assert_array_equal(matrix.columns(np.arange(3)), X[:, :3])
    np.testing.assert_allclose(matrix.norms, np.linalg.norm(X, axis=0), rtol=1e-13, atol=1e-150)


def test_an_abandoned_iterator_leaves_no_thread() -> None:
    blocks = ahead(lambda k=k: k for k in range(100))
    assert [next(blocks), next(blocks)] == [0, 1]
    assert reading_threads()
    del blocks
    gc.collect()
    assert not reading_threads()
    assert list(ahead([])) == []


def test_at_most_two_blocks_are_held() -> None:
    """The read after the next does not begin before the caller asks for the next."""
    begun: list[int] = []

    def read(k: int) -> int:
        begun.append(k)
        return k

    for k in ahead([lambda k=k: read(k) for k in range(20)]):
        assert len(begun) <= k + 2
    assert begun == list(range(20))


# Listeners.


def test_a_listener_hears_of_every_block() -> None:
    X = data()
    matrix = StoredMatrix(MappedStorage(X), SMALL)
    heard: list[PassProgress] = []
    with heard_by(heard.append):
        matrix.scores(np.ones(N))
    total = len(matrix.rows) * len(matrix.cols)
    assert [now.done for now in heard] == list(range(1, total + 1))
    assert {now.total for now in heard} == {total}
    assert heard[-1].bytes == X.nbytes
    assert heard[-1].passes == pytest.approx(1.0)
    matrix.scores(np.ones(N))
    assert len(heard) == total


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="RssAnon is Linux's")
def test_anonymous_memory_stays_within_the_budget(tmp_path: Path) -> None:
    """A map of 96 MiB, a budget of 16 MiB: a process that reads it all holds no more."""
    n, m = 3000, 8192
    array = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, m))
    array[:] = np.cos(np.arange(m, dtype=np.float32))
    array.flush()
    code = f"""
import numpy as np, threading
import sparsebounds as sb
from pathlib import Path
from sparsebounds.matrices.progress import heard_by
def rss():
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) * 1024
a, most = np.ones({n}), [0]
X = sb.open_matrix({str(tmp_path / "small.npy")!r}); X.norms; X.scores(np.ones(3))
X = sb.open_matrix({str(tmp_path / "X.npy")!r}, memory="16 MiB")
before = rss()
with heard_by(lambda now: most.append(rss())):
    X.norms; X.scores(a)
    for j in range(0, {m}, 128):
        X.columns(np.arange(j, j + 32))
print(max(most) - before)
"""
    np.save(tmp_path / "small.npy", np.ones((3, 3), np.float32))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    # On top of the budget: vectors of m and n numbers, the caller's columns and pieces of 2 MiB.
    assert 2**20 < int(done.stdout) < 16 * 2**20 + 8 * 2**20


def test_a_block_is_no_larger_for_a_larger_budget() -> None:
    storage = MappedStorage(np.broadcast_to(np.float32(1), (10**6, 10**6)))
    tall, wide = stored._block_shape(storage, 1 << 40)
    assert tall * wide * 4 <= stored.BLOCK
    assert tall >= stored.SLIVER
