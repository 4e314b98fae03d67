"""What rounding fractional weights can cost, from ranks alone: the Shapley-Folkman numbers.

A vertex of the relaxed weights has at most as many fractional entries as there are independent
equations left. With r the rank of X and r_T that of the tied columns (0 < u < 1):

                                   the paper           here
    k forms      nonzeros, at p**      k + r + 2           k + r_T - 1 (k if nothing is tied)
    l0 forms     value                 p** + l0 (r + 1)    p** + l0 r_T

With prices l0_i that differ, l0 r stands for the sum of the r largest. For a loss with loss'' <= L
rounding at random costs only the second-order term, the first being 0 in the mean. With the norm
|z|^2 = sum_j p_j z_j^2 (of centred columns where there is an intercept) and S the fractional set,

    l0 + ridge   p - p** <= sum of r_T of the l0_i phi(L |x_i|^2/ridge_i)        one by one
                 phi(c) = c/4 for c <= 1, (c/(1 + c))^2 beyond: less than 1
    k forms      p(k) - p**(k) <= L D^2/4 sum_S u_i (1 - u_i)                    in pairs
                 D = max over S of |v_i x_i - v_j x_j|

In pairs, one weight up and one down, sum u stays; a step d of mean 0 adds at most L/2 D^2 E d^2 to
F and takes 2 E d^2 from sum u (1 - u). Where sum_S u is not an integer (a relaxed point that is not
optimal) one weight is left, and D^2/4 must be at least max |v_i x_i|^2/2.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.program import Program

INTEGER = 1e-9
"""A sum of weights this near to an integer is one."""


def stated_nonzeros(program: Program, rank: int) -> int:
    """k + r + 2, or all free features where there are no more (Theorem 2.1, Corollary 4.1)."""
    assert program.k is not None
    return min(program.k + rank + 2, int(np.count_nonzero(program.free)))


def stated_excess(program: Program, rank: int) -> float:
    """l0 (r + 1): the r + 1 largest prices (Corollaries 3.1 and 4.2)."""
    return largest_sum(program.prices[program.free], rank + 1)


def refined_nonzeros(program: Program, rank_tied: int) -> int:
    """k + r_T - 1, k where nothing is tied; no more than there are free features."""
    assert program.k is not None
    return min(program.k + max(rank_tied - 1, 0), int(np.count_nonzero(program.free)))


def refined_excess(program: Program, prices: Vector, sizes: Vector, rank_tied: int) -> float:
    """l0 r_T from the ties' prices and |v_i x_i|^2, or less (l0 + ridge, a smooth loss)."""
    smooth = program.loss.smoothness
    if program.ball is None and not math.isnan(smooth):
        # On ties ridge/2 v^2 = l0, so that c = L |x|^2/ridge is L |v x|^2/(2 l0).
        prices = prices * rounded_share(0.5 * smooth * sizes / prices)
    return largest_sum(prices, rank_tied)


def rounded_share(c: Vector) -> Vector:
    """phi: the largest min((1 - u)^2, c u (1 - u)) over u, at u = 1/2 or 1/(1 + c)."""
    return np.where(c <= 1.0, 0.25 * c, (1.0 / (1.0 + 1.0 / np.maximum(c, 1.0))) ** 2)


def rounding_rate(gram: Vector, u: Vector) -> float:
    """The number by which sum_S u (1 - u) is multiplied, from L times the Gram matrix over S."""
    if len(u) == 0:
        return 0.0
    sizes = np.diagonal(gram)
    rate = 0.25 * float(np.max(sizes[:, None] + sizes - 2.0 * gram))
    whole = abs(float(np.sum(u)) - round(float(np.sum(u)))) <= INTEGER
    return rate if whole else max(rate, 0.5 * float(np.max(sizes)))


def largest_sum(values: Vector, count: int) -> float:
    """The sum of the `count` largest, or of all."""
    return math.fsum(np.sort(values)[max(len(values) - count, 0) :])
