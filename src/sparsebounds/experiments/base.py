"""What every experiment has: settings, one tidy table, figures and findings made from the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

Tick = Callable[[], None]
"""Called after each of an experiment's steps."""

Part = dict[str, npt.NDArray[Any]]
"""Some rows of a table, one array per column."""

DRAWS = 20
"""Random objectives of the paper's linear program."""


class Experiment(ABC):
    """One experiment of the paper. `quick` makes it small: it tests the machinery, no more."""

    number: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, quick: bool = False) -> None:
        self.quick = quick

    @property
    def folder(self) -> str:
        """Where its results go, inside the folder for all of them."""
        return f"experiment{self.number}"

    @property
    @abstractmethod
    def steps(self) -> int:
        """How often `run` calls its tick."""

    @abstractmethod
    def run(self, tick: Tick) -> pl.DataFrame:
        """The table: one row per point."""

    @abstractmethod
    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        """Matplotlib figures by file name."""

    @abstractmethod
    def findings(self, table: pl.DataFrame) -> list[str]:
        """What the table shows, a sentence or two each."""


def columns(table: pl.DataFrame, **where: str | float) -> Part:
    """The rows with these values, one array per column."""
    for name, value in where.items():
        table = table.filter(pl.col(name) == value)
    return {name: table[name].to_numpy() for name in table.columns}


def count(true: npt.NDArray[Any]) -> str:
    """How many of how many, in words."""
    return f"{int(np.sum(true))} of {len(true)}"


def spread(values: npt.NDArray[Any], unit: str = "") -> str:
    """Least, greatest and median, in words; what is 1e-5 of the greatest, or less, is 0."""
    floor = 1e-5 * float(np.max(values))
    ends = (np.min(values), np.max(values), np.median(values))
    low, high, middle = (f"{value if abs(value) > floor else 0.0:.3g}{unit}" for value in ends)
    return f"{low} to {high} (median {middle})"
