"""Lower bounds with one feature forced in, or forced out: all features in one go.

From one dual point, for each open feature i, a bound over supports that hold i and one over
supports that do not. The gain of the best support changes by one exchange: with q_[c] the
worst gain taken and q_[c+1] the best left out,

    force i in:   G                       if i is taken,  G - q_[c] + q_i    else  (k forms)
    force i out:  G - q_i + q_[c+1]       if i is taken,  G                  else

in the l0 forms nothing is exchanged: G + min(0, q_i - l0_i) and G - max(0, q_i - l0_i). The
ball forms compare square roots of such sums, which is sharper than fixing eta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import U, down, sum_up, up
from sparsebounds.bounds.dual import GRAIN, WIDER, DualPoint, floor, lowered
from sparsebounds.bounds.lower import (
    ball_eta,
    eta_slip,
    one_price,
    prefix_gains_up,
    ridge_gains,
    squares_up,
)
from sparsebounds.bounds.node import ROOT, Node
from sparsebounds.program import Program

TABLE = 20_000_000
"""Largest feature x cardinality table for the direct rule of l0 + ball."""


@dataclass(frozen=True)
class ForcedBounds:
    """Bounds for each open feature: over supports that hold it, and that do not."""

    features: Index
    inside: Vector
    outside: Vector
    quadratic: Vector
    """`inside` at a fixed curvature, which leaves curvature/2 |w_i - center_i|^2 to spare."""

    curvature: Vector
    """That curvature, one number per column: ridge_i, or the multiplier eta of the ball."""


def forced_bounds(
    program: Program, point: DualPoint, node: Node = ROOT, *, claim: bool = False
) -> ForcedBounds:
    """The bounds at this dual point for the open features of the node.

    With `claim`, the point is a `widened` one, and the bounds allow for another eta.
    """
    mandatory, chosen = node.masks(program)
    features = np.flatnonzero(chosen)
    budget = node.counts(program, len(features))[1] if program.l0 is None else None
    with np.errstate(over="ignore", invalid="ignore"):
        eta, squares = 1.0, np.zeros(0)
        if program.ball is not None:
            squares = squares_up(point.reach, program.groups)
            eta = ball_eta(program, squares, mandatory, chosen, budget)
        ridges = program.ridges if program.ball is None else np.full(program.m, eta)
        gains = ridge_gains(program, point, ridges)
        base = sum_up(gains[mandatory])
        if program.ball is not None:
            base = up(base + up(0.5 * up(eta * program.ball)))
        into, out = _exchange(base, gains[chosen], budget)
        quadratic = into
        if claim and program.ball is not None:
            # Other last digits make scores and eta no larger. That lowers the gain of the best
            # support, of which eta is the minimiser, with or without a feature. It raises what a
            # feature gains that is not worth its price: up to that price, at most.
            more = squares[chosen] / (2.0 * eta) * eta_slip(program, point, eta, node)
            into = up(into + np.minimum(more, np.maximum(-gains[chosen], 0.0)))
            into, out = (up(gain + 2.0**-43 * eta * program.ball) for gain in (into, out))
        if program.ball is not None:
            direct = _direct(program, squares, mandatory, chosen, budget)
            into, out = (np.minimum(a, b) for a, b in zip((into, out), direct, strict=True))
    return ForcedBounds(
        features,
        np.maximum(_bound(point, into), floor(program)),
        np.maximum(_bound(point, out), floor(program)),
        _bound(point, quadratic),
        ridges,
    )


def forced_claims(
    program: Program, wide: DualPoint, node: Node = ROOT
) -> tuple[Index, Vector, Vector]:
    """(features, inside, outside) as a certificate may claim them, ceilings included.

    `wide` is the dual point as `widened` returns it.
    """
    forced, least = forced_bounds(program, wide, node, claim=True), floor(program, WIDER)
    slack = GRAIN * abs(wide.conjugate)
    inside, outside = (
        np.fmax(lowered(bound) - slack, least)
        for bound in (
            np.minimum(forced.inside, wide.ceiling),
            np.minimum(forced.outside, wide.ceiling),
        )
    )
    return forced.features, inside, outside


def _bound(point: DualPoint, gain: Vector) -> Vector:
    bound = np.where(np.isneginf(gain), math.inf, down(-point.conjugate - gain))
    return np.where(np.isnan(bound), -math.inf, bound)


def _exchange(base: float, gains: Vector, budget: int | None) -> tuple[Vector, Vector]:
    """Gains of the best support with each feature forced in, and forced out, rounded up.

    `budget` None: every positive gain is taken (l0 forms); otherwise the `budget` best.
    """
    if budget is not None and budget <= 0:
        # Nothing more may be taken: forcing a feature in leaves no support.
        return np.full(len(gains), -math.inf), np.full(len(gains), up(base))
    if budget is None:
        taken = np.flatnonzero(gains > 0)
    elif budget >= len(gains):
        taken = np.arange(len(gains))
    else:
        order = np.argpartition(-gains, (budget - 1, budget))
        taken = order[:budget]
    total = up(base + sum_up(gains[taken]))
    others = up(base + _sums_without_each(gains[taken]))
    into, out = np.full(len(gains), total), np.full(len(gains), total)
    if budget is None:
        into = up(total + np.minimum(gains, 0.0))
        out[taken] = others
    elif budget >= len(gains):
        out = others
    else:
        # The worst one taken makes room; the best one left out steps in.
        into = up(others[-1] + gains)
        into[taken] = total
        out[taken] = up(others + gains[order[budget]])
    return into, out


def _sums_without_each(gains: Vector) -> Vector:
    """For each of some nonnegative gains, the sum of the others, rounded up, no cancellation."""
    before = np.concatenate(([0.0], np.cumsum(gains)[:-1]))
    after = np.concatenate((np.cumsum(gains[::-1])[:-1][::-1], [0.0]))
    return up(up(before + after) * (1.0 + 2.0 * U * (len(gains) + 2.0)))


def _direct(
    program: Program, squares: Vector, mandatory: Mask, chosen: Mask, budget: int | None
) -> tuple[Vector, Vector]:
    """The same in the ball forms without fixing eta: square roots of exchanged sums."""
    assert program.ball is not None
    base, q = sum_up(squares[mandatory]), squares[chosen]
    if budget is not None:
        into, out = _exchange(base, q, budget)
        return _root_up(program.ball, into), _root_up(program.ball, out)
    price = one_price(program)
    if price is None or price == 0.0 or len(q) == 0:
        return np.full(len(q), math.inf), np.full(len(q), math.inf)
    paid = down(price * (np.arange(len(q) + 2) + np.count_nonzero(mandatory & program.free)))
    curve = up(prefix_gains_up(program, base, q) - paid[:-1])
    peak = int(np.argmax(curve))
    into, out = np.full(len(q), curve[peak]), np.full(len(q), curve[peak])
    order = np.argsort(-q, kind="stable")

    # Forced in: max_j sqrt(ball (base + q_i + S_j)) - l0 (j + 1). S_j may count i twice, which
    # only weakens the bound. Increments of a square root fall as its argument grows, so once
    # `curve` (the same without i) has clearly begun to fall, no later j is the maximum.
    clearly = 1e-9 * (abs(curve[peak]) + paid[peak]) + 1e-300  # beyond the rounding of both terms
    fallen = np.flatnonzero(curve[peak:] < curve[peak] - clearly)
    last = peak + int(fallen[0]) if len(fallen) else len(q)
    if last * len(q) <= TABLE:
        into = np.full(len(q), -math.inf)
        best: Vector = np.concatenate(([0.0], np.cumsum(q[order[:last]])))
        best = up(up(best * (1.0 + 2.0 * U * (last + 2.0))) + base)
        for j in range(last):
            into = np.maximum(into, up(_root_up(program.ball, up(best[j] + q)) - paid[j + 1]))

    # Forced out: only a feature among the best `peak` changes anything.
    if peak * len(q) <= TABLE:
        for i in order[:peak]:
            gains = prefix_gains_up(program, base, np.delete(q, i))
            out[i] = np.max(up(gains - paid[: len(q)]))
    return into, out


def _root_up(ball: float, total: Vector) -> Vector:
    """sqrt(ball * total) rounded up; -inf (no support) stays."""
    root = up(np.sqrt(up(ball * np.maximum(total, 0.0))))
    return np.where(np.isneginf(total), total, root)
