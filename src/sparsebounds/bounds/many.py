"""The lower bound at many dual points, each over a node of its own: the proof of a search tree.

The same bounds as `bound_at` and `forced_bounds`, in products of matrices, for the ridge forms.
Roundings of single operations are covered by inflating results by a few 2^-40, far more than they
amount to and far less than any tolerance; sums and inner products by their own bounds g_n.
The ball forms go one by one. Bounds below the least loss are raised to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.rounding import TINY, gamma, row_norms_up
from sparsebounds.bounds.dual import (
    GRAIN,
    WIDER,
    charged_conjugate,
    dual_point_at,
    floor,
    lowered,
    widened,
)
from sparsebounds.bounds.forcing import forced_bounds, forced_claims
from sparsebounds.bounds.lower import bound_at, claim_at
from sparsebounds.bounds.node import Node
from sparsebounds.losses import ULPS
from sparsebounds.program import Program

States = npt.NDArray[np.int8]
"""+1: in, -1: out, 0: open; one row per node, one number per feature. Always-in features are in."""

TOGETHER = 1 << 22
"""Numbers in one matrix of vectors, of all rows, for many nodes: 32 MiB."""

MORE = 1.0 + 2.0**-40


def together(program: Program, most: int) -> int:
    """How many nodes to bound at a time, `most` at most: as memory for all rows allows.

    Next to a tall matrix their vectors are to be few.
    """
    room = min(TOGETHER // program.n, program.m // 32 if program.matrix.tall else most)
    return max(1, min(most, room))


@dataclass(frozen=True)
class NodeBounds:
    """Bounds of nodes, and of what remains of them with one open feature forced in, or out."""

    lower: Vector
    inside: Vector
    """Over the supports of the node that hold the feature; one row per node."""

    outside: Vector
    """Over those that do not."""


def node_bounds(
    program: Program, t: Vector, state: States, slip: Vector | None = None
) -> NodeBounds:
    """Bounds at the dual vectors per sample t (rows, in the domain), over the nodes `state`.

    With `slip`, which bounds what t may be off by elsewhere: what a certificate may claim.
    """
    if program.ball is not None:
        return _one_by_one(program, t, state, slip)
    conjugate, ceiling = charged_conjugates(program, t, slip)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = _gains(program, t, slip)
        opened = (state == 0) & program.groups.lead
        room = np.full(len(t), program.m)
        if program.k is not None:
            room = program.k - np.count_nonzero((state > 0) & program.free, axis=1)
        # Of one sign or not, a sum of m terms errs by at most g_m times their absolute sum.
        held = np.where(state > 0, high, 0.0)
        slack = 2.0 * gamma(program.m + 8) * np.sum(np.abs(held), axis=1)
        base = np.sum(held, axis=1) + slack
        best, last, first = _best(
            np.where(opened, high, -np.inf), np.where(opened, low, -np.inf), room
        )
        gain = (base + best)[:, None]
        # What forcing changes: the worst feature taken makes room, the best one left steps in.
        into = gain + np.minimum(high - last[:, None], 0.0)
        out = gain - np.maximum(low - first[:, None], 0.0)
        into[room <= 0] = -np.inf
        size = np.abs(conjugate)[:, None] + np.abs(base)[:, None] + best[:, None]
        wide = 2.0**-40 * size + TINY
        if slip is not None:
            wide += (GRAIN + 2.0 * gamma(program.m + 8)) * size
        bounds = [-conjugate[:, None] - total - wide for total in (gain, into, out)]
    least = floor(program, 1.0 if slip is None else WIDER)
    if slip is not None:
        ceiling = lowered(ceiling)
    lower, inside, outside = (
        np.maximum(np.minimum(np.where(np.isnan(bound), -np.inf, bound), ceiling[:, None]), least)
        for bound in bounds
    )
    empty = np.where(room < 0, np.inf, lower[:, 0])
    return NodeBounds(empty, np.where(opened, inside, np.nan), np.where(opened, outside, np.nan))


def charged_conjugates(
    program: Program, t: Vector, slip: Vector | None = None
) -> tuple[Vector, Vector]:
    """`charged_conjugate` for every row of t; without an intercept, by plain sums."""
    if program.fit_intercept:
        slips = [None] * len(t) if slip is None else slip
        wider = 1.0 if slip is None else WIDER
        heads = [
            charged_conjugate(program, row, wider, own) for row, own in zip(t, slips, strict=True)
        ]
        return np.array([head[0] for head in heads]), np.array([head[1] for head in heads])
    loss, y = program.loss, program.y
    if not np.array_equal(loss.clip(y, t), t):
        raise ValueError("A dual vector is outside the domain of the conjugate; repair it first.")
    wider = 1.0 if slip is None else WIDER
    ends = [t] if slip is None else [loss.clip(y, t - slip), loss.clip(y, t + slip)]
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.maximum.reduce([_conjugate(program, end) for end in ends])
        size = np.maximum.reduce([loss.conjugate_terms(y, end) for end in ends])
        if program.offset is not None:
            size = size + np.maximum.reduce([np.abs(end * program.offset) for end in ends])
        # ULPS and a few more roundings per term, then those of an inner product; twice, because
        # the scale itself is rounded.
        total = value @ program.weights / program.mass
        scale = (np.abs(value) + size) @ program.weights / program.mass
        total = total + wider * 2.0 * gamma(program.n + ULPS + 16) * scale
        total = total + wider * (2.0 * ULPS + program.n / program.mass) * TINY
    return np.where(np.isnan(total), np.inf, total), np.full(len(t), np.inf)


def _conjugate(program: Program, t: Vector) -> Vector:
    """loss*(y_i, t_i) - t_i o_i."""
    value: Vector = program.loss.conjugate(program.y, t)
    return value if program.offset is None else value - t * program.offset


def _gains(program: Program, t: Vector, slip: Vector | None) -> tuple[Vector, Vector]:
    """Floats at most and at least reach_j^2 / (2 ridge_j) - l0_j, one row per dual vector."""
    matrix, weighted = program.matrix, program.weights * t
    mass, underflow = program.mass, program.n * TINY
    scores = matrix.scores_many(weighted) / mass
    sizes = row_norms_up(weighted) + underflow
    # As in `dual_point_at`: the inner products, the products s_i t_i, the quotient.
    radius = matrix.score_radius_many(weighted) + 2.0**-51 * sizes[:, None] * matrix.norms
    radius = (radius + matrix.norms * underflow) / mass * MORE + 2.0**-50 * np.abs(scores) + TINY
    if slip is not None:
        moved = row_norms_up(program.weights * slip) / mass * MORE
        radius = WIDER * radius + moved[:, None] * matrix.norms
    signed = np.where(program.positive, -scores, np.abs(scores))
    far, near = np.maximum(signed + radius, 0.0), np.maximum(signed - radius, 0.0)
    high, low = (
        program.groups.gather(np.square(size) / (2.0 * program.ridges)) for size in (far, near)
    )
    if not program.groups.single:
        high *= 1.0 + 2.0 * gamma(program.groups.largest + 8)
        low *= 1.0 - 2.0 * gamma(program.groups.largest + 8)
    slack = 2.0**-45 * (high + program.prices) + TINY
    high = np.where(np.isnan(high), np.inf, high)
    return np.where(np.isnan(low), 0.0, low) - program.prices - slack, high - program.prices + slack


def _best(high: Vector, low: Vector, room: Index) -> tuple[Vector, Vector, Vector]:
    """For each row three floats: at least the sum of its `room` largest positive gains; at most the
    smallest gain taken; at least the largest one left out. Both of these are 0 where room is left.
    """
    positive = np.maximum(high, 0.0)
    best = np.sum(positive, axis=1)
    last, first = np.zeros(len(room)), np.zeros(len(room))
    for row in np.flatnonzero(room < np.count_nonzero(positive > 0.0, axis=1)):
        count = max(int(room[row]), 0)
        if count == 0:
            best[row], first[row] = 0.0, np.max(positive[row])
            continue
        ordered = np.partition(positive[row], (-count - 1, -count))
        best[row], first[row] = np.sum(ordered[-count:]), ordered[-count - 1]
        last[row] = max(0.0, float(np.partition(low[row], -count)[-count]))
    return best * (1.0 + 2.0 * gamma(high.shape[1] + 8)), last, first


def _one_by_one(program: Program, t: Vector, state: States, slip: Vector | None) -> NodeBounds:
    lower = np.empty(len(t))
    inside, outside = np.full(state.shape, np.nan), np.full(state.shape, np.nan)
    for i, row in enumerate(t):
        point = dual_point_at(program, row)
        chosen = np.flatnonzero((state[i] > 0) & program.free)
        node = Node(chosen, np.flatnonzero((state[i] < 0) & program.free))
        if slip is None:
            lower[i] = bound_at(program, point, node)
            forced = forced_bounds(program, point, node)
            inside[i, forced.features] = np.minimum(forced.inside, point.ceiling)
            outside[i, forced.features] = np.minimum(forced.outside, point.ceiling)
            continue
        wide = widened(program, point, slip[i])
        lower[i] = claim_at(program, wide, node)
        features, into, out = forced_claims(program, wide, node)
        inside[i, features], outside[i, features] = into, out
    return NodeBounds(lower, inside, outside)
