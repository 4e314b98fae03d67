"""Certificates with spans of rows that no search has made: any point and any tilt will do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from tests.truncated import Candidates

from sparsebounds.bounds import (
    Lent,
    Round,
    RowBounds,
    Switches,
    narrowed,
    objective_up,
    outer_range,
    proved_ends,
)
from sparsebounds.bounds.row_loss import RowLoss, Spans
from sparsebounds.certificates import Certificate, RowTree, SpanProof, row_tree_bound
from sparsebounds.losses import Truncated
from sparsebounds.program import Program

TILTS = np.array([-1.5, -0.5, 0.5, 1.5])


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

    The level is above the best objective by a share `more` of it. Spans are of all models, or of
    those with intercepts `near` that of the best one. With `sparse`, features lend by supports.
    """

    def __init__(
        self, found: Candidates, rng: Any, more: float = 0.0, *, near: bool, sparse: bool = False
    ) -> None:
        self.program, self.rng, program = found.program, rng, found.program
        self.sparse = sparse
        place, self.c = int(np.argmin(found.values)), program.loss.c  # type: ignore[attr-defined]
        self.w, self.b = found.w[place], float(found.b[place])
        self.level = float(objective_up(program, self.w, self.b) * (1.0 + more))
        ball, aside = program.ball, self.c * rng.uniform(0.5, 2.0, size=2)
        self.eta = 0.0 if ball is None else float(rng.uniform(0.1, 1.0) * self.c**2 / ball)
        cuts = self.b + aside * [-1.0, 1.0] if near and program.fit_intercept else np.zeros(0)
        switches = Switches(program.m, program.n, cuts)
        outer = outer_range(program, self.level, claim=True)
        self.bounds = RowBounds(program, switches, outer, eta=self.eta, claim=True)
        self.scope = np.zeros(switches.count, dtype=np.int8)
        self.scope[: program.m][program.always] = 1
        if len(cuts):
            self.scope[-2:] = 1, -1
        self.spans = Spans.nothing(self.scope, program.n)
        self.rounds: list[Round] = []

    @property
    def range(self) -> tuple[float, float]:
        """The intercepts that are left."""
        return self.bounds.with_spans(self.spans).range(self.scope)

    def add(self) -> None:
        """One more round; what its ends state is a little beyond what their points prove."""
        lent = self._lent()
        row, tau, b, W = map(np.array, zip(*self._points(lent), strict=True))
        made = Round(lent, row, tau, W, b, end=np.zeros(len(row)))
        end = proved_ends(self.bounds.with_spans(self.spans), self.scope, made, self.level)
        proved = np.isfinite(end)
        self.rounds.append(made.part(proved).stated(end[proved], self.c))
        self.spans = narrowed(self.spans, self.rounds[-1])

    def certificate(self) -> Certificate:
        """A certificate with these spans, whose one leaf borrows what the last round does."""
        program, used = self.program, np.flatnonzero(self.w)
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        lent = [one.lent for one in self.rounds]
        tree = RowTree(
            kept=np.arange(program.m),
            cuts=self.bounds.switches.cuts,
            eta=self.eta,
            parent=none,
            switch=none,
            points=zero,
            scope=zero,
            counts=np.array([len(used)]),
            support=used.astype(np.int32),
            values=self.w[used],
            intercept=np.array([self.b]),
            lent=zero + len(lent) - 1,
            theta=np.array([one.theta for one in lent]),
            shares=np.array([one.shares for one in lent]),
            etas=np.array([one.eta for one in lent]),
            middles=np.array([one.middle for one in lent]),
            sparse=np.array([one.sparse for one in lent], dtype=np.int64),
            spans=(SpanProof(self.scope, tuple(enumerate(self.rounds))),),
            level=self.level,
        )
        lower = row_tree_bound(program, tree, self.level, claim=True)
        made = Certificate.build(program, (), (), self.w, self.b, lower=lower, rows=tree)
        return replace(made, upper=self.level)

    def _lent(self) -> Lent:
        """Thetas, shares and eta with which the loss is convex on the spans."""
        program, c, (first, last) = self.program, self.c, self.range
        shares = self.rng.uniform(0.4, 0.8, size=program.m)
        eta = 0.3 * c**2 / max(0.5 * (last - first), 0.1 * c) ** 2 * program.fit_intercept
        theta, live = self.rng.uniform(0.2, 0.9, size=program.n), np.arange(program.m)
        for _ in range(40):
            lent = Lent.stored(theta, shares, eta, 0.5 * (first + last), sparse=self.sparse)
            if self.sparse:
                if self.bounds.lending(self.scope, lent) is not None:
                    break
                theta = 0.7 * theta
                continue
            least = RowLoss(c, self.spans.low, self.spans.high, lent.theta).least
            matrix, size = self.bounds.matrix(least, lent, live)
            unit = 1.0 / np.sqrt(np.maximum(size, 1e-300))
            if np.linalg.eigvalsh(matrix * unit * unit[:, None])[0] > 1e-6:
                break
            theta = 0.7 * theta
        return lent

    def _points(self, lent: Lent) -> Iterator[tuple[int, float, float, Any]]:
        """Some per row and side: near the minima of what is convex, less the tilt."""
        bounds, n, m, own = self.bounds, self.program.n, self.program.m, self.program.fit_intercept
        loss = RowLoss(self.c, self.spans.low, self.spans.high, lent.theta)
        A = np.vstack((bounds.rows, np.ones((int(own), n)))).T
        at, center = np.append(self.w, [self.b] * own), np.append(np.zeros(m), [lent.middle] * own)
        bend, p = np.append(bounds.own, [lent.eta] * own), self.program.F.p

        def tilted(v: Any, x: Any, tau: float) -> tuple[float, Any]:
            value, slope, _ = loss.at(A @ v - bounds.target)
            total = p @ value + 0.5 * bend @ np.square(v - center) - tau * (x @ v)
            return total, (p * slope) @ A + bend * (v - center) - tau * x

        for i in range(n + own):
            x = A[i] if i < n else np.eye(m + 1)[-1]
            for tau in self.level / self.c * TILTS:
                v = minimize(tilted, at, (x, tau), jac=True, options={"maxiter": 10}).x
                v *= 1.0 + self.rng.choice([0.0, 0.0, 1e-3, 0.1]) * self.rng.normal(size=len(v))
                w = v[:m].astype(np.float32).astype(float)
                yield i, float(tau), float(v[m]) if own else 0.0, w
