"""What a relaxation tells its caller while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What a progress callback receives after each round.

    Attributes
    ----------
    round : int
        Working sets solved so far.
    value : float
        The relaxed objective reached.
    lower : float
        The bound proved.
    working_set : int
        Columns in the working set.
    seconds : float
        Wall time.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> rounds = []
    >>> relaxed = sb.relax(program, callback=rounds.append)
    >>> rounds[-1].lower <= relaxed.value
    True
    """

    round: int
    value: float
    lower: float
    working_set: int
    seconds: float

    def line(self) -> str:
        """The same in a clause."""
        return f"relaxed value {self.value:.6g}, proved {self.lower:.6g}"


Callback = Callable[[Progress], None]
