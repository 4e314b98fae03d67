"""Certificates with spans of rows that no search has made: any point and any tilt will do."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
from scipy.optimize import minimize
from tests.truncated import Candidates

from sparsebounds.bounds import objective_up
from sparsebounds.bounds.row_loss import RowLoss
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.codec import _checksum, encode
from sparsebounds.certificates.row_tree import RowTree
from sparsebounds.certificates.tree_codec import ROWS
from sparsebounds.losses import Truncated
from sparsebounds.program import Program

TILTS = np.array([-1.5, -0.5, 0.5, 1.5])
SPANS = {"range": "<f8", "lent": "<i4", "counts": "<i4", "row": "<i4"}
SPANS |= {"tilt": "<f8", "end": "<f8", "intercept": "<f8", "values": "<f4"}


def packed(values: Any, kind: str) -> str:
    raw = np.ascontiguousarray(values, dtype=kind).tobytes()
    return base64.b64encode(zlib.compress(raw)).decode()


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def spoiled(seed: int) -> Program:
    """Two columns that nearly explain eight of nine rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=9) + 0.5
    y[0] += rng.choice([-6.0, 6.0])
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
    """Rounds of spans around the best model: good guesses with noise, and the ends they prove.

    `level` is above the best objective by a share `more` of it. Spans are of intercepts near that
    of the model, or of all, where a leaf is to have them.
    """

    def __init__(
        self, checker: ModuleType, found: Candidates, rng: Any, more: float, *, near: bool
    ) -> None:
        from robust_boxes import boxed
        from row_bounds import RowBounds
        from row_spans import Spans

        self.found, self.program, self.rng = found, found.program, rng
        program, self.c = found.program, found.program.loss.c  # type: ignore[attr-defined]
        place = int(np.argmin(found.values))
        self.w, self.b = found.w[place], float(found.b[place])
        ball = program.ball
        self.eta = 0.0 if ball is None else float(rng.uniform(0.1, 1.0) * self.c**2 / ball)
        certificate = one_leaf(found, self.eta)
        self.data, self.stored = data_of(program), json.loads(encode(certificate))
        self.level = float(certificate.upper * (1.0 + more))
        own = checker.posed(self.stored, self.data)
        self.outer = boxed(own, Fraction(self.level), []).range if own.intercept else (0, 0)
        aside = self.c * own.intercept * rng.uniform(0.5, 2.0, size=2)
        center = np.full(2, self.b) if near else np.array(self.outer, dtype=float)
        self.b_range = center + aside * [-1.0, 1.0]
        self.bounds = RowBounds(own, Fraction(self.eta))
        self.lends: list[Any] = []
        self.ends: list[list[tuple[int, float, float, float, Any]]] = []
        self.spans = Spans(self.bounds, self.record(), [], self.outer, Fraction(self.level))
        self.start = float(self.spans.low), float(self.spans.high)
        ones = np.ones((program.n, int(program.fit_intercept)))
        self.A = np.hstack((program.matrix.columns(np.arange(program.m)), ones))
        self.target = program.y if program.offset is None else program.y - program.offset
        ridge = np.full(program.m, self.eta) if ball is not None else program.ridges
        self.own, self.p = np.append(ridge, np.zeros(ones.shape[1])), program.F.p

    @property
    def known(self) -> tuple[Any, Any]:
        """The spans as floats."""
        one = 1 << self.bounds.rows.bits
        low, high = zip(*self.spans.spans, strict=True)
        return np.array([x / one for x in low]), np.array([x / one for x in high])

    @property
    def b_known(self) -> tuple[float, float]:
        return float(self.spans.low), float(self.spans.high)

    def add(self) -> None:
        """One more round; what its ends claim is a little beyond what their points prove."""
        from row_bounds import Lent, Node

        theta, shares, eta = self._lent()
        lent = Lent(theta.tolist(), shares.tolist(), eta, 0.5 * sum(self.b_known))
        state, spans = self.bounds.program.state, self.spans
        node = Node(self.bounds.program, state, spans.spans, spans.low, spans.high)
        ends = []
        for i, tau, b, w in self._points(theta, eta, 0.5 * sum(self.b_known)):
            at = {j: Fraction(x) for j, x in enumerate(w.tolist()) if x}
            phi = self.bounds.bound(node, at, Fraction(b), lent, i, Fraction(tau))
            if abs(phi) < float("inf"):
                end = (self.level - float(phi)) / tau - np.append(self.target, 0.0)[i]
                end += np.sign(tau) * 1e-9 * (abs(end) + self.c)
                ends.append((i, tau, float(end), b, w.tolist()))
        self.spans.cut(lent, ends)
        self.lends.append((theta, shares, eta, float(lent.middle)))
        self.ends.append(ends)

    def record(self) -> dict[str, Any]:
        """What a file has of them."""
        ends = [end for some in self.ends for end in some]
        names = "row", "tilt", "end", "intercept", "values"
        arrays = dict(zip(names, zip(*ends, strict=True) if ends else [()] * 5, strict=True))
        arrays |= {"range": self.b_range, "lent": range(len(self.ends))}
        arrays |= {"counts": [len(some) for some in self.ends]}
        sizes = {"rounds": len(self.ends), "ends": len(ends)}
        return sizes | {name: packed(value, SPANS[name]) for name, value in arrays.items()}

    def document(self) -> dict[str, Any]:
        """A certificate with these spans, whose one leaf borrows what the last round does."""
        document, names = copy.deepcopy(self.stored), ("theta", "shares", "etas", "middles")
        lent = dict(zip(names, zip(*self.lends, strict=True), strict=True))
        lent |= {"lent": [len(self.lends) - 1]}
        document["rows"] |= {name: packed(lent[name], ROWS[name]) for name in lent}
        document["rows"] |= {"lent_count": len(self.lends), "spans": self.record()}
        document["upper"] = self.level
        return document | {"sha256": _checksum(document)}

    def _lent(self) -> tuple[Any, Any, float]:
        """Thetas, shares and eta with which the loss is convex on the spans."""
        program, c, (low, high), own = self.program, self.c, self.known, len(self.own)
        inlier, outlier = (low >= -c) & (high <= c), (low >= c) | (high <= -c)
        shares = self.rng.uniform(0.4, 0.8, size=program.m).astype(np.float32)
        reach = 0.5 * (self.b_known[1] - self.b_known[0])
        eta = (own - program.m) * 0.3 * c**2 / max(reach, 0.1 * c) ** 2
        lends = np.append(shares * self.own[: program.m], np.full(own - program.m, eta))
        theta = self.rng.uniform(0.2, 0.9, size=program.n)
        for _ in range(40):
            least = np.where(inlier, 1.0, np.where(outlier, 0.0, -theta / (1.0 - theta)))
            matrix = (self.A * (self.p * least)[:, None]).T @ self.A + np.diag(lends)
            unit = 1.0 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
            if np.linalg.eigvalsh(matrix * unit * unit[:, None])[0] > 1e-6:
                break
            theta = 0.7 * theta
        return theta.astype(np.float32), shares, eta

    def _points(
        self, theta: Any, eta: float, middle: float
    ) -> Iterator[tuple[int, float, float, Any]]:
        """Some per row and side: near the minima of what is convex, less the tilt."""
        m, own = self.program.m, len(self.own) - self.program.m
        loss = RowLoss(self.c, *self.known, theta.astype(float))
        center = np.append(np.zeros(m), np.full(own, middle))
        bend = self.own + np.append(np.zeros(m), np.full(own, eta))
        at = np.append(self.w, np.full(own, self.b))

        def tilted(v: Any, x: Any, tau: float) -> tuple[float, Any]:
            value, slope, _ = loss.at(self.A @ v - self.target)
            total = self.p @ value + 0.5 * bend @ np.square(v - center) - tau * (x @ v)
            return total, (self.p * slope) @ self.A + bend * (v - center) - tau * x

        for i in range(self.program.n + own):
            x = self.A[i] if i < self.program.n else np.eye(len(at))[-1]
            for tau in self.level / self.c * TILTS:
                v = minimize(tilted, at, (x, tau), jac=True, options={"maxiter": 10}).x
                v *= 1.0 + self.rng.choice([0.0, 0.0, 1e-3, 0.1]) * self.rng.normal(size=len(v))
                yield i, float(tau), float(v[m]) if own else 0.0, v[:m].astype(np.float32)
