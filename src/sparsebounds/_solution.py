"""Solution: a sparse model, both bounds on the best possible, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sparsebounds._array import Index, Vector
from sparsebounds._errors import InputError
from sparsebounds.certificates import Certificate
from sparsebounds.primalization import GapBounds, Primalization, gap_bounds, primalize
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


@dataclass(frozen=True)
class SolutionStats:
    """What a solution cost."""

    full_passes: float
    newton_steps: int
    models: int
    """Supports refitted."""

    nodes: int
    """Nodes of the exact search; 0 where there was none."""

    seconds: float
    tightening: tuple[float, ...] = ()
    """Non-convex losses: the lower bound on each box, the first before any tightening."""


@dataclass(frozen=True)
class Solution:
    """A model that obeys the user's own constraint, and what is proved about it."""

    coef: Vector = field(repr=False)
    """Coefficients in the user's units."""

    intercept: float
    support: Index
    """Where coef is not zero."""

    feature_names: tuple[str, ...] | None = field(repr=False)
    upper: float
    """The model's objective, rounded up."""

    lower: float
    """No model that obeys the constraints has a smaller objective."""

    rel_gap: float
    """gap / max(|upper|, |null|), null the objective of the best model without features."""

    status: Literal["optimal", "bounded"]
    """"optimal": proved to within the tolerance. "bounded": the gap is wider."""

    message: str
    fixed_in: Index = field(repr=False)
    """Features proved to be in every best model."""

    fixed_out: Index = field(repr=False)
    """Features proved to be in no best model."""

    relaxation: Relaxation = field(repr=False)
    certificate: Certificate = field(repr=False)
    stats: SolutionStats = field(repr=False)
    program: Program | None = field(repr=False, compare=False)
    """The problem, with its data. It is not pickled, and estimators do not keep it."""

    @cached_property
    def primalization(self) -> Primalization:
        """The relaxation's point made sparse: `primalize`, with its 20 random objectives."""
        return primalize(self._posed("primalize"), self.relaxation)

    @cached_property
    def bounds(self) -> GapBounds:
        """What Shapley and Folkman's lemma says of the gap: `gap_bounds`."""
        return gap_bounds(self._posed("gap_bounds"), self.relaxation)

    def _posed(self, function: str) -> Program:
        if self.program is None:
            raise InputError(
                "This solution does not hold its data any more; call "
                f"sb.{function}(program, solution.relaxation) with the program."
            )
        return self.program

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"program": None}

    @property
    def gap(self) -> float:
        """upper - lower: the model is at most this far from the best possible."""
        return self.upper - self.lower
