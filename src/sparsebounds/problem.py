"""Problem: what a program asks, without its data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.losses import Loss
from sparsebounds.matrices import StandardizedMatrix
from sparsebounds.program import Program


@dataclass(frozen=True)
class Problem:
    """A program without its data: enough to pose it again."""

    loss: str
    loss_parameters: Mapping[str, float]
    k: int | None
    l0: float | Vector | None
    ridge: float | Vector | None
    ball: float | None
    fit_intercept: bool
    standardize: tuple[Vector, Vector] | None
    """(center, scale) of the columns."""

    positive: Index
    always: Index
    never: Index
    level: float = 0.0
    """What is subtracted from the response, and from the intercept; see `Program.level`."""

    @classmethod
    def of(cls, program: Program) -> Problem:
        """The problem a program poses."""
        matrix = program.matrix
        scaled = None
        if isinstance(matrix, StandardizedMatrix):
            scaled = (matrix.center, matrix.scale)
        return cls(
            loss=program.loss.name,
            loss_parameters=program.loss.parameters(),
            k=program.k,
            l0=program.l0,
            ridge=program.ridge,
            ball=program.ball,
            fit_intercept=program.fit_intercept,
            standardize=scaled,
            positive=np.flatnonzero(program.positive),
            always=np.flatnonzero(program.always),
            never=np.flatnonzero(program.never),
            level=program.level,
        )

    def program(
        self, X: Any, y: Any, m: int, *, loss: Loss, sample_weight: Any, offset: Any
    ) -> Program:
        """The same problem on data of m columns."""
        positive = np.zeros(m, dtype=np.bool_)
        positive[self.positive] = True
        return Program(
            X,
            y,
            k=self.k,
            l0=self.l0,
            ridge=self.ridge,
            ball=self.ball,
            loss=loss,
            fit_intercept=self.fit_intercept,
            standardize=False if self.standardize is None else self.standardize,
            sample_weight=sample_weight,
            offset=offset,
            positive=positive,
            always=self.always.tolist(),
            never=self.never.tolist(),
        ).at_level(self.level)

    @property
    def digest(self) -> str:
        """Identifies the problem: equal ones, and no others, have the same."""
        found = hashlib.sha256()
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "level" and not value:
                continue
            parts = value if isinstance(value, tuple) else (value,)
            found.update(f"{field.name}:".encode())
            for part in parts:
                array = isinstance(part, np.ndarray)
                found.update(part.tobytes() if array else repr(part).encode())
                found.update(b";")
        return found.hexdigest()
