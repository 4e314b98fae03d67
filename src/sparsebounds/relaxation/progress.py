"""What a relaxation tells its caller while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What a progress callback receives after each round."""

    round: int
    value: float
    lower: float
    working_set: int
    seconds: float

    def line(self) -> str:
        """The same in a clause."""
        return f"relaxed value {self.value:.6g}, proved {self.lower:.6g}"


Callback = Callable[[Progress], None]
