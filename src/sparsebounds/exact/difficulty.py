"""How long a search will go on, from how it went so far.

The nodes whose bound is below a value grow in number about exponentially with that value. So the
bound of a best-first search rises with the logarithm of its nodes. Where N nodes have closed the
share s of the gap that the root left, N^(1/s) nodes would close it all:

    log(total / N) = log(N) (1/s - 1)

Searches do better than that by a factor that depends on the form. In the k forms a node has fewer
supports the more features are in. In the l0 forms it counts how many of the leaves are still open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

GROWTH_K, GROWTH_L0 = 0.5, 0.85
"""What the right side of the formula is multiplied by; with l0, also by the open share of the
leaves. Fitted to 56 searches, and right on 47 of 51 others: see `benchmarks.exact.outlook`."""

SECONDS, MINUTES = 10.0, 600.0
"""Where seconds end and minutes begin, and where minutes end."""

ENOUGH = 1.0
"""Seconds after which a search is called hard, if it is: the first nodes say little."""


TELLING = 50
"""Fewer nodes say nothing, unless they took long."""


@dataclass(frozen=True)
class Outlook:
    """What a search has done, and what is expected of it on the same machine."""

    nodes: int
    open: int
    """Nodes left."""

    gap: float
    root_gap: float
    """The gap that the root left."""

    seconds: float
    """Spent so far."""

    sized: bool
    """Whether k is given, and not l0."""

    @property
    def closed(self) -> float:
        """The share of the root's gap that is closed, from 0 to 1."""
        return min(max(1.0 - self.gap / self.root_gap, 0.0), 1.0) if self.root_gap > 0.0 else 0.0

    @property
    def total(self) -> float:
        """The seconds that the whole search is expected to take."""
        if not self.open:
            return self.seconds
        if not self.closed > 0.0:
            return math.inf
        more = math.log(max(self.nodes, 2)) * (1.0 / self.closed - 1.0)
        leaves = 0.5 * (self.nodes + 1)
        more *= GROWTH_K if self.sized else GROWTH_L0 * min(self.open / leaves, 1.0)
        return self.seconds * math.exp(more) if more < 500.0 else math.inf

    @property
    def expected(self) -> str:
        """The same as a word: seconds, minutes, or hours and more."""
        total = self.total
        return "seconds" if total < SECONDS else "minutes" if total < MINUTES else "hours or more"

    @property
    def hard(self) -> bool:
        """Whether it is long enough under way to tell that it takes more than seconds."""
        return not self.early and self.seconds >= ENOUGH and self.total >= SECONDS

    @property
    def early(self) -> bool:
        """Whether it is too early to tell how long it takes."""
        return self.open > 0 and self.nodes < TELLING and self.seconds < SECONDS

    @property
    def words(self) -> str:
        """What to expect, in a sentence."""
        done = f"{self.nodes} node{'s' * (self.nodes != 1)} closed {self.closed:.0%} of the gap"
        if self.early:
            return f"It is too early to tell how long exact search takes here: {done} at its root."
        return f"As a rule of thumb, exact search takes {self.expected} here: {done} at its root."
