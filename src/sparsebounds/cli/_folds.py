"""Cross-validation of a problem's parameters on the training rows, by the CV estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.cli._grids import prices, sizes
from sparsebounds.cli._options import FoldOptions, ProblemOptions, SizeOptions
from sparsebounds.cli._parameters import Parameters
from sparsebounds.paths import Path
from sparsebounds.program import Program
from sparsebounds.report import Tried
from sparsebounds.tables import Rows

FEATURES, RIDGES = 20, (0.01, 0.1, 1.0)
"""What is tried where nothing is said."""


@dataclass(frozen=True)
class Folds:
    """What cross-validation chose, and every score behind it."""

    parameters: Parameters
    tried: Tried
    path: Path
    """All training rows at the chosen ridge."""


def chosen_by_folds(
    parameters: Parameters,
    table: Rows,
    options: FoldOptions,
    size: SizeOptions,
    problem: ProblemOptions,
    seed: int,
    time_limit: float | None,
) -> Folds:
    """The parameters with k or l0, and the ridge, that predict best in the folds.

    Half of a time limit is for the folds, in equal parts.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    from sparsebounds.estimators import SparseClassifierCV, SparseRegressorCV

    assert options.cv is not None
    if table.offset is not None:
        raise InputError("--cv does not take an --offset; choose with -k or --l0 and --ridge.")
    program = parameters.program(table)
    two = program.loss.two_class
    _check_count(options.cv, table.y, two)
    kind, splitter = (SparseClassifierCV, StratifiedKFold) if two else (SparseRegressorCV, KFold)
    grid = _grid(options, size, program)
    if parameters["ball"] is None:
        tried = RIDGES if problem.ridge is None else [problem.ridge]
        grid["ridges"] = tried if options.ridges is None else prices("--ridges", options.ridges)
    elif options.ridges is not None:
        raise InputError("Both --ball and --ridges were given; pass only one of them.")
    others = parameters.values.keys() - {"k", "l0", "ridge", "c"}
    given = {name: parameters[name] for name in others}
    given |= {"always": program.problem.always, "never": program.problem.never}
    paths = len(grid.get("ridges", [None])) * options.cv + 1
    found = kind(
        **grid,
        **given,
        rule=options.rule or "best",
        cv=splitter(options.cv, shuffle=True, random_state=seed),
        time_limit=None if time_limit is None else 0.5 * time_limit / paths,
    ).fit(table.X, table.y, sample_weight=table.weights)
    best = {"k": found.best_k_, "l0": found.best_l0_}
    best |= {"ridge": float(found.ridge_)} if parameters["ball"] is None else {}
    best = {name: value for name, value in best.items() if value is not None}
    said = " and ".join(f"{name} = {value:g}" for name, value in best.items())
    scores, name = found.cv_results_["mean_test_score"], "accuracy" if two else "R2"
    words = (
        f"{options.cv} folds of {len(table.y)} rows chose {said}, of {len(scores)} candidates "
        f"({name} {np.nanmax(scores):.4f} at the best of them)."
    )
    chosen = Tried(words, found.cv_results_, name, best)
    return Folds(parameters.changed(**best), chosen, found.path_)


def _check_count(folds: int, y: Vector, two: bool) -> None:
    """InputError for more folds than rows, or than rows of the smaller class."""
    if folds > len(y):
        raise InputError(f"--cv {folds} needs {folds} rows, and there are {len(y)}: ask for fewer.")
    least = int(np.min(np.unique(y, return_counts=True)[1]))
    if two and folds > least:
        raise InputError(
            f"--cv {folds} needs {folds} rows of each class, and one has {least}: ask for fewer."
        )


def _grid(options: FoldOptions, size: SizeOptions, program: Program) -> dict[str, Any]:
    if options.l0s is not None or size.l0 is not None:
        return {"l0s": [size.l0] if options.l0s is None else prices("--l0s", options.l0s)}
    if size.k is not None:
        return {"ks": [size.k]}
    most = min(FEATURES, program.m)
    return {"ks": list(range(1, most + 1)) if options.ks is None else sizes("--ks", options.ks)}
