"""Path: models along a grid of budgets k or prices l0, with bounds that are proved at each."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.decimals import DIGITS, percent_up, rounded_down, rounded_up
from sparsebounds._support.errors import InputError
from sparsebounds._support.extras import model_frame
from sparsebounds._support.html import block, grid
from sparsebounds.certificates import Certificate, Verdict
from sparsebounds.paths.rows import Row
from sparsebounds.solving import Outliers, Predicting, Solution, proved


@dataclass(frozen=True, eq=False)
class PathPoint(Predicting):
    """One model of a path, both bounds on the best possible there, and the certificate.

    Attributes
    ----------
    k : int or None
        The budget, in a path of budgets.
    l0 : float or None
        The price, in a path of prices.
    values : array
        The coefficients of the support, in the user's units.
    fixed_in : array of int
        Features proved to be in every best model at this point.
    nodes : int
        Nodes of the exact search; 0 where there was none.
    seconds : float
        Wall time.
    support, intercept, upper, lower, rel_gap, null_gap, status : as in `Solution`
    certificate, outliers, feature_names, classes : as in `Solution`
    """

    k: int | None
    l0: float | None
    support: Index
    values: Vector = field(repr=False)
    intercept: float
    upper: float
    lower: float
    rel_gap: float
    status: Literal["optimal", "bounded"]
    fixed_in: Index = field(repr=False)
    certificate: Certificate = field(repr=False)
    nodes: int = field(repr=False)
    seconds: float = field(repr=False)
    null_gap: float = field(default=math.nan, repr=False)
    outliers: Outliers | None = field(default=None, repr=False)
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    classes: tuple[Any, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, row: Row, tol: float) -> PathPoint:
        """What the user gets of a row of the walk."""
        program, certificate = row.program, row.certificate
        return cls(
            k=program.k,
            l0=program.l0 if isinstance(program.l0, float) else None,
            support=row.support,
            values=row.values,
            intercept=row.intercept,
            fixed_in=row.fixed_in,
            outliers=row.outliers,
            nodes=row.nodes,
            seconds=row.seconds,
            **proved(program, certificate, tol),
        )

    @property
    def coef(self) -> Vector:
        """All coefficients, in the user's units."""
        coef = np.zeros(self.certificate.shape[1])
        coef[self.support] = self.values
        return coef

    @property
    def gap(self) -> float:
        """upper - lower: the model is at most this far from the best possible."""
        return self.upper - self.lower

    @property
    def place(self) -> float:
        """k or l0."""
        return float(self.k) if self.k is not None else float(self.l0 or 0.0)


CertifiedPoint = Solution | PathPoint
"""A model, both bounds on the best possible, and the certificate."""


