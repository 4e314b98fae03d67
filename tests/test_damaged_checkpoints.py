"""Damaged and forged checkpoints: a sentence, or a result that is valid, whatever was changed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds._support.checkpoint import CHECKSUM, _checksum
from sparsebounds._support.errors import InputError
from sparsebounds.exact import Checkpoint
from sparsebounds.program import Program
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force

RNG = np.random.default_rng(3)
X = RNG.normal(size=(14, 10)) + RNG.normal(size=(14, 1))
Y = RNG.normal(size=14)
SEARCHES: dict[str, dict[str, Any]] = {
    "k+ridge": {"k": 5, "ridge": 0.001},
    "minorant": {"l0": 0.003, "ridge": 0.003},
    "l0+ridge": {"l0": 0.01, "ridge": 0.01, "fit_intercept": True},
    "k+ball": {"k": 3, "ball": 1.0},
    "logistic": {"k": 3, "ridge": 0.01, "loss": "logistic", "fit_intercept": True},
}
PATHS: dict[str, dict[str, Any]] = {
    "k": {"ks": [1, 2, 3, 4]},
    "l0": {"l0s": [0.3, 0.1, 0.02, 0.004]},
    "exact": {"ks": [1, 2, 3], "exact": True, "node_limit": 9},
}
SENTENCE = "name another file, or delete this one to start again."


def posed(options: dict[str, Any]) -> Program:
    return Program(X, Y > 0 if "loss" in options else Y, **options)


def arrays_of(file: Path) -> dict[str, Any]:
    with np.load(file) as found:
        return dict(found)


def changed(array: Any, rng: np.random.Generator) -> Any:
    """An array that is not what it was: values, order, type or shape."""
    flat = array.ravel()
    some = rng.integers(0, max(flat.size, 1), 1 + flat.size // 4)
    numeric = array.dtype.kind in "if"

    def put(value: Any) -> Any:
        out = flat.astype(np.float64) if array.dtype.kind == "f" else flat.copy()
        if out.size and numeric:
            out[some] = value if array.dtype.kind == "f" else np.clip(value, -128, 127)
        return out.reshape(array.shape)

    ways: list[Callable[[], Any]] = [
        lambda: put(rng.integers(-3, 12)),
        lambda: put(rng.integers(-3, 12)),
        lambda: put(127),
        lambda: flat[: flat.size // 2],
        lambda: np.concatenate((flat, flat[-1:])),
        lambda: rng.permutation(flat).reshape(array.shape),
        lambda: flat[::-1].reshape(array.shape),
        lambda: array[None],
        lambda: array.astype(np.float32) if numeric else np.zeros(3),
        lambda: np.rint(np.nan_to_num(array)).astype(np.int64) if numeric else np.array("x"),
        lambda: array.astype(str),
        lambda: np.zeros(0),
    ]
    if array.dtype.kind == "f":
        ways += [
            lambda: put(np.nan),
            lambda: put(np.inf),
            lambda: put(-np.inf),
            lambda: put(1e300),
            lambda: put(5e-324),
            lambda: -array,
            lambda: array + rng.normal(size=array.shape),
            lambda: 1e3 * array,
        ]
    return ways[rng.integers(len(ways))]()


def forged(arrays: dict[str, Any], rng: np.random.Generator, keep: set[str]) -> dict[str, Any]:
    """Some arrays changed, exchanged or left out; without a checksum, or with the right one."""
    names = sorted(set(arrays) - keep - {CHECKSUM})
    out = {name: arrays[name] for name in (*names, *keep)}
    for name in rng.choice(names, rng.integers(1, 3), replace=False).tolist():
        if rng.random() < 0.1:
            del out[name]
        elif rng.random() < 0.2:
            out[name] = arrays[names[rng.integers(len(names))]]
        else:
            out[name] = changed(arrays[name], rng)
    if rng.random() < 0.5:
        out[CHECKSUM] = np.array(_checksum({key: np.asarray(out[key]) for key in out}))
    return out


def broken(content: bytes, rng: np.random.Generator) -> bytes:
    """A file that was cut, overwritten, lengthened or shuffled."""
    place, length = (int(i) for i in rng.integers(0, len(content), 2))
    piece = content[place : place + 1 + length % 200]
    end = place + len(piece)
    return [
        content[:place],
        content[:place] + bytes(len(piece)) + content[end:],
        content[:place] + bytes(byte ^ 0x55 for byte in piece[:1]) + content[place + 1 :],
        content[:place] + piece[::-1] + content[end:],
        content[:place] + piece + content[place:],
        content[:place] + content[end:],
    ][rng.integers(6)]


def refused(work: Callable[[], Any]) -> Any:
    """What the work returns; None where it is refused in the sentence."""
    try:
        return work()
    except InputError as error:
        sentence = str(error)
    assert sentence.startswith("checkpoint=")
    assert sentence.endswith(SENTENCE)
    return None


@pytest.mark.parametrize("name", SEARCHES)
def test_damaged_searches(name: str, tmp_path: Path) -> None:
    program, file = posed(SEARCHES[name]), tmp_path / "search.npz"
    # A minorant costs some digits, and is not made where all of them are asked for.
    tol = 1e-4 if name == "minorant" else 1e-9
    solve_program(program, tol, exact=True, node_limit=6, checkpoint=file)
    content, arrays = file.read_bytes(), arrays_of(file)
    saved = Checkpoint(file, program, tol).saved
    assert saved is not None
    assert len(saved.places) > 0
    assert (saved.tree.minorant is not None) == (name == "minorant")
    optimum, rng, taken = brute_force(program).value, np.random.default_rng(7), 0

    def check() -> bool:
        found = refused(
            lambda: solve_program(program, tol, exact=True, node_limit=20, checkpoint=file)
        )
        if found is None:
            return False
        slack = 1e-9 * abs(program.null)
        assert found.lower <= optimum
        assert found.upper >= optimum - slack
        value = program.objective(found.coef, found.intercept)
        assert value == pytest.approx(found.upper, rel=1e-9)
        assert found.certificate.verify(X, program.y).ok
        return True

    for _ in range(30 if LONG else 15):
        file.write_bytes(broken(content, rng))
        taken += check()
    assert taken <= 5  # a time stamp of the archive, say
    keep = {"format", "data", "problem", "tol"}
    for _ in range(60 if LONG else 20):
        np.savez(file, **forged(arrays, rng, keep))
        taken += check()
    assert taken >= 3


@pytest.mark.parametrize("name", PATHS)
def test_damaged_paths(name: str, tmp_path: Path) -> None:
    program, grid, file = posed({"k": 1, "ridge": 0.01}), PATHS[name], tmp_path / "path.npz"

    def stopped(now: Any) -> None:
        if getattr(now, "done", 0) == 2:
            raise KeyboardInterrupt

    sb.path(program, **grid, checkpoint=file, callback=stopped)
    content, arrays = file.read_bytes(), arrays_of(file)
    points = [
        program.with_price(value) if name == "l0" else program.with_budget(value)
        for value in next(iter(grid.values()))
    ]
    optima = np.array([brute_force(point).value for point in points])
    rng, taken = np.random.default_rng(11), 0

    def check() -> bool:
        found = refused(lambda: sb.path(program, **grid, checkpoint=file))
        if found is None:
            return False
        assert np.all(found.lower <= optima)
        assert np.all(found.upper >= optima - 1e-9 * abs(program.null))
        for point, problem in zip(found, points, strict=True):
            value = problem.objective(point.coef, point.intercept)
            assert value == pytest.approx(point.upper, rel=1e-9)
        return True

    for _ in range(20 if LONG else 10):
        file.write_bytes(broken(content, rng))
        taken += check()
    assert taken <= 4
    keep = {"format", "data", "problem", "grid", "tol", "stop", "exact"}
    for _ in range(60 if LONG else 30):
        np.savez(file, **forged(arrays, rng, keep))
        taken += check()
    assert taken >= 5


def test_sizes_are_compared_before_anything_is_made(tmp_path: Path) -> None:
    """A header of 8 TiB, a compressed array, one array twice: none of them is unpacked."""
    program, file = posed(SEARCHES["k+ridge"]), tmp_path / "search.npz"
    solve_program(program, exact=True, node_limit=3, checkpoint=file)
    content, arrays = file.read_bytes(), arrays_of(file)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    )
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("w2.npy", stream.getvalue())
    bombs = [file.read_bytes()]
    file.write_bytes(content)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("w.npy", b"")
    bombs.append(file.read_bytes())
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    bombs.append(stream.getvalue())
    for bomb in (*bombs, b"\x80\x04N."):
        file.write_bytes(bomb)
        with pytest.raises(InputError, match=r"is damaged.*or delete this one"):
            Checkpoint(file, program, 1e-4)


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """They have no checksum."""
    program, file = posed(SEARCHES["k+ridge"]), tmp_path / "search.npz"
    solve_program(program, exact=True, node_limit=3, checkpoint=file)
    arrays = arrays_of(file)
    del arrays[CHECKSUM]
    np.savez(file, **arrays)
    assert Checkpoint(file, program, 1e-4).saved is not None
