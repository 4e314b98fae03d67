"""Spans: where the residuals of all models lie whose objective is at most a level.

Let phi be a lower bound of the objective less tau (x_i.w + b), over all models with an intercept in
some range: the bound of `bounds.rows` with another gradient, at any point. Models up to the level
have tau (x_i.w + b) <= level - phi. That is an upper end of row i's residual where tau > 0, and a
lower one where tau < 0. Narrower spans make the losses of rows in doubt higher, and that makes the
next spans narrower: a round proves many ends from the spans before it. Ends are stated, and proved
to hold: so spans are the same numbers for everyone who proves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.bounds.many import States
from sparsebounds.bounds.row_loss import Lent, Spans
from sparsebounds.bounds.row_tangents import Tilt
from sparsebounds.bounds.rows import RowBounds

AT_ONCE = 1 << 16
"""Residuals at a time: about as many as a cache holds."""

MARGIN = 1e-9
"""What stated ends leave to spare, relative to their size and c."""


@dataclass(frozen=True, eq=False)
class Round:
    """Points that prove ends of spans, and what is lent at all of them."""

    lent: Lent
    row: Index
    """The row of each end; n stands for the intercept."""

    tau: Vector
    """Above 0 for upper ends, below 0 for lower ones."""

    W: Vector
    b: Vector
    """The points, one row of W each."""

    end: Vector
    """The ends as they are stated: of residuals, or of the intercept."""

    def stated(self, end: Vector, c: float) -> Round:
        """The same, with ends that are proved and a little to spare."""
        return replace(self, end=end + np.sign(self.tau) * MARGIN * (np.abs(end) + c))

    def part(self, chosen: Mask) -> Round:
        """Some of the ends."""
        held = {name: value[chosen] for name, value in vars(self).items() if name != "lent"}
        return replace(self, **held)


def proved_ends(bounds: RowBounds, state: States, round_: Round, level: float) -> Vector:
    """The end of each row's residual (or of the intercept) that a round proves; infinite if none.

    All models of a node with an objective of at most `level` are on its inner side: of a node
    without any model, every end is proved.
    """
    if bounds.empty(state):
        return np.where(round_.tau > 0.0, -np.inf, np.inf)
    count = len(round_.row)
    target = np.append(bounds.target, 0.0)[round_.row]
    side = np.sign(round_.tau)
    ends = side * np.inf
    step = max(1, AT_ONCE // bounds.program.n)
    for first in range(0, count, step):
        some = slice(first, first + step)
        tilt = Tilt(round_.row[some], round_.tau[some])
        phi = bounds.bounds(state, round_.W[some], round_.b[some], round_.lent, tilt)
        with np.errstate(over="ignore", invalid="ignore"):
            end = (level - phi) / round_.tau[some]
            size = (abs(level) + np.abs(phi)) / np.abs(round_.tau[some]) + np.abs(target[some])
            end = end - target[some] + side[some] * 2.0**-48 * size
        ends[some] = np.where(np.isnan(end) | np.isinf(phi), side[some] * np.inf, end)
    return ends


def narrowed(spans: Spans, round_: Round) -> Spans:
    """The spans after a round."""
    low, high = np.append(spans.low, spans.range[0]), np.append(spans.high, spans.range[1])
    upper, n = round_.tau > 0.0, len(spans.low)
    np.minimum.at(high, round_.row[upper], round_.end[upper])
    np.maximum.at(low, round_.row[~upper], round_.end[~upper])
    return Spans(spans.scope, low[:n], high[:n], (float(low[n]), float(high[n])))


def with_rounds(
    bounds: RowBounds, scope: States, rounds: Iterable[Round], level: float
) -> RowBounds | None:
    """The same bounds with the spans that rounds state of a node; None if one is not proved."""
    spans = Spans.nothing(scope, bounds.program.n)
    for round_ in rounds:
        proved = proved_ends(bounds.with_spans(*bounds.spans, spans), scope, round_, level)
        if not np.all(np.where(round_.tau > 0.0, proved <= round_.end, proved >= round_.end)):
            return None
        spans = narrowed(spans, round_)
    return bounds.with_spans(*bounds.spans, spans)
