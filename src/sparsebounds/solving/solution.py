"""Solution: a sparse model, both bounds on the best possible, and the certificate."""

from __future__ import annotations

import math
import os
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds._support.deadline import Limit
from sparsebounds._support.decimals import counted
from sparsebounds._support.errors import InputError
from sparsebounds._support.html import block, grid, interval
from sparsebounds.bounds import Screening
from sparsebounds.certificates import Certificate
from sparsebounds.exact import Outlook
from sparsebounds.primalization import GapBounds, Primalization, gap_bounds, primalize
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation
from sparsebounds.solving.outliers import Outliers
from sparsebounds.solving.predicting import Predicting
from sparsebounds.solving.proof import proved
from sparsebounds.solving.sentences import status_words

if TYPE_CHECKING:
    from sparsebounds.paths import Path
    from sparsebounds.report import Tried


@dataclass(frozen=True)
class SolutionStats:
    """What a solution cost.

    Attributes
    ----------
    full_passes : float
        Passes over X.
    newton_steps : int
        Newton steps of all relaxations.
    models : int
        Supports refitted.
    nodes : int
        Nodes of the exact search; 0 where there was none.
    seconds : float
        Wall time.
    tightening : tuple of float
        Non-convex losses: the lower bound on each box, the first before any tightening.
    """

    full_passes: float
    newton_steps: int
    models: int
    nodes: int
    seconds: float
    tightening: tuple[float, ...] = ()

    interrupted: bool = False
    """Whether Ctrl-C ended a part of it; for convex losses the relaxation or the search for models,
    not the exact search."""


