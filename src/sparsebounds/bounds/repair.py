"""repair: any dual vector, moved into dom F*, and into balance where there is an intercept.

Where sum_i s_i t_i is not 0 the intercept could make the bound as low as it likes.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import U, exact_products, exact_sum, largest_of, up
from sparsebounds.program import Program


def repair(program: Program, t: Vector) -> Vector:
    """The per-sample dual t, clipped into the domain and then balanced for the intercept.

    In that order: the domain holds 0 and is convex, so scaling one sign towards 0 stays
    inside, whereas clipping after balancing would unbalance the sum again.

    Parameters
    ----------
    program : Program
        The sparse program.
    t : array
        A vector per sample; without an intercept it may be rows of many.

    Returns
    -------
    array
        A vector of the domain.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0, fit_intercept=True)
    >>> sb.bounds.repair(program, np.array([3.0, 2.0, 1.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    # Half the largest leaves room for the mean that balancing takes away.
    t = np.clip(program.loss.clip(program.y, t), -0.5 * check.LARGEST, 0.5 * check.LARGEST)
    if not program.fit_intercept:
        return t
    # Twice: the second round removes the rounding of the first.
    t = _balanced(program, _balanced(program, t))
    if program.data.equal is not None:
        return _exactly_balanced(t)
    # One entry with a fine grid of floats around it takes up most of what is left.
    i = int(np.argmin(np.where(t == 0.0, np.inf, np.abs(t) * program.weights)))
    moved = t.copy()
    before = balance(program, t)[0]
    most = 0.5 * check.LARGEST
    moved[i] = min(max(t[i] - before / float(program.weights[i]), -most), most)
    moved = program.loss.clip(program.y, moved)
    return moved if abs(balance(program, moved)[0]) < abs(before) else t


def _balanced(program: Program, t: Vector) -> Vector:
    """t with sum_i s_i t_i = 0 up to rounding, inside the domain if t was."""
    weighted = program.weights * t
    lo, hi = program.loss.domain(program.y)
    if np.all(np.isinf(lo)) and np.all(np.isinf(hi)):
        return t - exact_sum(weighted)[0] / program.mass
    gain = exact_sum(np.maximum(weighted, 0.0))[0]
    drop = -exact_sum(np.minimum(weighted, 0.0))[0]
    if gain > drop:
        return np.where(t > 0, t * (drop / gain), t)
    if drop > gain:
        return np.where(t < 0, t * (gain / drop), t)
    return t


def _exactly_balanced(t: Vector) -> Vector:
    """t on a grid of 50 bits, with a sum of exactly 0: towards 0, so inside the domain."""
    largest = largest_of(t)
    if largest == 0.0:
        return t
    grid = 2.0 ** (math.frexp(largest)[1] - 50)
    if grid == 0.0:
        return np.zeros(len(t))
    t = np.trunc(t / grid)
    t *= grid
    # The sum is a multiple of the grid, far below 2^53 of it, hence exact. What is left over is
    # taken from the largest entries of its sign, towards 0, which is exact as well.
    rest = exact_sum(t)[0]
    while rest != 0.0:
        i = int(np.argmax(t) if rest > 0 else np.argmin(t))
        part = min(rest, float(t[i])) if rest > 0 else max(rest, float(t[i]))
        t[i] -= part
        rest -= part
    return t


def off_balance(program: Program, t: Vector) -> float:
    """What `repair` may leave of sum_i s_i t_i: the last digit of the entry it moves last."""
    if program.data.equal is not None:
        return 0.0
    sizes = np.abs(program.weights * t)
    least = float(np.min(sizes[sizes > 0.0], initial=np.inf))
    return 2.0 * U * ((least if math.isfinite(least) else 0.0) + 16.0 * U * float(np.sum(sizes)))


def balance(program: Program, t: Vector) -> tuple[float, float]:
    """sum_i s_i t_i and a bound of its rounding error."""
    if (equal := program.data.equal) is not None:
        total, radius = exact_sum(t)
        whole = equal * total
        return whole, up(up(equal * radius) + 2.0 * U * abs(whole)) if total or radius else 0.0
    return exact_sum(exact_products(program.weights, t))
