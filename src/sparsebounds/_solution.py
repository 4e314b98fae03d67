"""Solution: a sparse model, both bounds on the best possible, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sparsebounds._array import Index, Vector
from sparsebounds.certificates import Certificate
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

    @property
    def gap(self) -> float:
        """upper - lower: the model is at most this far from the best possible."""
        return self.upper - self.lower
