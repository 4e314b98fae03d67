"""Time limits: one object that is handed down, and that every long loop asks whether to go on.

A step that has begun cannot be cut. So a step is begun only if it is expected to end in time, with
what comes after it: work is measured in units of its kind, and a unit takes as long as it took the
last time in the same run.

    scan      one pass over X
    product   one multiplication within a product of matrices
    newton    the square of the number of coordinates in a Newton step
    box       one box of a non-convex loss
    node      one node of a search tree, proved
    row       one row of a table of ranks
    save      one node of a search tree, written to a file
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from sparsebounds._support.validate import check_time_limit

clock = time.perf_counter

FIRST = {"product": 1e-10, "tried": 6e-8}
"""Seconds that a unit takes before any was measured; 0 for the kinds that are not named."""

RELAX = 0.9
"""The share of the time that a relaxation may take: models and proofs come after it."""

LEAST = 0.005
"""Work of fewer seconds says little about more of it."""


class TimeUp(Exception):
    """A piece of work is given up, because it would not end in time."""


class Deadline:
    """A clock with a limit, which knows what work has cost so far."""

    def __init__(self, limit: float | None = None) -> None:
        self.started = clock()
        self.end = math.inf if limit is None else self.started + limit
        self._pace = dict(FIRST)
        self._said = [False]

    @classmethod
    def of(cls, limit: Limit) -> Deadline:
        """A limit in seconds from now on; a deadline stays what it is."""
        if isinstance(limit, Deadline):
            return limit
        check_time_limit(limit)
        return cls(limit)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.end < math.inf

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return clock() - self.started

    def late(self, **work: float) -> bool:
        """Whether the time is up, or would be after so many units of work of each kind."""
        if not self.limited or clock() + self._takes(work) <= self.end:
            return False
        self._said[0] = True
        return True

    @property
    def cut(self) -> bool:
        """Whether it has ever been `late`, for this deadline or for one that is `before` it."""
        return self._said[0]

    def require(self, **work: float) -> None:
        """TimeUp where it is `late` for the work."""
        if self.late(**work):
            raise TimeUp

    def before(self, **work: float) -> Deadline:
        """An earlier deadline, which leaves time for the work."""
        return self._ending(self.end - self._takes(work))

    def part(self, share: float) -> Deadline:
        """A deadline when this share of what is left will have passed."""
        now = clock()
        other = self._ending(now + share * max(self.end - now, 0.0))
        other._said = [False]
        return other

    def anew(self, share: float) -> Deadline:
        """A clock that starts now, and ends when this share of what is left will have passed."""
        other = self.part(share)
        other.started = clock()
        return other

    @contextmanager
    def timed(self, kind: str, size: float) -> Iterator[None]:
        """A context that measures so many units of work."""
        began = clock()
        yield
        spent = clock() - began
        if self.limited and size > 0.0 and spent >= LEAST:
            pace, before = spent / size, self._pace.get(kind, 0.0)
            # One slow step, on a machine that others use, is no news.
            self._pace[kind] = min(pace, 2.0 * before) if before > 0.0 else pace

    def _takes(self, work: dict[str, float]) -> float:
        return sum(self._pace.get(kind, 0.0) * size for kind, size in work.items())

    def _ending(self, end: float) -> Deadline:
        """The same clock, what is measured being shared."""
        other = Deadline.__new__(Deadline)
        other.started, other.end = self.started, end
        other._pace, other._said = self._pace, self._said
        return other


Limit: TypeAlias = float | Deadline | None
"""Seconds, or a deadline that a caller shares; None: none."""

NEVER = Deadline()
"""No limit."""