@dataclass(frozen=True, eq=False, repr=False)
class Path(Sequence[PathPoint]):
    """The points of a path, a sequence: budgets ascending, or prices descending.

    Attributes
    ----------
    points : tuple of PathPoint
        The points, also by `path[i]`.
    kind : {"k", "l0"}
        What the grid is of.
    feature_names : tuple of str or None
        One per column; None where they have no names.
    null : float
        The objective of the best model without features.
    problem : str
        Data, loss and size of w, in words.
    message : str
        Why it ended, in a sentence.
    complete : bool
        Whether every point of the grid was done.
    full_passes : float
        Passes over X.
    newton_steps : int
        Newton steps of all relaxations.
    seconds : float
        Wall time.
    interrupted : bool
        Whether Ctrl-C ended it.

    See Also
    --------
    path : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> path = sb.path(data.X, data.y, ks=range(4), ridge=0.1)
    >>> path.at(2).support.tolist(), len(path), path.complete
    ([0, 19], 4, True)
    >>> bool(np.all(path.lower <= path.upper))
    True
    """

    points: tuple[PathPoint, ...]
    kind: Literal["k", "l0"]
    feature_names: tuple[str, ...] | None
    null: float
    problem: str
    message: str
    complete: bool
    full_passes: float
    newton_steps: int
    seconds: float
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, place: int) -> PathPoint: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[PathPoint, ...]: ...
    def __getitem__(self, place: int | slice) -> PathPoint | tuple[PathPoint, ...]:
        return self.points[place]

    def at(self, value: float) -> PathPoint:
        """The point of a budget k, or of a price l0.

        Parameters
        ----------
        value : float
            One of the grid.

        Returns
        -------
        PathPoint
            The point.

        Raises
        ------
        ValueError
            Where the path has no such point.
        """
        for point in self.points:
            if point.place == value:
                return point
        there = ", ".join(f"{point.place:g}" for point in self.points)
        raise InputError(f"The path has no point at {self.kind}={value!r}; it has {there}.")

    @property
    def ks(self) -> npt.NDArray[np.int64] | None:
        """The budgets; None in a path of prices."""
        return np.array([one.k for one in self], dtype=np.int64) if self.kind == "k" else None

    @property
    def l0s(self) -> Vector | None:
        """The prices; None in a path of budgets."""
        return np.array([one.l0 for one in self]) if self.kind == "l0" else None

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of nonzeros of each model."""
        return np.array([len(point.support) for point in self.points], dtype=np.int64)

    @property
    def coefs(self) -> Vector:
        """Coefficients in the user's units, one row per point."""
        return np.stack([point.coef for point in self.points])

    @property
    def intercepts(self) -> Vector:
        """One number per point."""
        return np.array([point.intercept for point in self.points])

    @property
    def upper(self) -> Vector:
        """Objectives of the models, rounded up."""
        return np.array([point.upper for point in self.points])

    @property
    def lower(self) -> Vector:
        """Proved: no model has a smaller objective at that point."""
        return np.array([point.lower for point in self.points])

    @property
    def rel_gap(self) -> Vector:
        """(upper - lower) / |upper|; see `Program.size`."""
        return np.array([point.rel_gap for point in self.points])

    def verify(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> tuple[Verdict, ...]:
        """Recompute all bounds from the certificates and the data alone.

        Parameters
        ----------
        X, y, sample_weight, offset : array
            The data, as they were passed to `path`.

        Returns
        -------
        tuple of Verdict
            One per point.
        """
        return tuple(point.certificate.verify(X, y, sample_weight, offset) for point in self.points)

    def label(self, feature: int) -> str:
        """A feature's name, or its number."""
        return str(feature) if self.feature_names is None else self.feature_names[feature]

    def to_frame(self) -> Any:
        """A pandas table, one row per point: bounds, sizes, and the coefficients ever used."""
        columns = {
            self.kind: [getattr(point, self.kind) for point in self.points],
            "nonzeros": self.sizes,
            "upper": self.upper,
            "lower": self.lower,
            "rel_gap": self.rel_gap,
            "null_gap": [point.null_gap for point in self.points],
            "status": [point.status for point in self.points],
            "intercept": self.intercepts,
        }
        coefs = self.coefs
        used = np.flatnonzero(np.any(coefs != 0.0, axis=0))
        return model_frame(columns, coefs, used, self.label)

    def plot(self, axes: Any = None) -> Any:
        """The objective with its certified band, the coefficients and the support along the path.

        Parameters
        ----------
        axes : three axes of matplotlib, optional
            Where to draw, one below the other.

        Returns
        -------
        array
            The axes.
        """
        from sparsebounds.paths.plot import draw

        return draw(self, axes)

    def report(self, file: str | os.PathLike[str]) -> None:
        """Write the path into one HTML file that opens offline. Needs the extra `report`."""
        from sparsebounds.report import check_report, report_path

        check_report(file)
        report_path(file, self)

    def _repr_html_(self) -> str:
        rows = [(*printed(point), point.status) for point in self.points]
        head = (self.kind, "nonzeros", "lower", "upper", "gap", "status")
        title = f"Path of {len(self)} point{'s' * (len(self) != 1)}: {self.problem}"
        return block(title, [grid(head, rows), self.message])

    def __repr__(self) -> str:
        lines = [
            f"Path of {len(self.points)} point{'s' * (len(self.points) != 1)}: {self.problem}",
            f"{self.kind:>9} {'nonzeros':>8} {'lower':>12} {'upper':>12} {'gap':>12}  status",
        ]
        for point in self.points:
            place, size, *rest = printed(point, 6)
            cells = f"{place:>9} {size:>8} {' '.join(f'{cell:>12}' for cell in rest)}"
            lines.append(f"{cells}  {point.status}")
        return "\n".join([*lines, self.message])


def printed(point: PathPoint, digits: int = DIGITS) -> tuple[str, ...]:
    """k or l0, nonzeros, both bounds rounded to the safe side, and the gap."""
    return (
        f"{point.place:g}",
        str(len(point.support)),
        rounded_down(point.lower, digits),
        rounded_up(point.upper, digits),
        percent_up(point.rel_gap),
    )


def changes(path: Path, gone: str) -> Iterator[list[str]]:
    """For each point what comes in since the last one, as "+age", and what goes.

    That is groups, or features where these stand alone.
    """
    before: dict[int, str] = {}
    for point in path:
        problem = point.certificate.problem
        names = map(str, problem.groups_of(point.support, path.feature_names))
        now = dict(zip(problem.leaders_of(point.support).tolist(), names, strict=True))
        come = [f"+{now[i]}" for i in sorted(now.keys() - before.keys())]
        yield come + [f"{gone}{before[i]}" for i in sorted(before.keys() - now.keys())]
        before = now
