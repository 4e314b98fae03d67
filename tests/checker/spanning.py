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
from sparsebounds.certificates.row_codec import ROWS, SPANS
from sparsebounds.certificates.row_tree import RowTree
from sparsebounds.losses import Truncated
from sparsebounds.program import Program

TILTS = np.array([-1.5, -0.5, 0.5, 1.5])


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
        outer = boxed(own, Fraction(self.level), []).range if own.intercept else (0, 0)
        aside = self.c * rng.uniform(0.5, 2.0, size=2)
        self.cuts = [self.b - aside[0], self.b + aside[1]] if near and own.intercept else []
        self.bounds = RowBounds(own, Fraction(self.eta))
        self.lends: list[Any] = []
        self.ends: list[list[tuple[int, float, float, float, Any]]] = []
        cuts, switches = list(map(Fraction, self.cuts)), program.m + 2 * program.n
        self.spans = Spans(self.bounds, cuts, outer, Fraction(self.level))
        self.state = [*own.state, *[0] * (2 * program.n), *[1, -1][: len(cuts)]]
        self.scope = [switches + 1, -switches - 2][: len(cuts)]
        nothing = [(-np.inf, np.inf)] * (program.n + 1)
        decided = {abs(x) - 1: int(np.sign(x)) for x in self.scope}
        self.spans.parts.append((decided, nothing[1:], nothing[0]))
        self.start = self.b_known
        ones = np.ones((program.n, int(program.fit_intercept)))
        self.A = np.hstack((program.matrix.columns(np.arange(program.m)), ones))
        self.target = program.y if program.offset is None else program.y - program.offset
        ridge = np.full(program.m, self.eta) if ball is not None else program.ridges
        self.own, self.p = np.append(ridge, np.zeros(ones.shape[1])), program.F.p

    @property
    def known(self) -> tuple[Any, Any]:
        """The spans as floats."""
        one = 1 << self.bounds.rows.bits
        low, high = zip(*self.spans.parts[-1][1], strict=True)
        return np.array([x / one for x in low]), np.array([x / one for x in high])

    @property
    def b_known(self) -> tuple[float, float]:
        node = self.spans.node(self.state)
        return float(node.low), float(node.high)

    def add(self) -> None:
        """One more round; what its ends claim is a little beyond what their points prove."""
        from row_bounds import Lent

        theta, shares, eta = self._lent()
        lent = Lent(theta.tolist(), shares.tolist(), eta, 0.5 * sum(self.b_known))
        node, ends = self.spans.node(self.state), []
        for i, tau, b, w in self._points(theta, eta, 0.5 * sum(self.b_known)):
            at = {j: Fraction(x) for j, x in enumerate(w.tolist()) if x}
            phi = self.bounds.bound(node, at, Fraction(b), lent, i, Fraction(tau))
            if abs(phi) < float("inf"):
                end = (self.level - float(phi)) / tau - np.append(self.target, 0.0)[i]
                end += np.sign(tau) * 1e-9 * (abs(end) + self.c)
                ends.append((i, tau, float(end), b, w.tolist()))
        self.spans.cut(self.state, lent, ends)
        self.lends.append((theta, shares, eta, float(lent.middle)))
        self.ends.append(ends)

    def record(self) -> dict[str, Any]:
        """What a file has of them."""
        ends = [end for some in self.ends for end in some]
        names = "row", "tilt", "end", "intercept", "values"
        arrays = dict(zip(names, zip(*ends, strict=True) if ends else [()] * 5, strict=True))
        arrays |= {"scope_counts": [len(self.scope)], "scope": self.scope}
        arrays |= {"part_rounds": [len(self.ends)], "lent": range(len(self.ends))}
        arrays |= {"counts": [len(some) for some in self.ends]}
        sizes = {"parts": 1, "rounds": len(self.ends), "ends": len(ends)}
        return sizes | {name: packed(value, SPANS[name]) for name, value in arrays.items()}

    def document(self) -> dict[str, Any]:
        """A certificate with these spans, whose one leaf borrows what the last round does."""
        document, names = copy.deepcopy(self.stored), ("theta", "shares", "etas", "middles")
        lent = dict(zip(names, zip(*self.lends, strict=True), strict=True))
        lent |= {"lent": [len(self.lends) - 1]}
        document["rows"] |= {name: packed(lent[name], ROWS[name]) for name in lent}
        document["rows"] |= {"lent_count": len(self.lends), "cut_count": len(self.cuts)}
        document["rows"] |= {"cuts": packed(self.cuts, "<f8"), "spans": self.record()}
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
