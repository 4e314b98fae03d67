"""Certificates with spans of rows that no search has made: any point and any tilt will do."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truncated import Candidates

from sparsebounds.bounds import objective_up
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.row_tree import RowTree
from sparsebounds.losses import Truncated
from sparsebounds.program import Program

TILTS = np.array([-2.0, -1.0, -0.3, 0.3, 1.0, 2.0])
SPANS = {"range": "<f8", "lent": "<i4", "counts": "<i4", "row": "<i4"}
SPANS |= {"tilt": "<f8", "intercept": "<f8", "values": "<f4"}


def packed(values: Any, kind: str) -> str:
    raw = np.ascontiguousarray(values, dtype=kind).tobytes()
    return base64.b64encode(zlib.compress(raw)).decode()


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def spoiled(seed: int) -> Program:
    """Two columns that nearly explain seven of nine rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=9) + 0.5
    y[:2] += rng.choice([-6.0, 6.0], size=2)
    terms: list[dict[str, Any]] = [{"k": 2, "ridge": 0.3}, {"l0": 0.02, "ridge": 0.5}]
    terms += [{"k": 1, "ridge": 0.3, "always": [1]}, {"k": 2, "ball": 1.5}]
    own = {"fit_intercept": seed % 3 > 0, "loss": Truncated(c=1.0), **terms[seed % 4]}
    return Program(X, y, offset=0.1 * rng.normal(size=9), **own)


def data_of(program: Program) -> dict[str, Any]:
    data = program.data
    given = {"y": data.y, "sample_weight": data.weights}
    given |= {} if data.offset is None else {"offset": data.offset}
    return given | {"X": np.array(data.matrix.columns(np.arange(data.matrix.shape[1])))}


def one_leaf(found: Candidates, eta: float) -> Certificate:
    """A tree of one node, bounded at the best model, that proves nothing by itself."""
    program, place = found.program, int(np.argmin(found.values))
    w, b = found.w[place], float(found.b[place])
    none, zero = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    used = np.flatnonzero(w)
    tree = RowTree(
        kept=np.arange(program.m),
        cuts=np.zeros(0),
        eta=eta,
        parent=none,
        switch=none,
        points=zero,
        scope=zero,
        counts=np.array([len(used)]),
        support=used.astype(np.int32),
        values=w[used],
        intercept=np.array([b]),
        lent=zero,
        theta=np.zeros((1, program.n)),
        shares=np.zeros((1, program.m)),
        etas=np.zeros(1),
        middles=np.zeros(1),
    )
    return Certificate.build(program, (), (), w, b, lower=0.0, rows=tree)


def near_models(found: Candidates, level: float, rng: Any) -> tuple[Any, Any]:
    """Models up to the level: those that are the best for their outliers, and others around."""
    program, models = found.program, []
    for i in rng.permutation(np.flatnonzero(found.values <= level))[:20]:
        w, b = found.w[i], float(found.b[i])
        models.append((w, b))
        for _ in range(3):
            size = 10.0 ** rng.uniform(-3.0, 0.5)
            other = w + size * rng.normal(size=program.m) * (w != 0.0)
            other = np.where(program.positive, np.abs(other), other)
            aside = b + size * rng.normal() * program.fit_intercept
            for part in 0.5 ** np.arange(12):
                v, a = w + part * (other - w), b + part * (aside - b)
                inside = program.ball is None or float(v @ v) <= 0.999 * program.ball
                if inside and objective_up(program, v, float(a)) <= level:
                    models.append((v, a))
                    break
    w, b = zip(*models, strict=True)
    return np.array(w), np.array(b)


class Rounds:
    """Rounds of spans around a model, and what is lent to them.

    Points and tilts are good guesses with noise: what they prove is for others to say.
    """

    def __init__(self, found: Candidates, level: float, eta: float, rng: Any) -> None:
        self.program, self.rng = program, rng = found.program, rng
        place = int(np.argmin(found.values))
        self.w, self.b = found.w[place], float(found.b[place])
        self.gap = 0.5 * level
        self.lent: list[tuple[Any, Any, float, float]] = []
        self.ends: list[list[tuple[int, float, float, Any]]] = []
        ones = np.ones((program.n, int(program.fit_intercept)))
        self.A = np.hstack((program.matrix.columns(np.arange(program.m)), ones))
        own = np.full(program.m, eta) if program.ball is not None else program.ridges
        self.own = np.append(own, np.zeros(ones.shape[1]))
        self.p = program.F.p

    def add(self, low: Any, high: Any, middle: float, reach: float) -> None:
        """One more round, where so much is known of the residuals and the intercept."""
        self.lent.append((*self._lent(low, high, reach), middle))
        self.ends.append(list(self._ends()))

    def record(self, b_range: Any) -> dict[str, Any]:
        """What a file has of them."""
        row, tilt, intercept, values = zip(
            *(end for some in self.ends for end in some), strict=True
        )
        arrays = {
            "range": b_range,
            "lent": range(len(self.ends)),
            "counts": [len(some) for some in self.ends],
            "row": row,
            "tilt": tilt,
            "intercept": intercept,
            "values": values,
        }
        sizes = {"rounds": len(self.ends), "ends": len(row)}
        return sizes | {name: packed(value, SPANS[name]) for name, value in arrays.items()}

    def _lent(self, low: Any, high: Any, reach: float) -> tuple[Any, Any, float]:
        """Thetas, shares and eta with which the loss is convex on these residuals."""
        program, c = self.program, self.program.loss.c  # type: ignore[attr-defined]
        own = int(program.fit_intercept)
        inlier, outlier = (low >= -c) & (high <= c), (low >= c) | (high <= -c)
        shares = self.rng.uniform(0.4, 0.8, size=program.m).astype(np.float32)
        eta = own * 0.3 * c**2 / max(reach, 0.1 * c) ** 2
        lends = np.append(shares * self.own[: program.m], np.full(own, eta))
        theta = self.rng.uniform(0.2, 0.9, size=program.n)
        for _ in range(40):
            least = np.where(inlier, 1.0, np.where(outlier, 0.0, -theta / (1.0 - theta)))
            matrix = (self.A * (self.p * least)[:, None]).T @ self.A + np.diag(lends)
            unit = 1.0 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
            if np.linalg.eigvalsh(matrix * unit * unit[:, None])[0] > 1e-6:
                break
            theta = 0.7 * theta
        return theta.astype(np.float32), shares, eta

    def _ends(self) -> Iterator[tuple[int, float, float, Any]]:
        """Three per row and side."""
        program, own = self.program, int(self.program.fit_intercept)
        matrix = (self.A * self.p[:, None]).T @ self.A + np.diag(self.own)
        at = np.append(self.w, np.full(own, self.b))
        for i in range(program.n + own):
            x = self.A[i] if i < program.n else np.eye(len(at))[-1]
            way = np.linalg.lstsq(matrix, x, rcond=None)[0]
            for tau in np.sqrt(2.0 * self.gap / max(x @ way, 1e-300)) * TILTS:
                v = (at + tau * way) * (1.0 + self.rng.choice([0.0, 0.2]) * self.rng.normal())
                yield i, float(tau), float(v[program.m]) if own else 0.0, v[: program.m]