@dataclass(frozen=True, eq=False)
class Solution(Predicting):
    """A model that obeys the user's own constraint, and what is proved about it.

    Attributes
    ----------
    coef : array
        Coefficients in the user's units.
    intercept : float
        0 where the problem has none.
    support : array of int
        Where coef is not zero.
    feature_names : tuple of str or None
        One per column; None where they have no names.
    upper : float
        The model's objective, rounded up.
    lower : float
        No model that obeys the constraints has a smaller objective.
    rel_gap : float
        ``(upper - lower) / |upper|``; see `Program.size`.
    status : {"optimal", "bounded"}
        "optimal": proved to within the tolerance. "bounded": the gap is wider.
    message : str
        How far the model is from the best possible, in a sentence.
    fixed_in : array of int
        Features proved to be in every best model.
    fixed_out : array of int
        Features proved to be in no best model.
    relaxation : Relaxation
        The convex bidual.
    certificate : Certificate
        The proof, to save and to verify.
    stats : SolutionStats
        What it cost.
    program : Program or None
        The problem, with its data. It is not pickled.
    null_gap : float
        ``(upper - lower) / |null|``, null the objective of the best model without features.
    outlook : Outlook or None
        How long an exact search would go on; None where none began, or it is done.
    outliers : Outliers or None
        Truncated loss: what is proved about the rows; None where nothing was tried.
    classes : tuple or None
        The two labels of the response; None where it is a number.

    See Also
    --------
    solve : Makes it.
    Certificate : The proof, to save and to verify.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> solution = sb.solve(data.X, data.y, k=3, ridge=0.1)
    >>> print(solution.coef[solution.support].round(2))
    [1.   0.94 0.92]
    >>> print(solution.predict(data.X[:2]).round(2), data.y[:2].round(2))
    [-0.07  1.07] [-0.94  1.38]
    >>> solution.certificate.verify(data.X, data.y).ok
    True
    """

    coef: Vector = field(repr=False)
    intercept: float
    support: Index
    feature_names: tuple[str, ...] | None = field(repr=False)
    upper: float
    lower: float
    rel_gap: float
    status: Literal["optimal", "bounded"]
    message: str
    fixed_in: Index = field(repr=False)
    fixed_out: Index = field(repr=False)
    relaxation: Relaxation = field(repr=False)
    certificate: Certificate = field(repr=False)
    stats: SolutionStats = field(repr=False)
    program: Program | None = field(repr=False)
    null_gap: float = math.nan
    outlook: Outlook | None = field(default=None, repr=False)
    outliers: Outliers | None = field(default=None, repr=False)
    classes: tuple[Any, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        program: Program,
        certificate: Certificate,
        coef: Vector,
        intercept: float,
        screened: Screening,
        relaxed: Relaxation,
        stats: SolutionStats,
        tol: float,
        more: str = "",
        outlook: Outlook | None = None,
    ) -> Self:
        """The solution that a certificate is about; `more` is added to its message."""
        far = program.distance(certificate.gap, certificate.upper)
        return cls(
            coef=coef,
            intercept=intercept,
            support=nonzeros(coef),
            message=f"The model is {far}.{more}",
            fixed_in=screened.fixed_in,
            fixed_out=screened.fixed_out,
            relaxation=relaxed,
            stats=stats,
            program=program,
            outlook=outlook,
            **proved(program, certificate, tol),
        )

    def among(self, rows: Index) -> Self:
        """The same solution where the data were these rows of others: these are then numbered."""
        return self if self.outliers is None else replace(self, outliers=self.outliers.among(rows))

    @property
    def group_support(self) -> tuple[str | int, ...]:
        """The groups of the model, by name; features, where they are not in groups."""
        return self._groups(self.support)

    @property
    def groups_in(self) -> tuple[str | int, ...]:
        """The groups proved to be in every best model."""
        return self._groups(self.fixed_in)

    @property
    def groups_out(self) -> tuple[str | int, ...]:
        """The groups proved to be in no best model."""
        return self._groups(self.fixed_out)

    def _groups(self, features: Index) -> tuple[str | int, ...]:
        return self.certificate.problem.groups_of(features, self.feature_names)

    @cached_property
    def primalization(self) -> Primalization:
        """The relaxation's point made sparse: `primalize`, with its 20 random objectives."""
        return primalize(self._posed("primalize"), self.relaxation)

    @cached_property
    def bounds(self) -> GapBounds:
        """What Shapley and Folkman's lemma says of the gap: `gap_bounds`."""
        return gap_bounds(self._posed("gap_bounds"), self.relaxation)

    def advice(
        self, *, program: Program | None = None, time_limit: Limit = None
    ) -> tuple[str, ...]:
        """What can be done about a wide gap, in at most three sentences; none if it is narrow.

        How long exact search would take; a larger ridge or another k, where that leaves at most
        four fifths of the gap; columns that are nearly equal. The numbers are computed here, by a
        few solves, each with up to 15% of the nodes of the solution's own search, unless X is
        large.

        Parameters
        ----------
        program : Program, optional
            The problem, where the solution does not hold it any more.
        time_limit : float, optional
            Seconds after which no further solve is begun.

        Returns
        -------
        tuple of str
            The sentences.
        """
        from sparsebounds.solving.advice import advice

        return advice(program or self._posed("advice"), self, time_limit)

    def _posed(self, function: str) -> Program:
        if self.program is None:
            remedy = (
                f"pass the problem to {function} as program=sb.Program(...)."
                if function in ("report", "advice")
                else f"call sb.{function}(program, solution.relaxation) with the program."
            )
            raise InputError(f"This solution does not hold its data any more; {remedy}")
        return self.program

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"program": None}

    # Copies are no pickles: they keep the program.

    def __copy__(self) -> Self:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = copied = object.__new__(type(self))
        copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied

    def report(
        self,
        file: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        names: Any = None,
        path: Path | None = None,
        program: Program | None = None,
        folds: Tried | None = None,
    ) -> None:
        """Write all that was found and proved into one HTML file that opens offline.

        Needs the extra `report`.

        Parameters
        ----------
        file : path
            Where to write it.
        X, y, sample_weight, offset : array, optional
            Rows that the model has not seen, to show how it predicts; else the training rows do.
        names : list of str, optional
            The features' names.
        path : Path, optional
            One of the same problem, whose certified band is drawn; else a short one is made.
        program : Program, optional
            The problem, where the solution does not hold it any more.
        folds : Tried, optional
            A cross-validation that chose the model.
        """
        from sparsebounds.exact import near_around
        from sparsebounds.paths import path_around
        from sparsebounds.report import Held, check_report, report_solution

        if (X is None) != (y is None):
            raise InputError("X and y go together: pass the rows' features and their response.")
        posed = program or self._posed("report")
        check_report(file)
        held = None if X is None else Held(X, y, sample_weight, offset).checked(posed)
        path = path_around(posed, self.stats.seconds) if path is None else path
        said = self.advice(program=posed)
        near = near_around(posed, self.stats.seconds)
        shown = {"held": held, "names": names, "path": path, "folds": folds, "near": near}
        report_solution(file, posed, self, advice=said, **shown)

    def _repr_html_(self) -> str:
        names = self.feature_names
        rows = [
            (str(i) if names is None else names[i], f"{self.coef[i]:.6g}")
            for i in self.support.tolist()
        ]
        kind = status_words(self.status, self.rel_gap)
        return block(
            f"Solution: {counted(len(self.support), 'feature')}, {kind}",
            [
                interval(self.lower, self.upper, self.rel_gap),
                grid(("feature", "coefficient"), [*rows, ("(intercept)", f"{self.intercept:.6g}")]),
                self.message,
            ],
        )

    @property
    def gap(self) -> float:
        """upper - lower: the model is at most this far from the best possible."""
        return self.upper - self.lower
