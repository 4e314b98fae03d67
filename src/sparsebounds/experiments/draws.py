"""The paper's linear program with random objectives: do its OPT and its support depend on them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.experiments.base import DRAWS
from sparsebounds.primalization import paper_models, tied_point
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
    drawn = paper_models(point, DRAWS, np.random.default_rng(0))
    models = [model for model in drawn if model is not None]
    supports = {tuple(model.support.tolist()) for model in models}
    return Draws(np.array([model.value for model in models]), len(supports))
