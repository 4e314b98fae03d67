"""Spec: a sparse program in plain arrays, and the words that repeat it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tests.hostile.losses import CONVEX, TWO_CLASS

import sparsebounds as sb

CLASSES = {
    "truncated": sb.losses.Truncated,
    "tukey": sb.losses.Tukey,
    "geman_mcclure": sb.losses.GemanMcClure,
    "welsch": sb.losses.Welsch,
    "cauchy": sb.losses.Cauchy,
    "huber": sb.losses.Huber,
}
"""Losses with a number of their own."""


@dataclass(frozen=True)
class Spec:
    """Data and problem, as a user passes them."""

    X: Any
    y: Any
    loss: str = "squared"
    parameters: dict[str, float] = field(default_factory=dict)
    k: int | None = None
    l0: Any = None
    ridge: Any = None
    ball: float | None = None
    fit_intercept: bool = False
    standardize: bool = False
    weights: Any = None
    offset: Any = None
    positive: Any = None
    always: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    groups: tuple[int, ...] | None = None
    """The first column of each column's group; `always` and `never` hold whole groups."""

    @property
    def leaders(self) -> tuple[int, ...]:
        """The first column of each column's group; itself, where it stands alone."""
        return self.groups or tuple(range(self.X.shape[1]))

    def chosen(self, support: Iterable[int]) -> tuple[int, ...]:
        """The groups of a support that are counted and priced, by their first columns."""
        return tuple(sorted({self.leaders[j] for j in support if j not in self.always}))

    @property
    def convex(self) -> bool:
        return self.loss in CONVEX

    @property
    def signs_or_y(self) -> Any:
        """y as the mathematics has it: -1 and +1 for two classes."""
        if self.loss not in TWO_CLASS:
            return np.asarray(self.y, dtype=float)
        used = np.asarray(self.y)
        kept = used if self.weights is None else used[np.asarray(self.weights) > 0]
        if np.all(np.isin(kept, (-1.0, 1.0))):
            return np.asarray(used, dtype=float)
        return np.where(used == np.max(kept), 1.0, -1.0)

    @property
    def data(self) -> dict[str, Any]:
        """The arguments that `verify` takes."""
        return {"X": self.X, "y": self.y, "sample_weight": self.weights, "offset": self.offset}

    @property
    def size(self) -> dict[str, Any]:
        """The arguments of the form without k or l0."""
        return {
            "ridge": self.ridge,
            "ball": self.ball,
            "loss": CLASSES[self.loss](**self.parameters) if self.parameters else self.loss,
            "fit_intercept": self.fit_intercept,
            "standardize": self.standardize,
            "positive": False if self.positive is None else self.positive,
            "always": list(self.always) or None,
            "never": list(self.never) or None,
            "groups": None if self.groups is None else list(self.groups),
        }

    @property
    def problem(self) -> dict[str, Any]:
        return {"k": self.k, "l0": self.l0, **self.size}

    def but(self, **changes: Any) -> Spec:
        return replace(self, **changes)

    def words(self) -> str:
        """A line of Python that poses the same problem."""
        shown = {key: value for key, value in {**self.data, **self.problem}.items() if _told(value)}
        if self.parameters:
            name = CLASSES[self.loss].__name__
            inner = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
            shown["loss"] = f"sb.losses.{name}({inner})"
        text = ", ".join(
            f"{key}={_plain(value) if key != 'loss' or not self.parameters else value}"
            for key, value in shown.items()
        )
        return f"dict({text})"


def _told(value: Any) -> bool:
    return value is not None and value is not False


def _plain(value: Any) -> str:
    return repr(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else repr(value)
