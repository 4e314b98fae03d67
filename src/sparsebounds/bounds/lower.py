"""The lower bound at a dual point, for each form and any node.

With reach_j >= |x_j.a| the bound is -F*(a) - G, where G is the largest gain of a support (q of a
group is the sum over its features, and stands at the first one):

    k + ridge    sum of the best q_j,               q_j = reach_j^2 / (2 ridge_j)
    l0 + ridge   sum of the best q_j - l0_j
    k + ball     sqrt(ball * sum of the best q_j),  q_j = reach_j^2
    l0 + ball    max_j sqrt(ball * S_j) - l0 j                          (one price)
                 min_eta eta ball/2 + sum of the best q_j/(2 eta) - l0_j     (several)

Mandatory features (always in, or in the node) are taken whatever their gain; of the open
ones, as many of the best as the node's counts allow. Everything is rounded so that the
result is at most the exact dual value. Where that is below the least loss, the least loss is the
bound: the dual vector 0 proves it of any supports.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.rounding import LONG, U, down, in_parts, norm_up, sum_up, up
from sparsebounds.bounds.dual import GRAIN, WIDER, DualPoint, floor, lowered
from sparsebounds.bounds.node import ROOT, Node
from sparsebounds.penalties import SINGLE, Groups, best_eta, budget_eta, level_set
from sparsebounds.program import Program


def bound_at(
    program: Program, point: DualPoint, node: Node = ROOT, *, lagrangian: bool = False
) -> float:
    """A proved lower bound over the supports of the node.

    Parameters
    ----------
    program : Program
        The sparse program.
    point : DualPoint
        What `dual_point` made of a dual vector.
    node : Node, default ROOT
        The supports.
    lagrangian : bool, default False
        Ask for the value of the dual function itself, whose maximum is p**; in the form l0 + ball
        the bound proved by counting features one by one can exceed it.

    Returns
    -------
    float
        The bound; inf where the node is empty.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, program.F.gradient(np.zeros(3)))
    >>> without = sb.bounds.Node(outside=np.array([0]))
    >>> bounds = [sb.bounds.bound_at(program, point, node) for node in (sb.bounds.ROOT, without)]
    >>> print([round(bound, 3) for bound in bounds])
    [1.833, 2.111]
    """
    mandatory, chosen = node.masks(program)
    low, high = node.counts(program, int(np.count_nonzero(chosen)))
    if low > high:
        return math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        price = None if lagrangian else one_price(program)
        gain = _largest_gain(program, point, mandatory, chosen, low, high, price)
        bound = down(-point.conjugate - gain)
    bound = -math.inf if math.isnan(bound) else min(float(bound), point.ceiling)
    return bound if lagrangian else max(bound, floor(program))


def claim_at(program: Program, wide: DualPoint, node: Node = ROOT) -> float:
    """What a certificate claims of a node: `bound_at`, less what another order of sums can take.

    Parameters
    ----------
    program : Program
        The sparse program.
    wide : DualPoint
        As `widened` returns it.
    node : Node, default ROOT
        The supports.

    Returns
    -------
    float
        A little less than `bound_at`.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, -0.25 * program.y)
    >>> claim = sb.bounds.claim_at(program, sb.bounds.widened(program, point))
    >>> 0.0 < sb.bounds.bound_at(program, point) - claim < 1e-12
    True
    """
    bound = bound_at(program, wide, node)
    if math.isinf(bound):
        return bound
    return max(float(lowered(bound)) - GRAIN * abs(wide.conjugate), floor(program, WIDER))


def one_price(program: Program) -> float | None:
    """The price l0 where all free features have the same one, else None."""
    if program.l0 is None:
        return None
    if isinstance(program.l0, float):
        return program.l0
    prices = program.prices[program.free]
    if prices.size == 0 or np.all(prices == prices[0]):
        return float(prices[0]) if prices.size else 0.0
    return None


def squares_up(reach: Vector, groups: Groups = SINGLE) -> Vector:
    """reach^2 of each group, rounded up."""
    squares: Vector = reach * reach
    return gathered_up(up(squares), groups)


def gathered_up(values: Vector, groups: Groups) -> Vector:
    """Sums of values >= 0 over groups, rounded up."""
    return values if groups.single else groups.placed(_sums_up(values, groups))


def _sums_up(values: Vector, groups: Groups) -> Vector:
    if groups.single:
        return values
    total: Vector = groups.sums(values) * (1.0 + 2.0 * U * (groups.largest + 2.0))
    return up(total)


def ridge_gains(program: Program, point: DualPoint, ridges: Vector) -> Vector:
    """q_j - l0_j with q_j = reach_j^2 / (2 ridge_j), rounded up (l0_j = 0 in the k forms)."""
    return _ridge_gains(point.reach, ridges, program.prices, program.groups)


def unpriced_gains(program: Program, point: DualPoint) -> Vector:
    """The q_j of each group alone, in the order of their leaders, rounded up."""
    return up(_quotients(point.reach, program.ridges, program.groups))


def _ridge_gains(reach: Vector, ridges: Vector, prices: Vector, groups: Groups) -> Vector:
    return groups.placed(up(_quotients(reach, ridges, groups) - groups.led(prices)))


def _quotients(reach: Vector, ridges: Vector, groups: Groups) -> Vector:
    def quotients(reach: Vector, ridges: Vector) -> Vector:
        # The half is taken of the squares: twice a ridge may overflow.
        return up(up(0.5 * up(reach * reach)) / ridges)

    return _sums_up(in_parts(quotients, reach, ridges), groups)


def best_sum_up(gains: Vector, low: int, high: int) -> float:
    """A float at least the largest sum of low to high of the gains."""
    count = min(max(int(np.count_nonzero(gains > 0)), low), high)
    if count == 0:
        return 0.0
    if count < len(gains):
        gains = np.partition(gains, len(gains) - count)[len(gains) - count :]
    return sum_up(gains)


def prefix_gains_up(program: Program, base: float, gains: Vector) -> Vector:
    """For j = 0, 1, ...: a float at least the gain of the best j open features, prices aside.

    base + S_j in the ridge forms, sqrt(ball (base + S_j)) in the ball forms.
    """
    best = np.concatenate(([0.0], np.cumsum(np.sort(gains)[::-1])))
    # A running sum of j terms errs by at most g_j <= 2 j u relatively: all terms are >= 0.
    sums: Vector = up(up(best * (1.0 + 2.0 * U * (np.arange(len(best)) + 2.0))) + base)
    if program.ball is None:
        return sums
    roots: Vector = np.sqrt(up(program.ball * sums))
    return up(roots)


def eta_slip(program: Program, point: DualPoint, eta: float, node: Node = ROOT) -> float:
    """About how far, relatively, eta may be from what other last digits of the scores give.

    ball eta^2 is the sum of the squared scores taken. Scores taken at any eta, those of features
    without a choice or a price, move it by what they are off by next to that sum, together. Others
    are taken up to eta = q/(2 price), and that moves by what the score itself is off by.
    """
    groups, size = program.groups, math.sqrt(program.ball or 0.0) * eta
    reach, radius = groups.lengths(point.reach), groups.lengths(point.radius)
    q = np.square(reach)
    mandatory, chosen = node.masks(program)
    matter = mandatory | (chosen & (q > 0.0) & (q >= eta * program.prices))
    if program.k is not None:
        size = norm_up(reach[matter])
    priced = chosen & (program.prices > 0.0) & matter
    share = norm_up(radius[matter & ~priced]) / max(size, 1e-300)
    own = radius[priced] / reach[priced]
    return 2.0**-44 + 2.0 * float(np.max(own, initial=share))


def _largest_gain(
    program: Program,
    point: DualPoint,
    mandatory: Mask,
    chosen: Mask,
    low: int,
    high: int,
    price: float | None,
) -> float:
    few = _gainers(program, point.reach, mandatory, chosen, high if program.l0 is None else low)
    groups = program.groups.part(few)
    if program.ball is None:
        gains = _ridge_gains(point.reach[few], program.ridges[few], program.prices[few], groups)
        return up(sum_up(gains[mandatory[few]]) + best_sum_up(gains[chosen[few]], low, high))
    if program.l0 is None:
        squares = squares_up(point.reach[few], groups)
        best = best_sum_up(squares[chosen[few]], low, high)
        return up(math.sqrt(up(program.ball * up(sum_up(squares[mandatory[few]]) + best))))
    squares = squares_up(point.reach, program.groups)
    if price is not None:
        gains = prefix_gains_up(program, sum_up(squares[mandatory]), squares[chosen])
        paid = down(price * (np.arange(low, high + 1) + np.count_nonzero(mandatory & program.free)))
        return float(np.max(up(gains[low : high + 1] - paid)))
    # A little more: at a price, rounding up would find a gain where there is none.
    eta = ball_eta(program, squares, mandatory, chosen, None) * (1.0 + 2.0**-40)
    gains = ridge_gains(program, point, np.full(program.m, eta))
    best = up(sum_up(gains[mandatory]) + best_sum_up(gains[chosen], low, high))
    return up(best + up(0.5 * up(eta * program.ball)))


def ball_eta(
    program: Program, squares: Vector, mandatory: Mask, chosen: Mask, budget: int | None
) -> float:
    """The multiplier of the ball at a dual point (any positive number is valid).

    `squares` are those of the reach. A budget stands in for the prices.
    """
    assert program.ball is not None
    base = float(np.sum(squares[mandatory]))
    if budget is None:
        return best_eta(squares[chosen], program.prices[chosen], base, program.ball)
    return budget_eta(squares[chosen], budget, base, program.ball)


def _gainers(
    program: Program, reach: Vector, mandatory: Mask, chosen: Mask, count: int
) -> Index | slice:
    """Features that a best support may hold: of very many, those worth a closer look.

    Where one price and one ridge are asked of all, gains grow with reach, or its length, and so the
    best `count` are among the largest; others matter only if they gain more than their price. What
    is left out would have gained nothing, or has reach 0.
    """
    groups = program.groups
    alike = not isinstance(program.ridge, np.ndarray) and not isinstance(program.l0, np.ndarray)
    if len(reach) <= LONG or not alike or (program.l0 is not None and program.ball is not None):
        return slice(None)
    with np.errstate(under="ignore"):
        length = groups.norms(reach)
    # Squares that overflow or underflow say nothing.
    if not groups.single and not np.all((length == 0.0) | ((length > 1e-150) & (length < 1e150))):
        return slice(None)
    few, least = level_set(length, count + int(np.count_nonzero(~groups.led(chosen))))
    if program.l0 is not None:
        assert program.ridge is not None
        price = math.sqrt(2.0 * program.l0) * math.sqrt(program.ridge)
        least = min(least, price) if count else price
    if program.l0 is not None or not groups.single:
        # Lengths are rounded: groups that are as good as tied are taken too.
        few = length > (1.0 - 1e-9) * least
    some = groups.first(np.flatnonzero(few))
    return groups.whole(np.union1d(some, np.flatnonzero(mandatory)) if mandatory.any() else some)
