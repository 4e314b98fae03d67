"""A linear model as a file holds it, and its coefficients in the places of a program's columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.cli._parameters import Parameters
from sparsebounds.tables import Choice, Recipe

if TYPE_CHECKING:
    from sparsebounds.program import Program

INTERCEPT = "(intercept)"
Label = str | int | float | bool


@dataclass(frozen=True)
class SavedModel:
    """A linear model as a file holds it."""

    features: tuple[str | int, ...] | None
    """Where the coefficients belong; None: one coefficient a column, then perhaps an intercept."""

    coef: tuple[float, ...]
    intercept: float = 0.0
    classes: tuple[Label, Label] | None = None
    lower: float = math.nan
    upper: float = math.nan
    parameters: Parameters | None = None
    """The problem it was fitted to; None where the file does not say."""

    choice: Choice | None = None
    recipe: Recipe | None = None
    """How the table was read; None where the data were arrays."""

    def placed(self, program: Program) -> tuple[Vector, float]:
        """The coefficients, one per column of the program's data, and the intercept."""
        labels = class_labels(program)
        if self.classes is not None and labels is not None and labels != self.classes:
            raise InputError(
                f"The model tells {self.classes[0]!r} from {self.classes[1]!r}, but the response "
                f"holds {labels[0]!r} and {labels[1]!r}."
            )
        coef = np.zeros(program.m)
        if self.features is None:
            if len(self.coef) not in (program.m, program.m + 1):
                raise InputError(
                    f"The model has {len(self.coef)} coefficients, but the data have {program.m} "
                    "features; pass one per feature, and the intercept last if there is one."
                )
            coef[:] = self.coef[: program.m]
            return coef, sum(self.coef[program.m :])
        for feature, value in zip(self.features, self.coef, strict=True):
            coef[column_of(feature, program.feature_names, program.m)] = value
        return coef, self.intercept


def class_labels(program: Program) -> tuple[Label, Label] | None:
    """The two classes as JSON can hold them."""
    if program.classes is None:
        return None
    first, second = (
        label if isinstance(label, (str, int, float)) else str(label) for label in program.classes
    )
    return first, second


def feature(program: Program, column: int) -> str | int:
    """A feature's name, or its column number where there are no names."""
    return column if program.feature_names is None else program.feature_names[column]


def column_of(wanted: str | int, names: Sequence[str] | None, m: int) -> int:
    """The column that a model's feature names, of data with m columns."""
    if isinstance(wanted, str) and names is not None:
        if wanted not in names:
            raise InputError(f"The model uses the feature {wanted!r}, which the data do not have.")
        return names.index(wanted)
    if isinstance(wanted, str) and not wanted.isdecimal():
        raise InputError(
            f"The model uses the feature {wanted!r}, but the data have no feature names; "
            "add an array feature_names, or use a CSV."
        )
    if int(wanted) >= m:
        raise InputError(f"The model uses the feature {wanted}, but the data have {m}, from 0.")
    return int(wanted)
