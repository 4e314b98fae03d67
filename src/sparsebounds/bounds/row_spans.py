"""Spans: where the residuals of all models lie whose objective is at most a level.

Let phi be a lower bound of the objective less tau (x_i.w + b), over all models with an intercept in
some range: the bound of `bounds.rows` with another gradient, at any point. Models up to the level
have tau (x_i.w + b) <= level - phi. That is an upper end of row i's residual where tau > 0, and a
lower one where tau < 0. Narrower spans make the losses of rows in doubt higher, and that makes the
next spans narrower: a round proves many ends from the spans before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds.many import States
from sparsebounds.bounds.row_loss import Lent, Spans
from sparsebounds.bounds.rows import RowBounds, Tilt

AT_ONCE = 1 << 16
"""Residuals at a time: about as many as a cache holds."""

MARGIN = 2.0**-36
"""What ends of claims leave in addition: whoever verifies then has narrower spans."""


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

    def part(self, chosen: Index) -> Round:
        """Some of the ends."""
        return Round(self.lent, self.row[chosen], self.tau[chosen], self.W[chosen], self.b[chosen])


def root_state(bounds: RowBounds) -> States:
    """The node of all models."""
    state: States = np.zeros(bounds.switches.count, dtype=np.int8)
    state[: bounds.program.m][bounds.program.always] = 1
    return state


def proved_ends(bounds: RowBounds, round_: Round, level: float) -> Vector:
    """The end of each row's residual (or of the intercept) that a round proves; infinite if none.

    All models with an objective of at most `level` and an intercept in the range of the spans that
    `bounds` have are on its inner side.
    """
    program, state = bounds.program, root_state(bounds)
    inner, count = _scoped(bounds), len(round_.row)
    target = np.append(bounds.target, 0.0)[round_.row]
    side = np.sign(round_.tau)
    ends = side * np.inf
    step = max(1, AT_ONCE // program.n)
    for first in range(0, count, step):
        some = slice(first, first + step)
        tilt = Tilt(round_.row[some], round_.tau[some])
        phi = inner.bounds(state, round_.W[some], round_.b[some], round_.lent, tilt)
        with np.errstate(over="ignore", invalid="ignore"):
            end = (level - phi) / round_.tau[some]
            size = (abs(level) + np.abs(phi)) / np.abs(round_.tau[some]) + np.abs(target[some])
            end = end - target[some] + side[some] * 2.0**-48 * size
            if bounds.claim:
                end = end + side[some] * MARGIN * (np.abs(end) + bounds.c)
        ends[some] = np.where(np.isnan(end) | np.isinf(phi), side[some] * np.inf, end)
    return ends


def narrowed(bounds: RowBounds, round_: Round, ends: Vector) -> Spans:
    """The spans after a round with these ends."""
    spans, n = bounds.spans, bounds.program.n
    low, high = np.append(spans.low, spans.range[0]), np.append(spans.high, spans.range[1])
    upper = round_.tau > 0.0
    np.minimum.at(high, round_.row[upper], ends[upper])
    np.maximum.at(low, round_.row[~upper], ends[~upper])
    return Spans(low[:n], high[:n], (float(low[n]), float(high[n])), spans.within)


def spans_of(
    bounds: RowBounds, within: tuple[float, float], rounds: Sequence[Round], level: float
) -> RowBounds:
    """The same bounds with the spans that these rounds prove of intercepts `within` a range."""
    first, last = bounds.outer[0]
    within = max(first, within[0]), min(last, within[1])
    bounds = bounds.with_spans(Spans.nothing(bounds.program.n, within))
    for round_ in rounds:
        ends = proved_ends(bounds, round_, level)
        bounds = bounds.with_spans(narrowed(bounds, round_, ends))
    return bounds


def _scoped(bounds: RowBounds) -> RowBounds:
    """Bounds whose root has the intercepts that spans speak of."""
    other = bounds.with_spans(bounds.spans)
    other.outer = bounds.spans.within, bounds.outer[1]
    return other
