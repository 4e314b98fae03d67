"""The paper's linear program with random objectives: do its OPT and its support depend on them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._array import Vector
from sparsebounds.bounds import objective_up
from sparsebounds.experiments.base import DRAWS
from sparsebounds.primalization.paper import paper_points
from sparsebounds.primalization.point import without_budget
from sparsebounds.primalization.ties import tied_point
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation


@dataclass(frozen=True)
class Draws:
    """What the random objectives led to."""

    values: Vector
    """OPT, one an objective that was solved."""

    supports: int
    """Different supports among them."""

    @property
    def spread(self) -> float:
        """The largest OPT less the smallest."""
        return float(np.ptp(self.values))


def random_objectives(program: Program, relaxed: Relaxation) -> Draws:
    """The linear program with each objective, also where its answer is known to be unique."""
    point = tied_point(program, relaxed.w, relaxed.b)
    values, supports = [], set()
    for found in paper_points(point, DRAWS, np.random.default_rng(0)):
        if found is not None:
            w, b = found
            values.append(objective_up(without_budget(program, w), w, b))
            supports.add(tuple(np.flatnonzero(w).tolist()))
    return Draws(np.array(values), len(supports))
