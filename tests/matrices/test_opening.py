"""open_matrix: what it takes, what it says where it cannot, and amounts of memory in words."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.memory import byte_count, in_words
from sparsebounds.matrices import DenseMatrix

X = np.random.default_rng(0).normal(size=(6, 4))
ALL = np.arange(4)
DATASETS = {"X.h5": "one"}


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ("2 GiB", 2 << 30),
        ("500 MB", 500_000_000),
        ("1.5gib", 3 << 29),
        ("64KiB", 1 << 16),
        ("12 B", 12),
        (4096, 4096),
        (np.int64(7), 7),
    ],
)
def test_amounts_of_memory(size: Any, count: int) -> None:
    assert byte_count("memory", size) == count


@pytest.mark.parametrize(
    "size", ["2", "GiB", "2 GiBs", "-1 MB", "0 MB", "1.2.3 MB", 0, -5, 1.5, True, None]
)
def test_what_is_no_amount_of_memory(size: Any) -> None:
    with pytest.raises(InputError, match=r"is not an amount of memory: pass \"2 GiB\""):
        byte_count("memory", size)


def test_words_for_bytes() -> None:
    assert [in_words(n) for n in (12, 2048, 3 << 20, 5 << 29, 1 << 42)] == [
        "12 B",
        "2 KiB",
        "3 MiB",
        "2.5 GiB",
        "4 TiB",
    ]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    import h5py
    import polars as pl
    import zarr

    np.save(tmp_path / "X.npy", X)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["one"] = X
    with h5py.File(tmp_path / "two.hdf5", "w") as file:
        file["a/b"], file["c"] = X, X.T
    zarr.save_array(tmp_path / "X.zarr", X)
    group = zarr.open_group(tmp_path / "group", mode="w")
    group["X"], group["other"] = X, X.T
    pl.DataFrame(dict(zip("abcd", X.T, strict=True))).write_parquet(tmp_path / "X.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("X.npy", None),
        ("X.h5", None),
        ("X.h5", "one"),
        ("two.hdf5", "a/b"),
        ("X.zarr", None),
        ("group", "X"),
        ("X.parquet", None),
    ],
)
def test_files(files: Path, name: str, dataset: str | None) -> None:
    for path in (files / name, str(files / name)):
        matrix = sb.open_matrix(path, memory="10 MB", dataset=dataset)
        np.testing.assert_array_equal(matrix.columns(ALL), X)
        assert matrix.memory == 10_000_000


def test_names_of_columns_are_kept(files: Path) -> None:
    program = sb.Program(sb.open_matrix(files / "X.parquet"), X[:, 0], k=1, ridge=1.0, never=["b"])
    assert program.feature_names == ("a", "b", "c", "d")
    assert program.never.tolist() == [False, True, False, False]


def test_arrays_that_are_open(files: Path) -> None:
    import zarr

    group = zarr.open_group(files / "group", mode="r")
    for source, dataset in (
        (np.load(files / "X.npy", mmap_mode="r"), None),
        (X, None),
        (group["X"], None),
        (group, "X"),
    ):
        np.testing.assert_array_equal(sb.open_matrix(source, dataset=dataset).columns(ALL), X)


def test_parquet_of_many_types(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, None, 2.0]})
    frame.write_parquet(tmp_path / "X.parquet")
    matrix = sb.open_matrix(tmp_path / "X.parquet")
    found = matrix.columns(np.array([1, 0, 2, 1]))
    np.testing.assert_array_equal(found, [[1, 1, 0.5, 1], [0, 2, np.nan, 0], [1, 3, 2.0, 1]])
    with pytest.raises(ValueError, match=r"X holds NaN in column 'c'; drop or impute"):
        sb.Program(matrix, [1.0, 2.0, 3.0], k=1, ridge=1.0)
    small = frame.select("b", pl.col("a").cast(pl.Int16), pl.lit(0.5, pl.Float32).alias("d"))
    small.write_parquet(tmp_path / "small.parquet")
    assert sb.open_matrix(tmp_path / "small.parquet").storage.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("gone.npy", {}, r"There is no file or folder .*gone\.npy\."),
        ("X.npy", {"dataset": "a"}, r"dataset='a' is for HDF5 and Zarr; .*X\.npy holds one array"),
        ("X.npy", {"memory": "much"}, r"memory='much' is not an amount of memory"),
        ("two.hdf5", {}, r"dataset names one of the arrays in .*two\.hdf5: 'a', 'c'\."),
        ("two.hdf5", {"dataset": "d"}, r"dataset='d' is none of the arrays in .*: 'a', 'c'\."),
        ("two.hdf5", {"dataset": "a"}, r"X is a Group of several arrays; pass one of them: 'b'\."),
        ("group", {}, r"dataset names one of the arrays in .*group: 'X', 'other'"),
        ("notes.txt", {}, r"what it holds: \.npy, \.zarr, \.h5, \.hdf5 or \.parquet, not '\.txt'"),
        ("text.parquet", {}, r"columns that are not numbers: 'a'\. Encode them"),
        ("cube.npy", {}, r"X must be a matrix of two dimensions, rows by features; it has 3\."),
        ("words.npy", {}, r"X has dtype <U1; it must hold real numbers"),
        ("empty.npy", {}, r"X is empty: its shape is \(0, 3\)"),
    ],
)
def test_sentences(files: Path, name: str, options: Any, sentence: str) -> None:
    import polars as pl

    (files / "notes.txt").write_text("")
    pl.DataFrame({"a": ["x"], "b": [1.0]}).write_parquet(files / "text.parquet")
    np.save(files / "cube.npy", np.zeros((2, 2, 2)))
    np.save(files / "words.npy", np.array([["a"]]))
    np.save(files / "empty.npy", np.zeros((0, 3)))
    with pytest.raises((ValueError, TypeError), match=sentence):
        sb.open_matrix(files / name, **options)


def test_sentences_about_objects() -> None:
    with pytest.raises(TypeError, match="source is a Matrix already; pass it in the place of X"):
        sb.open_matrix(DenseMatrix(X))
    with pytest.raises(TypeError, match="source is of type list; pass a path, a numpy"):
        sb.open_matrix([[1.0]])
    with pytest.raises(ValueError, match="dataset='a' is for files of many arrays"):
        sb.open_matrix(X, dataset="a")


def test_chunks_beyond_the_budget(tmp_path: Path) -> None:
    import zarr

    array = zarr.create_array(tmp_path / "X", shape=(100, 100), chunks=(50, 100), dtype="f8")
    message = r"chunks of 39.1 KiB, of which memory=64 KiB .* memory of at least 156 KiB"
    with pytest.raises(ValueError, match=message):
        sb.open_matrix(array, memory="64 KiB")
    assert sb.open_matrix(array, memory="157 KiB").shape == (100, 100)


@pytest.mark.parametrize(
    ("library", "name", "extra"), [("h5py", "X.h5", "hdf5"), ("zarr", "X.zarr", "zarr")]
)
def test_libraries_that_are_missing(
    files: Path, library: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    sentence = rf"needs {library} .* not installed: pip install 'sparsebounds\[{extra}\]'"
    with pytest.raises(ValueError, match=sentence):
        sb.open_matrix(files / name)
    assert sb.open_matrix(files / "X.npy").shape == X.shape


def test_a_matrix_leaves_rows_out_once(files: Path) -> None:
    matrix = sb.open_matrix(files / "X.npy").kept(np.arange(6) > 2)
    with pytest.raises(ValueError, match="Rows have been left out of this matrix already"):
        matrix.kept(np.ones(3, dtype=bool))
    left = DenseMatrix(X).kept(np.arange(6) > 2)
    assert np.array_equal(left.columns(np.arange(X.shape[1])), X[np.arange(6) > 2])


@pytest.mark.parametrize("name", ["X.npy", "X.zarr", "X.h5", "X.parquet"])
@pytest.mark.parametrize("on", ["cpu", "dask"])
def test_work_elsewhere(files: Path, name: str, on: str) -> None:
    """The entries are those of the file, whoever reads them."""
    library = {"cpu": "torch", "dask": "dask.array"}[on]
    pytest.importorskip(library, reason=f"{library} is not installed")
    here = sb.open_matrix(files / name, dataset=DATASETS.get(name))
    there = sb.open_matrix(files / name, dataset=DATASETS.get(name), on=on, memory="4 KiB")
    assert np.array_equal(there.columns(ALL), here.columns(ALL))
    assert np.array_equal(there.signature, here.signature)
    assert there.names == here.names
    y = np.arange(6.0)
    found = [sb.solve(matrix, y, k=2, ridge=0.1) for matrix in (here, there)]
    assert found[1].lower == pytest.approx(found[0].lower, rel=1e-12)


def test_elsewhere_that_is_not_there(files: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    with pytest.raises(InputError, match="'toaster' is no device that torch can use"):
        sb.open_matrix(files / "X.npy", on="toaster")
    with pytest.raises(InputTypeError, match="on='dask' needs the path"):
        sb.open_matrix(X, on="dask")


@pytest.mark.parametrize(
    ("library", "on", "extra"), [("torch", "cuda", "gpu"), ("dask.array", "dask", "dask")]
)
def test_elsewhere_without_its_library(
    files: Path, library: str, on: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf"not installed: pip install 'sparsebounds\[{extra}\]'"):
        sb.open_matrix(files / "X.npy", on=on)


@pytest.mark.parametrize("name", ["X.npy", "X.h5", "X.parquet", "X.zarr", "X.zip"])
def test_damaged_files_are_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.mkdir() if name == "X.zarr" else path.write_text("1, 2")
    with pytest.raises(InputError, match=rf"{name} cannot be read: "):
        sb.open_matrix(path)


def test_what_is_no_file_goes_in_the_place_of_x() -> None:
    import dask.array
    import polars as pl

    for source in (dask.array.from_array(X), pl.DataFrame(X)):
        with pytest.raises(TypeError, match="which is no file; pass it in the place of X"):
            sb.open_matrix(source)


@pytest.mark.parametrize("name", ["X.zarr", "X.parquet", "X.h5"])
@pytest.mark.parametrize("on", [None, "dask"])
def test_files_that_go_away_are_missed(name: str, on: str | None, files: Path) -> None:
    """Zarr reads zeros where there is nothing: bounds would be those of other data."""
    if name == "X.h5":
        import h5py

        with h5py.File(files / name, "r") as file:
            matrix = sb.open_matrix(file["one"])
            matrix.scores(np.ones(6))
        reason = "has been closed"
    else:
        matrix, reason = sb.open_matrix(files / name, on=on), "no longer where it was|no file or"
        matrix.scores(np.ones(6))
        shutil.rmtree(files / name) if name == "X.zarr" else (files / name).unlink()
    with pytest.raises(InputError, match=reason):
        matrix.scores(np.ones(6))


def test_a_file_written_anew_is_read_anew(tmp_path: Path) -> None:
    pytest.importorskip("dask", reason="Dask is not installed")
    for data in (X, (2.0 * X[:3]).astype(np.float32)):
        np.save(tmp_path / "X.npy", data)
        matrix = sb.open_matrix(tmp_path / "X.npy", on="dask")
        np.testing.assert_array_equal(matrix.columns(ALL), data)


@pytest.mark.parametrize("dtype", [">f8", ">f4", "u2", "u8", "?", "longdouble"])
@pytest.mark.parametrize("on", ["cpu", "dask"])
def test_types_elsewhere(dtype: str, on: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    data = np.abs(9.0 * X).astype(dtype)
    np.save(tmp_path / "X.npy", data)
    moved = sb.open_matrix(tmp_path / "X.npy", on=on)
    np.testing.assert_array_equal(moved.columns(ALL), data.astype(np.float64))
    assert np.array_equal(moved.signature, DenseMatrix(data.astype(np.float64)).signature)


@pytest.mark.parametrize("on", ["cpu", "dask"])
def test_what_is_asked_of_files_is_asked_elsewhere(on: str, tmp_path: Path) -> None:
    """Rows of weight 0 are left out, and NaN is refused, wherever the file was moved to."""
    pytest.importorskip("torch", reason="torch is not installed")
    y, weights = X[:, 0] + 0.1, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0])
    np.save(tmp_path / "X.npy", X)
    options: dict[str, Any] = {"k": 2, "ridge": 0.1, "sample_weight": weights, "standardize": True}
    found = sb.solve(sb.open_matrix(tmp_path / "X.npy", on=on, memory=64), y, **options)
    expected = sb.solve(X, y, **options)
    assert found.lower == pytest.approx(expected.lower, rel=1e-9)
    assert found.certificate.fingerprint == expected.certificate.fingerprint
    np.save(tmp_path / "X.npy", np.where(np.arange(24).reshape(6, 4) == 21, np.nan, X))
    with pytest.raises(InputError, match="X holds NaN in column 1"):
        sb.solve(sb.open_matrix(tmp_path / "X.npy", on=on, memory=64), y, k=1, ridge=1.0)


@pytest.mark.parametrize("shape", [(2**42, 2), (2, 2**42)])
def test_shapes_that_no_memory_holds_vectors_of(tmp_path: Path, shape: tuple[int, int]) -> None:
    """A file of a few bytes may claim them: of a chunk that was never written nothing is kept."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file.create_dataset("X", shape=shape, dtype="f8", chunks=(2, 2))
    assert (tmp_path / "X.h5").stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"would take 128 TiB of memory, and .* are free"):
        sb.open_matrix(tmp_path / "X.h5")
