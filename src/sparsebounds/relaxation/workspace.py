"""Workspace: the working columns and their products, shared by relaxations on the same data.

Another k, l0 or fixing of the same program needs much the same columns. Their inner products with
one another are most of what a warm relaxation costs, so a path keeps them from point to point.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds._support.errors import InputError
from sparsebounds.bounds import DualPoint
from sparsebounds.program import Program
from sparsebounds.relaxation.smooth import WorkingPart
from sparsebounds.relaxation.sparse_part import working_part

BATCHES, SPARE = 4, 1 << 20
"""Batches of columns that there is room for from the start, and numbers that it has at most."""

KEPT = 4
"""Dual points remembered: the next relaxation starts from one of the last few."""


class Workspace:
    """Columns read so far, shared by relaxations of the same data, loss and intercept.

    Parameters
    ----------
    program : Program
        The first of them.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> space = sb.relaxation.Workspace(program)
    >>> three = sb.relax(program, workspace=space)
    >>> four = sb.relax(program.with_budget(4), start=three, workspace=space)
    >>> four.value <= three.value
    True
    """

    def __init__(self, program: Program) -> None:
        self._first = program
        self.index: Index = np.zeros(0, dtype=np.int64)
        self.batches: list[Index] = []
        """The same as it was read: products of the same columns, batch by batch, are the same."""

        self._proved: deque[DualPoint] = deque(maxlen=KEPT)

    @cached_property
    def smooth(self) -> WorkingPart:
        """F on the columns read so far."""
        return working_part(self._first)

    def check(self, program: Program) -> None:
        """Refuse a program on other data: dual vectors are taken over with their scores."""
        ours, theirs = self._first.problem, program.problem
        same = (ours.standardize is theirs.standardize) and ours.level == theirs.level
        if not same or program.data is not self._first.data or program.loss is not self._first.loss:
            raise InputError(
                "workspace was made for other data; share it only between programs that "
                "with_budget or with_price made of one another."
            )

    def places(self, features: Index) -> Index:
        """Where columns that were read are."""
        order = np.argsort(self.index)
        found: Index = order[np.searchsorted(self.index, features, sorter=order)]
        return found

    def scored(self, point: DualPoint) -> bool:
        """Whether a dual point is one that a relaxation in this workspace ended with."""
        return any(point is one for one in self._proved)

    def keep(self, point: DualPoint) -> None:
        """Remember what a relaxation ended with."""
        self._proved.append(point)

    def add(self, program: Program, features: Index, deadline: Deadline = NEVER) -> None:
        """Read more columns."""
        if len(features):
            # In order, all columns of a tall matrix are that matrix itself.
            features = np.sort(features) if program.matrix.tall else features
            if not (len(self.index) or program.matrix.thin or program.matrix.tall):
                # Room for the batches to come: growing copies what is there.
                room = min(BATCHES * len(features), program.m, SPARE // program.n)
                self.smooth.reserve(room)
            with deadline.timed("product", self.smooth.price(len(features))):
                self.smooth.read(program.matrix, features)
            self.index = np.concatenate((self.index, features))
            self.batches.append(features)
