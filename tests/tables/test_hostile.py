"""Small files that claim, or unpack to, more than the memory: a sentence, at once, in little."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sparsebounds._support import memory as _memory
from sparsebounds._support.errors import InputError
from sparsebounds._support.memory import room
from sparsebounds.tables import Choice, load_arrays, read_frame, read_table
from sparsebounds.tables.unpacking import ENOUGH


def bomb(path: Path, head: bytes, row: bytes, megabytes: int) -> Path:
    """A gzip'd file of the same row again and again, from members of 4 MiB packed once."""
    rows = row * ((1 << 22) // len(row))
    path.write_bytes(gzip.compress(head) + gzip.compress(rows) * (megabytes // 4))
    return path


def header(shape: tuple[int, ...], descr: Any = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"shape": shape, "fortran_order": False, "descr": descr}
    )
    return stream.getvalue()


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as stream:
        for name, content in members.items():
            stream.writestr(name, content)
    return path


class Grenade:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, ("exploded",)


# Files by NumPy.

DAMAGED = {
    "7 TiB": header((10**6, 10**6)) + bytes(80),
    "more than an index": header((2**62, 4)) + bytes(80),
    "more than a number": header((10**30, 10**30)),
    "negative": header((-1, 4)) + bytes(80),
    "nothing each": header((2**60,), "|V0"),
    "long text": header((1,), f"<U{2**29}") + bytes(80),
    "no rows, many columns": header((0, 2**60)),
    "many dimensions": header((1,) * 100) + bytes(8),
    "deep": b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000,
    "cut": header((4, 4))[:50],
    "objects": header((1,), "|O") + pickle.dumps(Grenade()),
    "a pickle": pickle.dumps(Grenade()),
    "empty": b"",
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"d{kind}"
    if kind == ".npz":
        y = io.BytesIO()
        np.save(y, np.zeros(4))
        archive(path, {"X.npy": DAMAGED[name], "y.npy": y.getvalue()})
    else:
        path.write_bytes(DAMAGED[name])
    began = time.process_time()
    with pytest.raises(InputError, match=r"cannot be read as|of memory, and|must hold|not empty"):
        read_table(path, Choice(target="y" if kind == ".npz" else "0"))
    assert time.process_time() - began < 1.0
    assert not (tmp_path / "exploded").exists()


def test_what_is_packed_into_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros pack to a thousandth: they are read if they fit, and not unpacked if they do not."""
    path, X = tmp_path / "d.npz", np.zeros((1 << 20, 4))
    np.savez_compressed(path, X=X, y=np.zeros(4))
    assert path.stat().st_size < X.nbytes / 500
    assert np.array_equal(load_arrays(path, ".npz")["X"], X)
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "20 MB")
    with pytest.raises(InputError, match=r"d\.npz would take 32 MiB of memory, and 19\.1 MiB are"):
        load_arrays(path, ".npz")


def test_archives_of_other_programs(tmp_path: Path) -> None:
    array = header((1, 1)) + bytes(8)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        archive(tmp_path / "d.npz", {"X.npy": array}, method)
        with pytest.raises(InputError, match=r"'X\.npy' is packed in another way"):
            load_arrays(tmp_path / "d.npz", ".npz")
    archive(tmp_path / "d.npz", {f"{i}.npy": array for i in range(1001)})
    with pytest.raises(InputError, match="it holds 1001 arrays, more than 1000"):
        load_arrays(tmp_path / "d.npz", ".npz")
    path = archive(tmp_path / "d.npz", {"X.npy": array, "notes.txt": b"hello"})
    assert list(load_arrays(path, ".npz")) == ["X"]
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"\x93NUMPY") if b"\x93NUMPY" in damaged else 45] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"cannot be read as \.npz"):
        load_arrays(path, ".npz")


# Text.


@pytest.mark.parametrize(
    ("head", "row", "reason"),
    [
        (b"a,b,y\n", b"0,0,0\n", "would unpack to about .* unpack it before"),
        (b"a,b,y\n", b",,\n", "would unpack to about"),
        (b"a,y\n", b"\n", "would unpack to about"),
        (b"a,y\n", b'1,"' + b"x" * 1000 + b'"\n', "would unpack to about"),
        (b"\xff\xfea\0,\0y\0\n\0", b"1\0,\x002\0\n\0", "would unpack to about"),
        (b"", b"0", "The first line of .* is longer than 8 MiB"),
        (b"", b",", "The first line of .* is longer than 8 MiB"),
        (b"", b"\0", "The first line of .* is longer than 8 MiB"),
        (b"", gzip.compress(b"a,y\n1,2\n"), "is packed twice; unpack it"),
    ],
    ids=["rows", "cells", "lines", "text", "wide", "line", "commas", "zeros", "twice"],
)
def test_a_gzipped_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, row: bytes, reason: str
) -> None:
    path = bomb(tmp_path / "d.csv.gz", head, row, 10 << 10)
    assert path.stat().st_size < 30 << 20
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "8 GiB")
    began = time.process_time()
    with pytest.raises(InputError, match=reason):
        read_frame(path)
    assert time.process_time() - began < 1.0


def test_a_line_without_end(tmp_path: Path) -> None:
    path = bomb(tmp_path / "d.csv.gz", b"a,y\n1,2\n", b"1", 200)
    with pytest.raises(InputError, match="has a line of more than 64 MiB"):
        read_frame(path)


def test_zeros_that_fit_are_read(tmp_path: Path) -> None:
    """Beyond the first bytes, from which the rest is estimated, at more than 200 to 1."""
    row = b"0" * 500 + b"," + b"0" * 522 + b"\n"
    path = bomb(tmp_path / "d.csv.gz", b"a,y\n", row, 2 * ENOUGH >> 20)
    assert 200 * path.stat().st_size < 2 * ENOUGH
    frame, _ = read_frame(path)
    assert frame.shape == (2 * ENOUGH // 1024, 2)


def test_a_file_that_is_not_what_its_start_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a start that hardly packs hides a bomb, the count stops it."""
    rng = np.random.default_rng(0)
    start = b"".join(b"%.17g,%.17g\n" % tuple(pair) for pair in rng.normal(size=(20_000, 2)))
    bomb(tmp_path / "d.csv.gz", b"a,y\n" + start, b"0,0\n", 512)
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "100 MB")
    with pytest.raises(InputError, match="would take"):
        read_frame(tmp_path / "d.csv.gz")


def test_memory_and_time_of_a_refusal(tmp_path: Path) -> None:
    """In a process of its own: 20 GiB in 20 MB, and an array of 7 TiB."""
    bomb(tmp_path / "d.csv.gz", b"a,b,y\n", b"0,0,0\n", 20 << 10)
    archive(tmp_path / "d.npz", {"X.npy": DAMAGED["7 TiB"], "y.npy": header((4,)) + bytes(32)})
    code = (
        "import resource, sys, time; from pathlib import Path; import polars\n"
        "from sparsebounds.tables import Choice, read_table\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for name in sys.argv[1:]:\n"
        "    try: read_table(Path(name), Choice(target='y'))\n"
        "    except ValueError as error: print(type(error).__name__)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "d.csv.gz", tmp_path / "d.npz"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SPARSEBOUNDS_MEMORY": "8 GiB"},
    )
    *kinds, kilobytes = done.stdout.split()
    assert kinds == ["InputError", "InputError"]
    assert int(kilobytes) < 200_000


# Tables by columns.


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columns_that_unpack_to_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / f"d[1]*.{kind}"
    frame = pl.select(a=pl.zeros(1 << 21), y=pl.zeros(1 << 21))
    if kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path, compression="zstd")
    assert path.stat().st_size < 1 << 20
    assert read_frame(path)[0].equals(frame)
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "50 MB")
    with pytest.raises(InputError, match="would take 64 MiB of memory"):
        read_frame(path)


# What is free.


def test_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARSEBOUNDS_MEMORY", raising=False)
    monkeypatch.setattr(_memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "GROUP", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  2048 kB\n")
    assert room() == 2 << 20
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 200000\nactive_file 300000\n")
    assert room() == 2 << 20
    (tmp_path / "memory.max").write_text("1500000\n")
    assert room() == 1_000_000
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "1 TiB")
    assert room() == 1 << 40
    monkeypatch.setenv("SPARSEBOUNDS_MEMORY", "much")
    with pytest.raises(InputError, match="SPARSEBOUNDS_MEMORY='much' is not an amount of memory"):
        room()
