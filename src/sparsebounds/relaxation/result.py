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
    """What a relaxation cost."""

    full_passes: float
    """Entries of X read over n m, every read counted (scores, working columns)."""

    newton_steps: int
    rounds: int
    """Working sets solved."""

    working_set: int
    """Columns in the last working set."""

    seconds: float


@dataclass(frozen=True)
class Relaxation:
    """The convex bidual of a program, solved.

    p**, the relaxed optimum, lies between `dual_value` and `value`; the optimum of the program
    itself is at least `lower`.
    """

    value: float
    """The relaxed objective at (w, u): at least p**."""

    dual_value: float
    """The dual function at `dual`, rounded down: at most p**."""

    lower: float
    """The bound that `dual` proves on the program's optimum; it may exceed p** (l0 + ball)."""

    status: Literal["optimal", "bounded"]
    """"optimal": the relative gap is at most the tolerance. "bounded": the bounds hold, wider."""

    message: str
    """Why it stopped, in a sentence."""

    coef: Vector = field(repr=False)
    """The relaxed coefficients, in the user's units; usually more than k are nonzero."""

    intercept: float
    w: Vector = field(repr=False)
    """The same on the program's own columns."""

    b: float = field(repr=False)
    u: Vector = field(repr=False)
    """Weights in [0, 1] with w_i = u_i v_i; sum u is at most k."""

    dual: Vector = field(repr=False)
    """The dual vector a."""

    point: DualPoint = field(repr=False)
    """The same, repaired and scored: what bounds, screening and certificates take."""

    l0_multiplier: float
    """k forms: the price per feature at which the relaxed l0 problem chooses the same; else l0.

    NaN where there is none to tell: several prices, or a best relaxed point without features.
    """

    eta: float
    """Ball forms: the multiplier of the ball, which acts as a ridge; NaN in the ridge forms."""

    stats: RelaxationStats = field(repr=False)
    interrupted: bool = field(default=False, repr=False)
    """Whether Ctrl-C ended it: the bounds hold, and loops over relaxations should end as well."""

    box: Box | None = field(default=None, repr=False)
    """Non-convex losses: the box on which the envelope stood in for the loss.

    There `value` is that of a convex function below the loss. Outside the box this function says
    nothing about the loss. Bounds use the box, so they may be a little above `value`.
    """

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
