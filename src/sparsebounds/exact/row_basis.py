"""What all bounds of a search over rows rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.bounds import WIDER, RowBounds, Switches, objective_up, outer_range, scale_of
from sparsebounds.exact.row_ranges import range_cuts
from sparsebounds.fitting import Model
from sparsebounds.program import Program

STRICT = 1e-9
"""What a bound must exceed the best value by, relatively, to rule out best models."""


@dataclass(frozen=True, eq=False)
class Basis:
    """A program on the features that are allowed, and the models that a search is about."""

    kept: Index
    """These features."""

    bounds: RowBounds
    """Without spans."""

    eta: float
    """The multiplier of the ball; 0 without one."""

    boxes: tuple[Vector, ...]
    """Dual vectors that cut the range of the intercept."""

    level: float
    """Models up to this objective are searched."""

    @classmethod
    def of(
        cls, program: Program, model: Model, eta: float, boxes: Sequence[Vector], level: float
    ) -> Basis:
        """Models up to a level, at least those up to the value of a model.

        Nodes may be split at intercepts around that of the model.
        """
        eta, kept = 0.0 if program.ball is None else eta, np.flatnonzero(~program.never)
        value = objective_up(program, model.w, model.b, wider=WIDER)
        level = max(level, value * (1.0 + STRICT))
        outer = outer_range(program, level, boxes, claim=True)
        cuts = range_cuts(model.b, scale_of(program.loss), *outer[0])
        part, switches = program.restricted(kept), Switches(len(kept), program.n, cuts)
        bounds = RowBounds(part, switches, outer, eta=eta, claim=True)
        return cls(kept, bounds, eta, tuple(boxes), level)
