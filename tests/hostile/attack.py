"""What all attacks share: a name, a weight, and one case as a function of a generator."""

from __future__ import annotations

import traceback
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Finding:
    """A fault: its kind in a few words, and what is needed to understand it."""

    kind: str
    detail: str


class Attack(ABC):
    """One way to attack the package. `weight` is its share of the cases that are drawn."""

    name: str
    weight: float = 1.0
    patience: float = 60.0
    """Seconds after which a case counts as hanging."""

    @abstractmethod
    def case(self, rng: np.random.Generator) -> Finding | None:
        """One attack; the fault that it found, or None."""


def generator(seed: int, case: int, name: str) -> np.random.Generator:
    """The generator of one case: equal whatever ran before it."""
    return np.random.default_rng([seed, case, zlib.crc32(name.encode())])


def crash(what: str, error: BaseException) -> Finding:
    """An exception that the package does not document, with the last lines of its trace."""
    trace = "".join(traceback.format_exception(error)[-4:])
    frames = traceback.extract_tb(error.__traceback__)
    at = next((f for f in reversed(frames) if "sparsebounds" in f.filename), None)
    place = "" if at is None else f" in {at.filename.rpartition('sparsebounds/')[2]}:{at.name}"
    return Finding(f"{type(error).__name__}{place}", f"{what}\n{trace}")
