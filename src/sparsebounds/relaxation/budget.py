"""Time limits, progress and interruption: one object that long loops ask whether to go on."""

from __future__ import annotations

import math
import time
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


class Budget:
    """A clock with a limit."""

    def __init__(self, time_limit: float | None, callback: Callback | None) -> None:
        self.started = time.perf_counter()
        self._deadline = math.inf if time_limit is None else self.started + time_limit
        self._callback = callback

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def spent(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self._deadline

    @property
    def listening(self) -> bool:
        """Whether anybody asked for progress."""
        return self._callback is not None

    def report(self, round: int, value: float, lower: float, working_set: int) -> None:
        """Tell the caller, if it asked."""
        if self._callback is not None:
            self._callback(Progress(round, value, lower, working_set, self.seconds))
