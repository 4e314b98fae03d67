"""What a walk keeps of a point: its model, nonzeros only, and what proves its bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import WIDER, objective_up, one_price
from sparsebounds.models import Model
from sparsebounds.paths.shared import Proof
from sparsebounds.program import Program


@dataclass(frozen=True)
class Fitted:
    """A model with its value at one point of the path."""

    upper: float
    """The objective, rounded up as certificates claim it: so that claims never grow along k."""

    support: Index
    w: Vector
    """Nonzeros on the program's own columns."""

    b: float
    coef: Vector
    """The same in the user's units."""

    intercept: float
    counted: int
    """Features that count towards k, or are paid for."""

    unpriced: float
    """About the objective without prices."""

    @classmethod
    def of(cls, program: Program, model: Model, coef: Vector, intercept: float) -> Fitted:
        """The nonzeros of a model as `as_returned` gives it."""
        support = model.support
        return cls(
            upper=objective_up(program, model.w, model.b, wider=WIDER),
            support=support,
            w=model.w[support],
            b=model.b,
            coef=coef[support],
            intercept=intercept,
            counted=int(np.count_nonzero(program.free[support])),
            unpriced=model.value - float(np.sum(program.prices[support])),
        )

    def full(self, m: int) -> Vector:
        """w, zeros included."""
        w = np.zeros(m)
        w[self.support] = self.w
        return w

    def at(self, program: Program) -> Fitted:
        """The same model at another point of the path."""
        upper = objective_up(program, self.full(program.m), self.b, wider=WIDER)
        return replace(self, upper=upper)

    def or_better(self, program: Program, others: Iterable[Fitted]) -> Fitted:
        """This model, or one of the others where it is better at the program's price."""
        best, price = self, one_price(program) or 0.0
        for other in others:
            if other.unpriced + price * other.counted < best.upper:
                there = other.at(program)
                best = there if there.upper < best.upper else best
        return best


@dataclass(frozen=True)
class Row:
    """A point as the walk leaves it."""

    value: float
    """k or l0."""

    program: Program
    fitted: Fitted
    proof: Proof
    dual: Vector
    """The dual vector of the point's own relaxation."""

    fixed_in: Index
    models: int
    nodes: int
    seconds: float
