"""Cardinality is an integer: a better bound from several dual vectors.

A support has exactly j counted features for one integer j, and the best dual vector may
differ with j. With one price l0 for all,

    lower = min_j max_a [ -F*(a) - R_j(a) + l0 j ],

R_j(a) the gain of the best j features (S_j / (2 ridge) or sqrt(ball S_j)). This is never
below, and often above, the best Lagrangian bound max_a min_j. In the k forms, and with
several prices, the best single vector is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import down, sum_up
from sparsebounds.bounds.dual import DualPoint, floor
from sparsebounds.bounds.lower import (
    bound_at,
    one_price,
    prefix_gains_up,
    squares_up,
    unpriced_gains,
)
from sparsebounds.bounds.node import ROOT, Node
from sparsebounds.program import Program


@dataclass(frozen=True)
class Cover:
    """A lower bound and its proof: nodes that cover every support, each with a dual point.

    Attributes
    ----------
    lower : float
        The bound.
    nodes : tuple of Node
        Sets of supports that cover all.
    points : tuple of int
        For each node, the position of its dual point in the sequence given.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, program.F.gradient(np.zeros(3)))
    >>> sb.bounds.best_cover(program, [point]).points
    (0,)
    """

    lower: float
    nodes: tuple[Node, ...]
    points: tuple[int, ...]


def best_cover(program: Program, points: Sequence[DualPoint]) -> Cover:
    """The best bound that these dual points prove together.

    Parameters
    ----------
    program : Program
        The sparse program.
    points : list of DualPoint
        One or more.

    Returns
    -------
    Cover
        The bound, and which point proves it where.

    Notes
    -----
    With one price l0 it is min_j max_a [-F*(a) - R_j(a) + l0 j], j the number of features, and
    otherwise the bound of the best point.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], l0=0.6, ridge=1.0)
    >>> points = [sb.bounds.dual_point(program, -c * program.y) for c in (0.2, 0.3)]
    >>> cover = sb.bounds.best_cover(program, points)
    >>> [(node.low, node.high) for node in cover.nodes], cover.points
    ([(0, 2), (3, 3)], (1, 0))
    """
    if one_price(program) is None or len(points) == 1:
        bounds = [bound_at(program, point) for point in points]
        best = int(np.argmax(bounds))
        return Cover(bounds[best], (ROOT,), (best,))
    curves = np.stack([cardinality_curve(program, point) for point in points])
    winner = np.argmax(curves, axis=0)
    starts = np.flatnonzero(np.diff(winner, prepend=-1))
    ends = np.append(starts[1:] - 1, len(winner) - 1)
    nodes = tuple(Node(low=int(i), high=int(j)) for i, j in zip(starts, ends, strict=True))
    used = tuple(int(winner[start]) for start in starts)
    lower = min(bound_at(program, points[p], node) for p, node in zip(used, nodes, strict=True))
    return Cover(lower, nodes, used)


def fewest_ranges(curves: Vector) -> list[tuple[int, int, int]]:
    """The fewest ranges of columns, each with a row, that prove min_j max_i curves[i, j].

    Parameters
    ----------
    curves : array
        One row per dual point, one column per cardinality.

    Returns
    -------
    list of (first, last, row)
        All columns in order, the row at least that number on its range. From left to right the row
        that reaches furthest is taken, which no other choice can beat.

    Examples
    --------
    >>> sb.bounds.fewest_ranges(np.array([[3.0, 2.0, 0.0], [0.0, 2.0, 5.0]]))
    [(0, 1, 0), (2, 2, 1)]
    """
    reached = curves >= np.min(np.max(curves, axis=0))
    ranges, start, width = [], 0, curves.shape[1]
    while start < width:
        short = ~reached[:, start:]
        ends = np.where(short.any(axis=1), np.argmax(short, axis=1), width - start)
        row = int(np.argmax(ends))
        ranges.append((start, start + int(ends[row]) - 1, row))
        start += int(ends[row])
    return ranges


def cardinality_curve(program: Program, point: DualPoint) -> Vector:
    """For j = 0, 1, ..., a proved lower bound over supports of exactly j counted features.

    Parameters
    ----------
    program : Program
        The sparse program, with one price l0 for all free features.
    point : DualPoint
        What `dual_point` made of a dual vector.

    Returns
    -------
    array
        One bound per j.

    Raises
    ------
    ValueError
        Where there is no such price.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], l0=0.5, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, -0.25 * program.y)
    >>> sb.bounds.cardinality_curve(program, point).round(2).tolist()
    [2.19, 2.41, 2.78, 3.25]
    """
    price = one_price(program)
    if price is None:
        raise ValueError("The cardinality curve needs one price l0 for all free features.")
    with np.errstate(over="ignore", invalid="ignore"):
        free = _unpriced_curve(program, point)
        curve = down(free + down(price * np.arange(len(free))))
    return _bounded(program, point, curve)


def budget_curve(program: Program, point: DualPoint) -> Vector:
    """For k = 0, 1, ..., a proved lower bound with at most k counted features and no prices.

    Parameters
    ----------
    program : Program
        The sparse program.
    point : DualPoint
        What `dual_point` made of a dual vector.

    Returns
    -------
    array
        One bound per k: -F*(a) - R_k(a), R_k the gain of the best k features.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, -0.25 * program.y)
    >>> sb.bounds.budget_curve(program, point).round(2).tolist()
    [2.19, 1.91, 1.78, 1.75]
    """
    return _bounded(program, point, _unpriced_curve(program, point))


def _bounded(program: Program, point: DualPoint, curve: Vector) -> Vector:
    """The curve between the least loss and the point's ceiling."""
    curve = np.minimum(np.where(np.isnan(curve), -math.inf, curve), point.ceiling)
    return np.maximum(curve, floor(program))


def _unpriced_curve(program: Program, point: DualPoint) -> Vector:
    """-F*(a) - R_j(a), rounded down, for j = 0, 1, ..."""
    led = program.groups.led
    with np.errstate(over="ignore", invalid="ignore"):
        if program.ball is None:
            # Without its price: q_j = reach_j^2 / (2 ridge_j).
            gains = unpriced_gains(program, point)
        else:
            gains = led(squares_up(point.reach, program.groups))
        base = sum_up(gains[led(program.always)])
        gain = prefix_gains_up(program, base, gains[led(program.free)])
        curve: Vector = down(-point.conjugate - gain)
    return curve
