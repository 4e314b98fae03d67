"""Checkpoints: damaged files of searches and paths, taken up again."""

from __future__ import annotations

import io
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attack import Attack, Finding
from tests.hostile.draw import chance, pick
from tests.hostile.reference import Reference, decimal, precise
from tests.hostile.sandbox import forked
from tests.hostile.spec import Spec

import sparsebounds as sb
from sparsebounds._support.errors import InputError

Rng = np.random.Generator
FOLDER = tempfile.TemporaryDirectory(prefix="hostile")


@dataclass(frozen=True, eq=False)
class Work:
    """A search or a path that was stopped, and the file that it left."""

    spec: Spec
    content: bytes
    optima: dict[float, tuple[Any, Any]]
    """Lower and upper bounds on the optimum by k (or l0), from the referee."""

    def resume(self, file: Path) -> list[Any]:
        """The work taken up; its results."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if len(self.optima) == 1:
                return [self._solve(file)]
            return list(self._path(file))

    def _solve(self, file: Path, **options: Any) -> Any:
        return sb.solve(
            **self.spec.data, **self.spec.problem, exact=True, tol=1e-6, checkpoint=file, **options
        )

    def _path(self, file: Path, **options: Any) -> Any:
        name = "ks" if self.spec.l0 is None else "l0s"
        grid = {name: list(self.optima), "exact": self.spec.l0 is None}
        return sb.path(**self.spec.data, **self.spec.size, **grid, checkpoint=file, **options)


@cache
@precise
def work(number: int) -> Work:
    """Four kinds of each: forms and losses."""
    rng = np.random.default_rng([number, 9])
    n, m = 30, 9
    X = rng.normal(size=(n, m))
    for j in range(1, m):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    y = X @ rng.normal(size=m) + rng.normal(size=n)
    options: dict[str, Any] = {"k": 3, "ridge": 1e-3, "fit_intercept": bool(number % 2)}
    if number % 4 == 2:
        X, y, options = X[:12, :7], np.sign(y[:12]), {"k": 3, "ridge": 1e-2, "loss": "logistic"}
    elif number % 4 == 3:
        X, options = X[:, :7], {"l0": 0.1, "ridge": 1e-3}
    spec = Spec(X, y, **options)
    path = number >= 4
    grid: list[Any] = [spec.l0 or spec.k]
    if path:
        grid = [1, 2, 3] if spec.k else [0.3, 0.1, 0.05]
    optima = {}
    for value in grid:
        part = spec.but(k=value) if spec.k else spec.but(l0=value)
        reference = Reference(part)
        optima[value] = (reference.low - reference.dust, reference.best.high + reference.dust)
    file = Path(FOLDER.name) / f"work{number}.npz"
    started = Work(spec, b"", optima)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started._path(file) if path else started._solve(file, node_limit=2)
    return Work(spec, file.read_bytes(), optima)


class Checkpoints(Attack):
    """Bytes and arrays of checkpoints changed, then the work taken up."""

    name, weight, patience = "checkpoints", 3.0, 120.0

    def case(self, rng: Rng) -> Finding | None:
        number = int(rng.integers(8))
        source = work(number)
        content, how = damage(rng, source.content)
        file = Path(FOLDER.name) / "damaged.npz"
        file.write_bytes(content)
        what = f"{'path' if number >= 4 else 'search'} {number}: {how}"

        def attempt() -> str:
            try:
                results = source.resume(file)
            except InputError as error:
                told = str(error)
                sentence = "checkpoint" in told and told.endswith(".")
                return "" if sentence else f"no sentence: {told}"
            return wrong(source, results)

        outcome = forked(attempt, 30.0)
        if outcome.error:
            kind = outcome.error.split(":")[0]
            return Finding(f"{kind} from a damaged checkpoint", f"{what}: {outcome.error}")
        if outcome.result:
            return Finding(outcome.result.split(":")[0], f"{what}: {outcome.result}")
        return None


@precise
def wrong(source: Work, results: list[Any]) -> str:
    """What is false in results that were taken up; "" where nothing is."""
    for result in results:
        place = source.spec.k or source.spec.l0
        if len(source.optima) > 1:
            place = result.k if source.spec.k else result.l0
        low, high = source.optima[place]
        if decimal(result.lower) > high:
            return f"a resumed lower bound is false: {result.lower!r} > {high:.17g} at {place}"
        if decimal(result.upper) < low:
            return f"a resumed upper bound is false: {result.upper!r} < {low:.17g} at {place}"
        verdict = result.certificate.verify(**source.spec.data)
        if not verdict.ok:
            return f"a resumed certificate is refused: {verdict.message}"
    return ""


def damage(rng: Rng, content: bytes) -> tuple[bytes, str]:
    """Other bytes, and how they came about."""
    how = pick(rng, "bytes", "cut", "arrays", "arrays", "arrays", "arrays", "header", "other")
    if how == "bytes":
        changed = bytearray(content)
        for place in rng.integers(len(changed), size=int(rng.integers(1, 6))):
            changed[place] = int(rng.integers(256))
        return bytes(changed), how
    if how == "cut":
        return content[: int(rng.integers(len(content)))], how
    if how == "other":
        return pick(rng, b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"{}", content * 2), how
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    if how == "header":
        return _huge_header(arrays, rng), how
    words = [_change(rng, arrays) for _ in range(int(rng.integers(1, 4)))]
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue(), "; ".join(words)


IDENTITY = ("format", "data", "problem", "tol", "grid", "stop", "exact")


def _change(rng: Rng, arrays: dict[str, Any]) -> str:
    """One array changed; bounds are weakened or raised."""
    names = [name for name in arrays if name not in IDENTITY]
    bounds = [name for name in ("lower", "open_lower", "curves", "numbers") if name in names]
    name = pick(rng, *(bounds if chance(rng, 0.3) else names))
    value = np.array(arrays[name])
    how = pick(rng, "entry", "entry", "weaker", "raised", "short", "long", "type", "gone", "shape")
    if how == "gone":
        del arrays[name]
        return f"{name} gone"
    if how == "short":
        value = value[:-1] if value.ndim else value
    elif how == "long":
        value = np.concatenate([value, value[-1:]]) if value.ndim else value[None]
    elif how == "type":
        with np.errstate(all="ignore"):
            value = value.astype(pick(rng, "<f4", "<i2", "<U4", "<i8", "<f8", "|b1"))
    elif how == "shape":
        value = pick(rng, value[None], value.ravel(), np.zeros(0, value.dtype))
    elif value.dtype.kind == "f" and value.size:
        size = 0.1 * abs(value) + pick(rng, 1e-12, 1e-3, 1.0)
        if how == "entry":
            wild = pick(rng, 0.0, np.nan, np.inf, -np.inf, 1e308, -1.0, 1e-3)
            value.flat[int(rng.integers(value.size))] = wild
        else:
            value = value + size if how == "raised" else value - size
    elif value.dtype.kind in "iu" and value.size:
        value = value.astype(np.int64)
        value.flat[int(rng.integers(value.size))] += pick(rng, -1, 1, 7, 2**30, -(2**30))
    arrays[name] = value
    return f"{name} {how}"


def _huge_header(arrays: dict[str, Any], rng: Rng) -> bytes:
    """An archive in which one array claims to be very large."""
    stream, chosen = io.BytesIO(), pick(rng, *arrays)
    with zipfile.ZipFile(stream, "w") as archive:
        for name, value in arrays.items():
            inner = io.BytesIO()
            if name == chosen:
                header = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
                np.lib.format.write_array_header_1_0(inner, header)
            else:
                np.save(inner, value)
            archive.writestr(f"{name}.npy", inner.getvalue())
    return stream.getvalue()
