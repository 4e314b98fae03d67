"""What gaps are relative to, in numbers and in words."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sparsebounds._support.decimals import percent_up, rounded_up

PERFECT = 1e-6
"""A model whose objective is this part of that without features fits as well as perfectly."""


class Yardstick(ABC):
    """Gaps of a problem whose objective without features is `null`."""

    @property
    @abstractmethod
    def null(self) -> float:
        """The objective of the best model without features."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """An objective that is as good as 0."""

    def size(self, upper: float) -> float:
        """What relative gaps are relative to: |upper|.

        Or 1e-6 of |null| where the fit is as good as perfect: no digits are left to prove more.
        """
        return max(abs(upper), PERFECT * abs(self.null), self.rounding)

    def relative(self, gap: float, upper: float) -> float:
        """A gap relative to |upper| (`size`); 0 where both are rounding."""
        perfect = max(gap, abs(upper), abs(self.null)) <= self.rounding
        return 0.0 if perfect else gap / self.size(upper)

    def null_share(self, gap: float, upper: float) -> float:
        """A gap relative to |null|, the objective without features (or to |upper|, if larger)."""
        scale = max(abs(upper), abs(self.null))
        perfect = max(gap, scale) <= self.rounding
        return 0.0 if perfect else gap / max(scale, self.rounding)

    def yardstick(self, upper: float) -> str:
        """What relative gaps are relative to, in words: the larger of two objectives."""
        return "its objective" if abs(upper) > abs(self.null) else "the objective without features"

    def distance(self, gap: float, upper: float) -> str:
        """A gap in words: how far from the best possible, and of what that is a percentage."""
        return f"at most {rounded_up(gap, 3)} from the best possible, {self.shares(gap, upper)}"

    def shares(self, gap: float, upper: float) -> str:
        """Both percentages of a gap, in words."""
        relative = self.relative(gap, upper)
        own = f"{percent_up(relative)} of its objective"
        if relative <= 1e-5 or abs(upper) >= abs(self.null):
            return own
        return f"{own} ({percent_up(self.null_share(gap, upper))} of that without features)"
