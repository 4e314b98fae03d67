"""Tables: files that are broken, odd or bombs, through the command line."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.hostile.attack import Attack, Finding
from tests.hostile.console import apart, command, ending, quoted, table, unchanged
from tests.hostile.draw import chance, pick

Rng = np.random.Generator
FOLDER = tempfile.TemporaryDirectory(prefix="hostile")


class Tables(Attack):
    """Tables of every format, damaged: a documented exit code, one sentence, the file unchanged."""

    name, weight = "tables", 3.0

    def case(self, rng: Rng) -> Finding | None:
        name, content = draw_table(rng)
        path = Path(FOLDER.name) / name
        path.write_bytes(content)
        same = unchanged(path)
        _, found = command(*draw_command(rng, path))
        if found is None and not same():
            found = Finding("the table was changed", name)
        path.unlink(missing_ok=True)
        return found and Finding(found.kind, f"{found.detail}\nfile: {content[:800]!r}")


def draw_command(rng: Rng, path: Path) -> list[Any]:
    words: list[Any] = [pick(rng, "solve", "solve", "path", "rank"), path]
    words += ["--target", pick(rng, "y", "y", "y", "a", "nothing", "")]
    words += ["-k", pick(rng, 1, 2, 0, 50)] if words[0] != "path" else ["--ks", "1:3"]
    options = (
        ["--one-hot"],
        ["--drop-missing"],
        ["--impute", pick(rng, "median", "mean")],
        ["--weights", "b"],
        ["--offset", "b"],
        ["--exclude", pick(rng, "a", "*", "zz", "")],
        ["--features", pick(rng, "a,b", "*", "q*")],
        ["--loss", pick(rng, "logistic", "huber", "poisson", "tukey", "squared_hinge")],
        ["--test", pick(rng, 0.2, 0.99, 1.5)],
        ["--json"],
        ["--positive"],
        ["--always", "a"],
    )
    for option in options:
        if chance(rng, 0.15) and not (words[0] != "solve" and option[0] == "--test"):
            words += option
    return words


def draw_table(rng: Rng) -> tuple[str, bytes]:
    """A file's name and its bytes."""
    rows = table(rng, ["a", "b", "c", "y"], int(pick(rng, 1, 2, 12, 12, 12, 40)))
    kind = pick(rng, "csv", "csv", "csv", "tsv", "csv.gz", "npz", "npy", "parquet", "feather")
    if kind in ("npz", "npy"):
        return f"d.{kind}", _damaged(rng, _arrays(rng, rows, kind))
    if kind in ("parquet", "feather"):
        frame = pl.DataFrame(
            {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])}
        )
        stream = io.BytesIO()
        frame.write_parquet(stream) if kind == "parquet" else frame.write_ipc(stream)
        return f"d.{kind}", _damaged(rng, stream.getvalue())
    for _ in range(int(rng.integers(0, 4))):
        _spoil(rng, rows)
    separator = "\t" if kind == "tsv" else pick(rng, ",", ",", ";", "|")
    end = pick(rng, "\n", "\n", "\r\n", "\r")
    text = "".join(separator.join(map(quoted, row)) + end for row in rows)
    coding = pick(rng, "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1", "utf-32")
    content = text.encode(coding, "replace")
    if kind == "csv.gz":
        content = gzip.compress(content)
    return f"d.{kind}", _damaged(rng, content) if chance(rng, 0.3) else content


def _spoil(rng: Rng, rows: list[list[str]]) -> None:
    row = rows[int(rng.integers(len(rows)))]
    place = int(rng.integers(len(row))) if row else 0
    how = pick(rng, "cell", "cell", "cell", "column", "ragged", "long", "name", "empty", "quote")
    wild = ("", "nan", "inf", "-inf", "1e999", "NA", "abc", "1,5", "0x10", "\x00", "é", "1e-400")
    if how == "cell" and row:
        row[place] = pick(rng, *wild, "9" * 400, "true", "2020-01-01", "1_000", "٣", "-", "∞")
    elif how == "column":
        value = pick(rng, "", "nan", "0", "1", "1e300", "-1e300", "x", "1e-320", None)
        for line in rows[1:]:
            if place < len(line):
                line[place] = line[place - 1] if value is None else value
    elif how == "ragged" and row:
        del row[place]
    elif how == "long":
        row.extend(["7"] * int(rng.integers(1, 5)))
    elif how == "name" and rows[0]:
        rows[0][place % len(rows[0])] = pick(rng, "", "a", "y", "(intercept)", "a,b", "*", "é")
    elif how == "empty":
        row.clear()
    elif row:
        row[place] = '"' + row[place] + pick(rng, '"', '""', "\n")


