"""Cross-validation of a problem's parameters on the training rows, by the CV estimators."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.cli._grids import prices, sizes
from sparsebounds.cli._options import FoldOptions, ProblemOptions, SizeOptions
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._scoring import scoring_of
from sparsebounds.paths import Path
from sparsebounds.report import Tried
from sparsebounds.tables import Reading, Rows, labels_of, placed


@dataclass(frozen=True)
class Folds:
    """What cross-validation chose, and every score behind it."""

    parameters: Parameters
    tried: Tried
    search: Any
    """The estimator that chose."""

    @property
    def path(self) -> Path | None:
        """All training rows at the chosen ridge; None where there is one per class."""
        found = self.search.path_
        return None if isinstance(found, list) else found


@dataclass
class FoldProgress:
    """How far the folds are: counted from the points of their grids.

    Paths are gone along one after the other, or many at a time; those that plain steps did not
    settle together are gone along again, one after the other.
    """

    paths: int
    report: Callable[[FoldProgress], None]
    path: int = 1
    together: int = 1
    done: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        self.began = time.perf_counter()

    def __call__(self, done: int, total: int, together: int = 1) -> None:
        """Take note of a point of one path, or of several together."""
        again = together == 1 < self.together and self.done < self.total
        if done <= self.done and not again:
            self.path += self.together
        self.done, self.total, self.together = done, total, together
        self.report(self)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def line(self) -> str:
        """The same in a clause."""
        points = f"{self.done} of {self.total} points"
        last = self.path + self.together - 1
        path = f"path {self.path}" if self.together == 1 else f"paths {self.path} to {last}"
        return f"{path} of {self.paths} (folds times ridges), {points}"


def chosen_by_folds(
    parameters: Parameters,
    reading: Reading,
    labels: list[Any],
    options: FoldOptions,
    size: SizeOptions,
    problem: ProblemOptions,
    time_limit: float | None,
    report: Callable[[Any], None],
) -> Folds:
    """The parameters with k or l0, and the ridge, that predict best in the folds.

    `labels` are those of more than two classes, each of which is told from the rest. Half of a time
    limit is for the folds, in equal parts.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    from sparsebounds.estimators import FACTORS, SparseClassifierCV, SparseRegressorCV, ends

    assert options.cv is not None
    table, two = reading.train, parameters.loss.two_class
    if table.offset is not None:
        raise InputError("--cv does not take an --offset; choose with -k or --l0 and --ridge.")
    scoring = scoring_of(options.scoring, parameters.loss, len(labels))
    first = reading.against_the_rest(labels[0]).train if labels else table
    program = parameters.program(first)
    y = _coded(table, labels) if two else table.y
    _check_count(options.cv, y, two)
    kind, splitter = (SparseClassifierCV, StratifiedKFold) if two else (SparseRegressorCV, KFold)
    grid = _grid(options, size)
    if options.ridges is not None:
        if parameters["ball"] is not None:
            raise InputError("Both --ball and --ridges were given; pass only one of them.")
        grid["ridges"] = prices("--ridges", options.ridges)
    elif problem.ridge is not None:
        grid["ridges"] = [parameters["ridge"]]
    others = parameters.values.keys() - {"k", "l0", "ridge", "c"}
    given = {name: parameters[name] for name in others}
    given |= {"always": program.problem.always, "never": program.problem.never}
    given["groups"] = placed(table, parameters["groups"])
    tries = 1 if parameters["ball"] is not None else len(grid.get("ridges", FACTORS))
    paths = tries * options.cv * max(1, len(labels))
    search = kind(
        **grid,
        **given,
        rule=options.rule or "best",
        cv=splitter(options.cv, shuffle=True, random_state=reading.choice.seed),
        scoring=scoring.scorer,
        exact=False,  # the chosen problem is solved afterwards
        time_limit=None if time_limit is None else 0.5 * time_limit / (paths + 1),
    )
    search._watch = FoldProgress(paths, report)
    found = search.fit(table.X, y, sample_weight=table.mass)
    ridge = float(found.ridge_) if parameters["ball"] is None else None
    picked = {"k": found.best_k_, "l0": found.best_l0_, "ridge": ridge}
    best = {name: value for name, value in picked.items() if value is not None}
    said = " and ".join(f"{name} = {value:g}" for name, value in best.items())
    scores = found.cv_results_["mean_test_score"]
    words = (
        f"{options.cv} folds of {len(y)} rows chose {said}, of {len(scores)} candidates "
        f"({scoring.words} {scoring.sign * np.nanmax(scores):.4f} at the best of them)."
    )
    words = " ".join(
        [words, *ends(best, found.cv_results_, int(np.count_nonzero(program.free)), "--")]
    )
    chosen = Tried(words, found.cv_results_, scoring.axis, best)
    return Folds(parameters.changed(**best), chosen, found)


def _coded(table: Rows, labels: list[Any]) -> Vector:
    """Classes with these labels by their places, or two as -1 and +1."""
    if labels:
        places = [np.where(table.y == label, float(i), 0.0) for i, label in enumerate(labels)]
        return np.asarray(np.sum(places, axis=0))
    positive = labels_of(table.y)[-1] if table.positive is None else table.positive
    return np.where(table.y == positive, 1.0, -1.0)


def _check_count(folds: int, y: Vector, two: bool) -> None:
    """InputError for more folds than rows, or than rows of the smaller class."""
    if folds > len(y):
        raise InputError(f"--cv {folds} needs {folds} rows, and there are {len(y)}: ask for fewer.")
    least = int(np.min(np.unique(y, return_counts=True)[1]))
    if two and folds > least:
        raise InputError(
            f"--cv {folds} needs {folds} rows of each class, and one has {least}: ask for fewer."
        )


def _grid(options: FoldOptions, size: SizeOptions) -> dict[str, Any]:
    """The grid of k or l0; empty: that of the estimators."""
    if options.l0s is not None or size.l0 is not None:
        return {"l0s": [size.l0] if options.l0s is None else prices("--l0s", options.l0s)}
    if size.k is not None:
        return {"ks": [size.k]}
    return {} if options.ks is None else {"ks": sizes("--ks", options.ks)}
