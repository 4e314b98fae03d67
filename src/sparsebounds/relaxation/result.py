"""Relaxation: the solved bidual, both of its values, and what it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.bounds import DualPoint, bound_at, dual_point_at
from sparsebounds.losses import Box
from sparsebounds.program import Program


@dataclass(frozen=True)
class RelaxationStats:
    """What a relaxation cost.

    Attributes
    ----------
    full_passes : float
        Entries of X read over n m, every read counted (scores, working columns).
    newton_steps : int
        Newton steps.
    rounds : int
        Working sets solved.
    working_set : int
        Columns in the last working set.
    seconds : float
        Wall time.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> sb.relax(program).stats.newton_steps > 0
    True
    """

    full_passes: float
    newton_steps: int
    rounds: int
    working_set: int
    seconds: float


@dataclass(frozen=True)
class Relaxation:
    """The convex bidual of a program, solved.

    p**, the relaxed optimum, lies between `dual_value` and `value`; the optimum of the program
    itself is at least `lower`.

    Attributes
    ----------
    value : float
        The relaxed objective at (w, u): at least p**.
    dual_value : float
        The dual function at `dual`, rounded down: at most p**.
    lower : float
        The bound that `dual` proves on the program's optimum; it may exceed p** (l0 + ball).
    status : {"optimal", "bounded"}
        "optimal": the relative gap is at most the tolerance. "bounded": the bounds hold, wider.
    message : str
        Why it stopped, in a sentence.
    coef : array
        The relaxed coefficients, in the user's units; usually more than k are nonzero.
    intercept : float
        0 where the problem has none.
    w : array
        The same on the program's own columns.
    b : float
        The intercept there.
    u : array
        Weights in [0, 1] with w_i = u_i v_i; sum u is at most k.
    dual : array
        The dual vector a.
    point : DualPoint
        The same, repaired and scored: what bounds, screening and certificates take.
    l0_multiplier : float
        k forms: the price per feature at which the relaxed l0 problem chooses the same; else l0.

        NaN where there is none to tell: several prices, or a best relaxed point without features.
    eta : float
        Ball forms: the multiplier of the ball, which acts as a ridge; NaN in the ridge forms.
    stats : RelaxationStats
        What it cost.
    interrupted : bool
        Whether Ctrl-C ended it: the bounds hold, and loops over relaxations should end as well.
    box : Box or None
        Non-convex losses: the box on which the envelope stood in for the loss. There `value` is
        that of a convex function below the loss. Outside the box this function says nothing about
        the loss. Bounds use the box, so they may be a little above `value`.

    See Also
    --------
    relax : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> relaxed = sb.relax(program)
    >>> print(f"{relaxed.u.sum():.3f}", np.flatnonzero(relaxed.u > 1e-6))
    3.000 [ 0  1  2  3  4  9 15 18 19]
    """

    value: float
    dual_value: float
    lower: float
    status: Literal["optimal", "bounded"]
    message: str
    coef: Vector = field(repr=False)
    intercept: float
    w: Vector = field(repr=False)
    b: float = field(repr=False)
    u: Vector = field(repr=False)
    dual: Vector = field(repr=False)
    point: DualPoint = field(repr=False)
    l0_multiplier: float
    eta: float
    stats: RelaxationStats = field(repr=False)
    interrupted: bool = field(default=False, repr=False)
    box: Box | None = field(default=None, repr=False)

    @classmethod
    def to_start_from(
        cls, program: Program, w: Vector, b: float, eta: float, t: Vector
    ) -> Relaxation:
        """A relaxed point known from elsewhere, its dual vector scored here; values are not set."""
        point = dual_point_at(program, t)
        coef, intercept = program.to_user(w, b)
        return cls(
            value=math.nan,
            dual_value=bound_at(program, point, lagrangian=True),
            lower=bound_at(program, point),
            status="bounded",
            message="Known from elsewhere",
            coef=coef,
            intercept=intercept,
            w=w,
            b=b,
            u=np.full(len(w), math.nan),
            dual=program.F.p * t,
            point=point,
            l0_multiplier=math.nan,
            eta=eta,
            stats=RelaxationStats(0.0, 0, 0, 0, 0.0),
        )

    @property
    def gap(self) -> float:
        """value - dual_value."""
        return self.value - self.dual_value
