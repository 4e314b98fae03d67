"""What a walk keeps of a point: a certificate, and the cost of getting there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds.bounds import WIDER, objective_up, one_price
from sparsebounds.certificates import Certificate, Leaf
from sparsebounds.models import Model, as_returned
from sparsebounds.program import Program
from sparsebounds.solving import Outliers


@dataclass(frozen=True)
class Row:
    """A point of the path as the walk leaves it."""

    program: Program
    certificate: Certificate
    """The model on the program's own columns, both bounds as they are claimed, and the proof."""

    support: Index
    values: Vector
    """The model's nonzeros in the user's units, and where they are."""

    intercept: float
    unpriced: float
    """About the objective without prices."""

    dual: Vector
    """The dual vector of the point's own relaxation."""

    fixed_in: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    nodes: int = 0
    seconds: float = 0.0
    outliers: Outliers | None = None

    @classmethod
    def of(
        cls,
        program: Program,
        found: Model,
        dual: Vector,
        lower: float = -math.inf,
        duals: tuple[Vector, ...] = (),
        leaves: tuple[Leaf, ...] = (),
    ) -> Self:
        """A model as the user gets it, with a lower bound and its proof."""
        model, coef, intercept = as_returned(program, found)
        certificate = Certificate.build(program, duals, leaves, model.w, model.b, lower=lower)
        unpriced = model.value - float(np.sum(program.prices[program.counted(certificate.support)]))
        support = nonzeros(coef)
        return cls(program, certificate, support, coef[support], intercept, unpriced, dual)

    @property
    def features(self) -> Index:
        """The model's features on the program's own columns, with all of their groups."""
        return self.program.groups.whole(self.certificate.support)

    @property
    def counted(self) -> int:
        """Features that count towards k, or are paid for."""
        return len(self.program.counted(self.certificate.support))

    @property
    def w(self) -> Vector:
        """The model on the program's own columns, zeros included."""
        w = np.zeros(self.program.m)
        w[self.certificate.support] = self.certificate.coef
        return w

    def model(self, eta: float) -> Model:
        """The model, with the multiplier of the ball."""
        return Model(self.certificate.upper, self.w, self.certificate.intercept, eta)

    def upper_at(self, program: Program) -> float:
        """The model's objective at another point, rounded up as certificates claim it.

        So claims never grow along k.
        """
        return objective_up(program, self.w, self.certificate.intercept, wider=WIDER)

    def or_better(self, others: Iterable[Row]) -> Row:
        """This row, with the model of another one where that is better here."""
        best, price = self, one_price(self.program) or 0.0
        for other in others:
            prices = price * other.counted if price else 0.0
            if other.unpriced + prices < best.certificate.upper:
                upper = other.upper_at(self.program)
                best = best.with_model(other, upper) if upper < best.certificate.upper else best
        return best

    def or_found(self, model: Model) -> Row:
        """This row, with a model that was found for it where that is better."""
        return self.or_better([Row.of(self.program, model, self.dual)])

    def with_model(self, other: Row, upper: float) -> Row:
        """The same bound with another row's model, whose objective is `upper` here."""
        theirs = other.certificate
        mine = replace(
            self.certificate,
            upper=upper,
            support=theirs.support,
            coef=theirs.coef,
            intercept=theirs.intercept,
        )
        return replace(
            self,
            certificate=mine,
            support=other.support,
            values=other.values,
            intercept=other.intercept,
            unpriced=other.unpriced,
        )
