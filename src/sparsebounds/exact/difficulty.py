"""How hard a search will be, from one relaxation.

A split moves a node's bound by about the price of a feature (l0, or the multiplier of k). So what
counts is how many prices a node has left to prove:

    slack = (upper - bound) / price

l0 forms: at the node with all the features of the best model in. Of the nodes that hold this
model it has the highest bound. Where even that bound is several prices short, the features that fit
the noise must be excluded one by one below every node, and the tree has no end.

k forms: at the root. With k features in, nothing would be left to prove.

Where there are few supports in all, none of this matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds.exact.bounder import Bounded, Bounder
from sparsebounds.models import Model

L0_SLACKS = (2.3, 4.0)
K_SLACKS = (10.0, 25.0)
"""Slacks up to which searches took seconds, and from which they had not ended when stopped, after 8
to 60 s. Rules of thumb, chosen after 15 searches with a price and 21 with k; in between it was
either. One of 500 x 200 data ended at once at a slack of 130: the slack does not count what shifts
add to the bounds."""

FEW = 1e6
"""Supports that a search gets through in seconds, most of them by bounds on many at once."""


@dataclass(frozen=True)
class Outlook:
    """What is left to prove before the search, in prices of a feature."""

    root: float
    inside: float
    """At the node with every feature of the best model in; NaN in the k forms."""

    supports: float
    """How many there are."""

    @property
    def hard(self) -> bool:
        """Whether more than seconds are expected."""
        slack, (easy, _) = self._dial()
        return slack > easy and self.supports > FEW

    @property
    def words(self) -> str:
        """What to expect, in two sentences."""
        slack, (_, hopeless) = self._dial()
        if not self.hard:
            expected = "the search is expected to finish in seconds"
        elif slack < hopeless:
            expected = "the search may take minutes or more"
        else:
            expected = "the search will hardly finish: the certified gap is what one gets"
        where = "At the root" if math.isnan(self.inside) else "With the best model's features in"
        short = f"the bound is {slack:.1f} prices of a feature short"
        return f"{where} {short}. As a rule of thumb, {expected}."

    def _dial(self) -> tuple[float, tuple[float, float]]:
        return (self.root, K_SLACKS) if math.isnan(self.inside) else (self.inside, L0_SLACKS)


def outlook(bounder: Bounder, root: Bounded, model: Model, cutoff: float) -> Outlook:
    """The outlook at the root, which is bounded; in the l0 forms one node more will be."""

    def slack(nodes: Bounded) -> float:
        return max(model.value - float(nodes.lower[0]), 0.0) / bounder.price

    program = bounder.program
    free = int(np.count_nonzero(program.free))
    if program.k is not None:
        sizes = range(min(program.k, free) + 1)
        return Outlook(slack(root), math.nan, _float(sum(math.comb(free, size) for size in sizes)))
    state = root.state.copy()
    state[0, model.support] = 1
    inside = bounder.bound(state, model.w[None], np.array([model.b]), cutoff, model.value)
    return Outlook(slack(root), slack(inside), _float(2**free))


def _float(count: int) -> float:
    return float(count) if count.bit_length() < 1024 else math.inf
