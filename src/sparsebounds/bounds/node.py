"""A node: a set of supports, given by features in, features out and a cardinality range."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebounds._support.array import Index, Mask
from sparsebounds.program import Program


def _none() -> Index:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Node:
    """Supports that hold every feature of `inside`, none of `outside`, and low to high in all.

    Only features the program leaves free are counted and may be listed. In the k forms the
    budget k applies on top of `high`. "Holds" means: may be nonzero and is counted (k) or
    charged (l0), so the supports of a node and of its two children are the same.

    Parameters
    ----------
    inside, outside : array of int, default none
        Features.
    low : int, default 0
        The fewest features of a support.
    high : int or None, default None
        The most; None: no limit but the program's own.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=2, ridge=1.0)
    >>> node = sb.bounds.Node(inside=np.array([0]))
    >>> node.counts(program, available=2)
    (0, 1)
    """

    inside: Index = field(default_factory=_none)
    outside: Index = field(default_factory=_none)
    low: int = 0
    high: int | None = None

    def masks(self, program: Program) -> tuple[Mask, Mask]:
        """(mandatory, open): features taken whatever happens, and those left to choose."""
        chosen = program.free.copy()
        chosen[self.inside] = False
        chosen[self.outside] = False
        mandatory = program.always.copy()
        mandatory[self.inside] = True
        return mandatory, chosen

    def counts(self, program: Program, available: int) -> tuple[int, int]:
        """Least and most open features a support of this node can take; least > most: empty."""
        most = available
        for limit in (self.high, program.k):
            if limit is not None:
                most = min(most, limit - len(self.inside))
        return max(0, self.low - len(self.inside)), most


ROOT = Node()
"""Every support."""
