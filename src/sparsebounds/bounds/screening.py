"""Screening: what one dual vector and one feasible value prove about every optimum.

A feature is out of every optimum if the bound with it forced in exceeds `upper`, the value
of a feasible model; in every optimum if the bound with it forced out does. Strictly, so that
ties keep every optimum. And an optimum with w_i != 0 satisfies

    curvature_i / 2 (w_i - center_i)^2 <= upper - (bound with i forced in),

center_i = -x_i.a / curvature_i (its positive part where w_i >= 0 is asked), because the
penalised problem is strongly convex around the minimiser that the bound assumes. That box
may exclude 0, which fixes the sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.rounding import down, up
from sparsebounds._support.threads import one_thread
from sparsebounds.bounds.dual import DualPoint, dual_point
from sparsebounds.bounds.enclosure import enclosed
from sparsebounds.bounds.forcing import forced_bounds
from sparsebounds.bounds.lower import bound_at
from sparsebounds.bounds.node import ROOT, Node
from sparsebounds.program import Program


@dataclass(frozen=True)
class Screening:
    """What is proved of every optimal model, on the program's own columns.

    Attributes
    ----------
    fixed_in : array of int
        Free features that every optimum uses.
    fixed_out : array of int
        Free features that no optimum uses.
    signs : array of int
        +1 or -1: the sign of w_i in every optimum with w_i != 0; 0: not determined.
    low : array
        low_i <= w_i in every optimum with w_i != 0.
    high : array
        w_i <= high_i in every optimum with w_i != 0.

    See Also
    --------
    screen : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(200, 20, nonzeros=3)
    >>> solution = sb.solve(data.X, data.y, k=3, ridge=0.5)
    >>> found = sb.screen(solution.program, solution.relaxation.dual, solution.upper)
    >>> found.signs[found.fixed_in].tolist()
    [1, 1]
    """

    fixed_in: Index
    fixed_out: Index
    signs: npt.NDArray[np.int8] = field(repr=False)
    low: Vector = field(repr=False)
    high: Vector = field(repr=False)


@one_thread()
def screen(program: Program, a: Vector, upper: float) -> Screening:
    """Features proved in or out of every optimum, with signs and boxes.

    Parameters
    ----------
    program : Program
        The sparse program.
    a : array of n numbers
        Any dual vector; the closer to the optimum of the dual, the more is proved.
    upper : float
        The objective of any feasible model, or a bound above it.

    Returns
    -------
    Screening
        What is proved; nothing that is not.

    Raises
    ------
    ValueError, TypeError
        Where no model attains `upper`, or it is no number.

    Notes
    -----
    A feature is out of every optimum if the bound with it forced in exceeds `upper`.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(200, 20, nonzeros=3)
    >>> solution = sb.solve(data.X, data.y, k=3, ridge=0.5)
    >>> found = sb.screen(solution.program, solution.relaxation.dual, solution.upper)
    >>> found.fixed_in.tolist(), len(found.fixed_out)
    ([0, 19], 16)
    """
    if isinstance(upper, bool) or not isinstance(upper, Real):
        raise InputTypeError(
            f"upper={upper!r} must be a number: the objective of a feasible model."
        )
    upper = float(upper)
    program = enclosed(program, upper)
    point = dual_point(program, a)
    lower = bound_at(program, point)
    if upper < lower - 1e-9 * max(abs(upper), abs(lower)):
        raise InputError(
            f"upper={upper!r} is below the proved lower bound {lower!r}, so no model attains it; "
            "pass the objective of a feasible model."
        )
    return screen_at(program, point, upper)


def screen_at(program: Program, point: DualPoint, upper: float, node: Node = ROOT) -> Screening:
    """`screen` at an evaluated dual point, within the supports of a node.

    Parameters
    ----------
    program : Program
        The sparse program, of a convex loss.
    point : DualPoint
        What `dual_point` made of a dual vector.
    upper : float
        The objective of any feasible model, or a bound above it.
    node : Node, default ROOT
        The supports.

    Returns
    -------
    Screening
        What is proved of the optima among them.

    Raises
    ------
    ValueError
        Where `upper` is not a number.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> point = sb.bounds.dual_point(program, program.F.gradient(np.zeros(3)))
    >>> sb.bounds.screen_at(program, point, upper=1.96).fixed_out.tolist()
    [1, 2]
    """
    if math.isnan(upper):
        raise InputError("upper is NaN; pass the objective of a feasible model.")
    low, high = np.full(program.m, -math.inf), np.full(program.m, math.inf)
    low[program.positive] = 0.0
    low[program.never], high[program.never] = 0.0, 0.0
    if program.box is not None and program.box.ceiling < upper:
        # Models that the box leaves out may be among the best.
        none = np.zeros(0, dtype=np.int64)
        return Screening(none, none, np.zeros(program.m, dtype=np.int8), low, high)
    forced = forced_bounds(program, point, node)
    i = forced.features
    fixed_in, fixed_out = i[forced.outside > upper], i[forced.inside > upper]

    groups = program.groups
    fixed_in, fixed_out = groups.whole(fixed_in), groups.whole(fixed_out)
    # The room that a group has is that of each of its features.
    left = forced.inside <= upper
    room = np.full(program.m, math.inf)
    room[i[left]] = np.maximum(up(upper - forced.quadratic[left]), 0.0)
    i = groups.whole(i[left])
    with np.errstate(over="ignore", invalid="ignore"):
        bend = forced.curvature[i]
        room = room[i if groups.leaders is None else groups.leaders[i]]
        half = up(np.sqrt(up(up(2.0 * room) / bend)))
        width = up(half + up(point.radius[i] / bend))
        center = -point.scores[i] / bend
        center = np.where(program.positive[i], np.maximum(center, 0.0), center)
        # center is rounded once: a unit in its last place on either side.
        box_low = np.nan_to_num(down(down(center) - width), nan=-math.inf)
        box_high = np.nan_to_num(up(up(center) + width), nan=math.inf)
    low[i] = np.maximum(low[i], box_low)
    high[i] = np.minimum(high[i], box_high)
    low[fixed_out], high[fixed_out] = 0.0, 0.0
    signs = (low > 0).astype(np.int8) - (high < 0).astype(np.int8)
    # A nonnegative coefficient that is not 0 is positive.
    signs[program.positive & (high > 0)] = 1
    return Screening(fixed_in, fixed_out, signs, low, high)
