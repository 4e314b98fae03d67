"""NearOptimal: all supports whose best model is nearly as good as the best of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.decimals import rounded_down, rounded_up
from sparsebounds._support.extras import library, model_frame
from sparsebounds._support.printable import printable

USED, UNUSED = "#0072B2", "#F2F2F2"
"""Okabe and Ito's blue on light grey: they differ in lightness, for any eye and in print."""

MOST_NAMES = 60
"""Features and supports that get a label of their own in the picture."""


@dataclass(frozen=True)
class NearOptimal:
    """Supports in order of value, best first, and what is proved about the list.

    "Within eps" means: the objective is at most ``optimum + eps max(|optimum|, |null|)``, null the
    objective of the best model without features.

    Attributes
    ----------
    eps : float
        How near was asked for.
    supports : tuple of tuple[int, ...]
        The features with a nonzero coefficient, one tuple per model.
    values : array
        The objective of each model, rounded up.
    coefficients : tuple of array
        For each support its coefficients, in the user's units.
    intercepts : array
        One per model.
    lower : float
        No model that obeys the constraints has a smaller objective.
    upper : float
        The best objective found.
    complete : bool
        Whether it is proved that no support within eps is missing.
    complete_to : float
        No support within this is missing: eps, or less (NaN: nothing is proved).
    message : str
        What is proved about the list, in a sentence.
    m : int
        The number of features of the problem.
    nodes : int
        Nodes of the search.
    seconds : float
        Wall time.
    feature_names : tuple of str or None
        One per column; None where they have no names.

    See Also
    --------
    near_optimal : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> near = sb.near_optimal(sb.Program(data.X, data.y, k=3, ridge=0.1), 0.2)
    >>> near.complete, near.core.tolist()
    (True, [19])
    """

    eps: float
    supports: tuple[tuple[int, ...], ...] = field(repr=False)
    values: Vector = field(repr=False)
    coefficients: tuple[Vector, ...] = field(repr=False)
    intercepts: Vector = field(repr=False)
    lower: float
    upper: float
    complete: bool
    complete_to: float
    message: str
    m: int
    nodes: int
    seconds: float
    feature_names: tuple[str, ...] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.supports)

    @property
    def optimum(self) -> tuple[float, float]:
        """The best possible objective lies between these two."""
        return self.lower, self.upper

    @property
    def coef(self) -> Vector:
        """The models as rows, in the user's units."""
        rows = np.zeros((len(self), self.m))
        for row, support, values in zip(rows, self.supports, self.coefficients, strict=True):
            row[list(support)] = values
        return rows

    @property
    def frequency(self) -> Vector:
        """For each feature, the share of the supports that use it."""
        return self._uses / max(len(self), 1)

    @property
    def core(self) -> Index:
        """The features that every support uses."""
        return np.flatnonzero(self._uses == len(self))

    @property
    def unused(self) -> Index:
        """The features that no support uses; if the list is complete, that is a proof."""
        return np.flatnonzero(self._uses == 0)

    @property
    def _uses(self) -> Vector:
        count = np.zeros(self.m)
        for support in self.supports:
            count[list(support)] += 1.0
        return count

    def label(self, feature: int) -> str:
        """A feature's name, or its number."""
        return str(feature) if self.feature_names is None else self.feature_names[feature]

    def to_frame(self) -> Any:
        """A pandas table, one row per model: value, size, support, intercept, coefficients used."""
        columns = {
            "value": self.values,
            "size": [len(support) for support in self.supports],
            "support": [tuple(map(self.label, support)) for support in self.supports],
            "intercept": self.intercepts,
        }
        return model_frame(columns, self.coef, np.flatnonzero(self._uses), self.label)

    def plot(self, ax: Any = None) -> Any:
        """Which model uses which feature: rows by value, columns by how often. Returns the axes."""
        plt = library("matplotlib.pyplot", "plot", "plot needs matplotlib")
        from matplotlib.colors import ListedColormap

        used = np.flatnonzero(self._uses)
        used = used[np.argsort(-self._uses[used], kind="stable")]
        place = {int(feature): column for column, feature in enumerate(used)}
        cells = np.zeros((len(self), len(used)))
        for row, support in zip(cells, self.supports, strict=True):
            row[[place[feature] for feature in support]] = 1.0
        if ax is None:
            wanted = 2.0 + 0.3 * len(used), 2.2 + 0.2 * len(self)
            size = np.clip(wanted, (4.5, 3.0), (14.0, 10.0))
            ax = plt.subplots(figsize=tuple(size), layout="constrained")[1]
        colors = ListedColormap([UNUSED, USED])
        ax.pcolormesh(cells, cmap=colors, vmin=0.0, vmax=1.0, edgecolor="white", linewidth=0.5)
        ax.invert_yaxis()
        if len(used) <= MOST_NAMES:
            names = [printable(self.label(int(feature))) for feature in used]
            ax.set_xticks(np.arange(len(used)) + 0.5, names, rotation=90)
        if len(self) <= MOST_NAMES:
            ax.set_yticks(np.arange(len(self)) + 0.5, [f"{value:.5g}" for value in self.values])
            ax.set_ylabel("objective")
        else:
            ax.set_ylabel("supports, best first")
        ax.tick_params(length=0)
        ax.set_xlabel("features, most frequent first")
        kind = "all" if self.complete else "incomplete"
        ax.set_title(f"{len(self)} supports within {self.eps:g} ({kind})")
        return ax

    def __str__(self) -> str:
        core = ", ".join(map(self.label, self.core.tolist())) or "none"
        return (
            f"{self.message} The optimum is between {rounded_down(self.lower, 6)} and "
            f"{rounded_up(self.upper, 6)}. Features in every support listed: {core}; in none: "
            f"{len(self.unused)} of {self.m}."
        )
