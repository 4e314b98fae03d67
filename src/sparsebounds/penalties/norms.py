"""The functions that the two penalties are made of, under the names the literature gives them.

    perspective       w^2/u, closed: 0 at w = u = 0 and +infinity where only u is 0
    reverse Huber     B(x)  = min over 0 <= u <= 1 of (x^2/u + u)/2
    k-support norm    |w|_k = sqrt(min over u in [0, 1]^m, sum u <= k, of sum_i w_i^2/u_i)
    its dual norm     |s|_k* = the Euclidean norm of the k entries largest in size

With them, for one l0 and one ridge,

    L0Ridge: h(w) = 2 l0 sum_i B(w_i sqrt(ridge/(2 l0)))
    KRidge:  h(w) = ridge/2 |w|_k^2,   h*(s) = |s|_k*^2/(2 ridge)
    |w|_k^2 = sup over t > 0 of 2 t sum_i B(w_i/sqrt(t)) - t k

and the unit ball of |.|_k is the convex hull of the vectors of length 1 with at most k nonzeros.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.penalties.k_ridge import KRidge
from sparsebounds.penalties.l0_ridge import L0Ridge


def perspective(w: Vector, u: Vector) -> Vector:
    """The closed perspective of a square, for each i.

    Parameters
    ----------
    w, u : array
        Coefficients and their weights.

    Returns
    -------
    array
        w_i^2/u_i; 0 at w_i = u_i = 0, +infinity at any other u_i <= 0.

    Notes
    -----
    With the pseudo-inverse in place of the closure, 1/0 = 0, it would not be convex and any w
    would be free of charge at u = 0.

    Examples
    --------
    >>> sb.penalties.perspective(np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.0, 0.0])).tolist()
    [2.0, 0.0, inf]
    """
    proper = u > 0.0
    # In this order: w_i/u_i is moderate where both are tiny.
    quotient = w * (w / np.where(proper, u, 1.0))
    return np.where(proper, quotient, np.where((w == 0.0) & (u == 0.0), 0.0, math.inf))


def reverse_huber(x: Vector) -> Vector:
    """The reverse Huber function B(x_i), for each i.

    Parameters
    ----------
    x : array
        Numbers.

    Returns
    -------
    array
        ``|x|`` up to 1, (x^2 + 1)/2 beyond: min over 0 <= u <= 1 of (x^2/u + u)/2.

    Examples
    --------
    >>> sb.penalties.reverse_huber(np.array([-0.5, 1.0, 3.0])).tolist()
    [0.5, 1.0, 5.0]
    """
    return L0Ridge(0.5, 1.0).costs(x)


def k_support_norm(w: Vector, k: int) -> float:
    """The k-support norm: its unit ball is the convex hull of unit vectors with at most k nonzeros.

    Parameters
    ----------
    w : array
        A vector.
    k : int
        How many nonzeros.

    Returns
    -------
    float
        The l1 norm for k = 1, the Euclidean norm for k >= m, +infinity for k = 0 and w != 0.

    Examples
    --------
    >>> w = np.array([3.0, 4.0])
    >>> [round(sb.penalties.k_support_norm(w, k), 6) for k in (1, 2)]
    [7.0, 5.0]
    """
    size = _largest(w)
    return size * math.sqrt(2.0 * KRidge(k, 1.0).value(w / size)) if size > 0.0 else 0.0


def k_support_dual_norm(s: Vector, k: int) -> float:
    """The dual of the k-support norm.

    Parameters
    ----------
    s : array
        A vector.
    k : int
        How many entries.

    Returns
    -------
    float
        The Euclidean norm of the k entries largest in size.

    Examples
    --------
    >>> round(sb.penalties.k_support_dual_norm(np.array([3.0, 4.0, 1.0]), 2), 6)
    5.0
    """
    size = _largest(s)
    return size * math.sqrt(2.0 * KRidge(k, 1.0).conjugate(s / size)) if size > 0.0 else 0.0


def _largest(x: Vector) -> float:
    """max |x_i|, the unit in which squares neither overflow nor vanish; 0 for no entries."""
    return float(np.max(np.abs(x), initial=0.0))