def _arrays(rng: Rng, rows: list[list[str]], kind: str) -> bytes:
    X = np.array([[float(x) for x in row] for row in rows[1:]])
    for _ in range(int(rng.integers(0, 3))):
        X.flat[int(rng.integers(X.size))] = pick(rng, np.nan, np.inf, 1e308, -1e-320)
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    X = pick(rng, X, X, single, X.astype(complex), X.astype(str), X[0], X[None])
    stream = io.BytesIO()
    if kind == "npy":
        np.save(stream, pick(rng, X, X, np.array([{}, 1], dtype=object)), allow_pickle=True)
        return stream.getvalue()
    y = X[..., -1] if chance(rng, 0.7) else X[:1]
    names = pick(rng, None, ["a", "b", "c", "c"], ["a"], [1, 2, 3, 4], np.zeros((2, 2)))
    arrays = {"X": X, "y": y} | ({} if names is None else {"feature_names": names})
    if chance(rng, 0.2):
        arrays.pop(pick(rng, *arrays))
    np.savez(stream, **arrays)
    return stream.getvalue()


def _damaged(rng: Rng, content: bytes) -> bytes:
    how = pick(rng, "none", "none", "bytes", "cut", "head", "empty")
    if how == "bytes" and content:
        changed = bytearray(content)
        for place in rng.integers(len(changed), size=int(rng.integers(1, 8))):
            changed[place] = int(rng.integers(256))
        return bytes(changed)
    if how == "cut":
        return content[: int(rng.integers(len(content) + 1))]
    if how == "head":
        return bytes(rng.integers(0, 256, size=16, dtype=np.uint8)) + content
    return b"" if how == "empty" else content


class TableBombs(Attack):
    """Small tables that unpack into large ones, or claim to; in a process of its own."""

    name, weight, patience = "table-bombs", 0.3, 300.0

    def case(self, rng: Rng) -> Finding | None:
        how = pick(rng, *BOMBS)
        path = Path(FOLDER.name) / f"bomb{how}"
        path.write_bytes(BOMBS[how](rng))
        words = ("solve", path, "--target", "y", "-k", 1)
        code, stdout, stderr, size = apart(*words)
        what = f"{how}, {path.stat().st_size} bytes, {size:.0f} MiB"
        path.unlink()
        if code < 0:
            return Finding(f"a bomb takes too long ({how})", what)
        found = ending(what, code, stdout, stderr, (0, 2, 3))
        return found and Finding(f"{found.kind} ({how})", found.detail)


def _zipped(rng: Rng) -> bytes:
    """A table of two columns of zeros, of many rows."""
    return _gzip(b"a,y\n", b"0,0\n" * (1 << 18), int(rng.integers(2000, 10_000)))


def _one_line(rng: Rng) -> bytes:
    """One field without end."""
    return _gzip(b'a,y\n"', b"0" * (1 << 20), int(rng.integers(2000, 10_000)))


def _gzip(head: bytes, part: bytes, times: int) -> bytes:
    """`head`, then `part` again and again; packed once, as blocks that know nothing of another."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, wbits=-15).flush()
    crc = zlib.crc32(head)
    for _ in range(times):
        crc = zlib.crc32(part, crc)
    size = (len(head) + times * len(part)) & 0xFFFFFFFF
    return start + times * block + last + crc.to_bytes(4, "little") + size.to_bytes(4, "little")


def _claimed(rng: Rng) -> bytes:
    """A matrix of 7 TiB, by its header."""
    header = {"descr": "<f8", "fortran_order": False}
    shape = pick(rng, (10**6, 10**6), (2**62, 4), (2**31, 2**31), (10**12, 1))
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header | {"shape": shape})
    return stream.getvalue() + bytes(64)


def _claimed_in_archive(rng: Rng) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", _claimed(rng))
        archive.writestr("y.npy", _claimed(rng))
    return stream.getvalue()


BOMBS = {
    ".csv.gz": _zipped,
    "line.csv.gz": _one_line,
    ".npy": _claimed,
    ".npz": _claimed_in_archive,
}
