"""What the estimators that choose k, l0 and ridge themselves share.

Models along the grid for each fold and ridge, each from the last one and without proofs
(`models.Ladder`), in parallel; or, for an information criterion, one path on all rows for
each ridge. The problem that is chosen is then solved. The path on all rows with its ridge takes
longer than that, and is made when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Vector, to_numpy
from sparsebounds._support.deadline import Deadline
from sparsebounds._support.errors import InputError
from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import is_auto
from sparsebounds.estimators._arrays import linear, some_rows, stays
from sparsebounds.estimators._base import LinearEstimator, all_of, one_or_all, parameters
from sparsebounds.estimators._criteria import (
    check_choice,
    check_scores,
    chosen,
    ends,
    information,
)
from sparsebounds.estimators._lockstep import step_models, steps_with
from sparsebounds.estimators._scores import Judge
from sparsebounds.estimators._workers import Workers, clock
from sparsebounds.losses import Loss
from sparsebounds.models import Ladder, Unsettled
from sparsebounds.paths import Path, budgets, plain_path, prices, through
from sparsebounds.program import Program
from sparsebounds.report import Tried
from sparsebounds.solving import Solution, solve_program

OF_PATHS = ("ks", "l0s", "tol", "time_limit", "watch")
"""Options of a path that are not a problem's."""

MOST_FEATURES = 20
"""Where no grid is given: from no feature to all of them, but at most so many."""

Split = tuple[Index, Index]

FACTORS = (0.03, 0.3, 3.0)
"""ridges="auto": the ridge of the rule times these, where folds choose."""

POINTS, NUMBERS = 800, 3e5
"""Points of paths that are worth the start of processes, on tables of up to so many numbers; fewer
on larger ones."""

EFFORT = 0.25
"""The part of its work that exact="auto" takes after a choice: about as long as the folds."""


@parameters
class SparseCV(LinearEstimator):
    """Parameters of a search along paths."""

    ks: Any = None
    _: KW_ONLY
    l0s: Any = None
    ridges: Any = "auto"
    criterion: str = "cv"
    rule: str = "best"
    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None

    _watch = cast(Any, None)
    """Called with (points done, points) of a fold, if it is set: for progress in one process."""

    _paths = cast("list[Path] | None", None)
    """Those on all rows at the chosen ridge, once they are made."""

    @one_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose, then fit on all rows.

        Parameters
        ----------
        X, y, sample_weight : array
            As in `SparseRegressor.fit`; the weights are for the scores too.
        groups : array, optional
            One label per row, for the splitter of the folds.

        Returns
        -------
        self
            The estimator, fitted.
        """
        loss = self._chosen_loss()
        check.check_time_limit(self.time_limit)
        check.check_exact(self.exact)
        if self.n_jobs is not None and not (check.is_whole(self.n_jobs) and self.n_jobs):
            raise InputError(f"n_jobs={self.n_jobs!r} must be a whole number but 0, or None.")
        X, y = self._checked(X, y)
        self._find_groups(X)
        weights = check.all_sample_weights(sample_weight, X.shape[0])
        coded, weights = self._coded(y, weights)
        found = self._search(X, y, weights, loss, coded, groups)
        self._keep(found)
        self._keep_solutions(found)
        self.n_iter_ = sum(solution.stats.newton_steps for solution in found)
        return self

    @property
    def path_(self) -> Any:
        """The path on all rows at the chosen ridge, or one per class."""
        check_is_fitted(self)
        if self._paths is None:
            self._paths = [self._path(solution) for solution in all_of(self.solution_)]
        return one_or_all(self._paths)

    def _path(self, solution: Solution) -> Path:
        """The path that a solution is a point of."""
        if solution.program is None:
            raise InputError(
                "path_ is made of the data when it is first read, and a pickled model does not "
                "hold them; read path_ before the model is pickled."
            )
        found = plain_path(solution.program, self._grid, self.tol, self.time_limit)
        return through(whole(found), solution.program, solution)

    def _evidence(self, at: int) -> dict[str, Any]:
        shown: dict[str, Any] = {"path": all_of(self.path_)[at]}
        if self.criterion == "cv":
            score = self.scoring if isinstance(self.scoring, str) else "score"
            shown["folds"] = Tried(self._remark(), self.cv_results_, score, self._choice())
        return shown

    def _choice(self) -> dict[str, float]:
        """What was chosen, by name."""
        found = {"k": self.best_k_, "l0": self.best_l0_, "ridge": self.ridge_}
        return {name: value for name, value in found.items() if value is not None}

    def _remark(self) -> str:
        best, count = self._choice(), len(self.cv_results_["param_ridge"])
        by = "Cross-validation" if self.criterion == "cv" else self.criterion.upper()
        said = " and ".join(f"{name} = {value:g}" for name, value in best.items())
        edges = ends(best, self.cv_results_, self._most) if self.criterion == "cv" else []
        return " ".join([f"{by} chose {said} of {count} candidates.", *edges])

    def _search(
        self, X: Any, y: Any, weights: Vector, loss: Loss, coded: Sequence[Vector], groups: Any
    ) -> list[Solution]:
        """The solutions at the chosen point, one per problem; `coded` are the responses."""
        check_choice(self.criterion, self.rule, loss)
        if self.criterion == "cv" and stays(X):
            some_rows(X, np.arange(1))  # says now what folds would say later
        options = self._options(loss)
        self._paths = None
        workers = Workers(1 if self._watch is not None else self.n_jobs)
        began = clock()
        ruled = posed(X, coded[0], weights, "auto" if self.ball is None else None, options)
        if options["ks"] is None and options["l0s"] is None:
            options["ks"] = list(range(min(MOST_FEATURES, ruled.units) + 1))
        self._most = int(np.count_nonzero(ruled.free))
        ridges = self._ridges(ruled.ridge)
        if self.criterion == "cv":
            folds = check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups)
            scores = self._scores(
                ruled, loss, X, y, coded, weights, folds, ridges, options, workers
            )
            check_scores(scores)
            at, point = chosen(scores, self.rule)
        else:
            jobs = processes(self.n_jobs, X, len(ridges), coded, options)
            every = Parallel(n_jobs=jobs)(
                delayed(full_paths)(X, coded, weights, ridge, options) for ridge in ridges
            )
            values = [self._informed(found, X, coded, weights, options) for found in every]
            scores = -np.array(values)[:, :, None]
            at, point = chosen(scores, "best")
            self._paths = every[at]
        self._grid, self.ridge_ = options["ks"] or options["l0s"], ridges[at]
        self.best_k_ = None if options["l0s"] else self._grid[point]
        self.best_l0_ = self._grid[point] if options["l0s"] else None
        self.cv_results_ = self._results(options, ridges, scores)
        known: list[list[Index]] = [[] for _ in coded]
        if self._paths is not None:
            known = [[path[point].support] for path in self._paths]
        given = self.ridge_, options, self._grid[point]
        programs = [posed(X, target, weights, *given) for target in self._labelled(coded)]
        solving = partial(
            solve_program, tol=self.tol, exact=self.exact, time_limit=self.time_limit, effort=EFFORT
        )
        work = [
            partial(solving, program, known=some)
            for program, some in zip(programs, known, strict=True)
        ]
        # Classes take about as long as the choice.
        found = (Workers(1) if stays(X) else workers).through(work, clock() - began)
        # Processes, if there are any, give the solutions back without their data.
        found = [replace(one, program=own) for one, own in zip(found, programs, strict=True)]
        if self._paths is not None:
            every = zip(self._paths, programs, found, strict=True)
            self._paths = [through(*each) for each in every]
        return found

    def _scores(
        self,
        ruled: Program,
        loss: Loss,
        X: Any,
        y: Any,
        coded: Sequence[Vector],
        weights: Vector,
        folds: Iterable[Split],
        ridges: list[Any],
        options: dict[str, Any],
        workers: Workers,
    ) -> Vector:
        """The scores on the test rows of models on the training rows: ridges, grid, folds.

        In step where that can be and plain steps do; else one fold after the other, or in parallel.
        """
        shell = self._shell(loss)  # predicts once it has coefficients
        shell.n_features_in_ = X.shape[1]
        scorer = check_scoring(shell, scoring=self._scoring(loss))
        own = self._scoring(loss) is not self.scoring
        rows = np.arange(len(weights))
        splits = [(rows[train], rows[test]) for train, test in folds]
        judge, given = Judge(shell, scorer, own, X, y, weights), (coded, ridges, options)
        if not (own or stays(X)):
            judge.check(splits[0][1], np.column_stack(coded), loss.name, self.scoring)
        found: list[Vector] = []
        with suppress(Unsettled):
            if steps_with(ruled, X, options):
                trains = [train for train, _ in splits]
                models = step_models(ruled, X, weights, trains, *given, workers)
                tested = zip(splits, models, strict=True)
                found = [judge.scores(test, fold, options) for (_, test), fold in tested]
        if not found:
            jobs = processes(self.n_jobs, X, len(splits) * len(ridges), coded, options)
            work = (delayed(fold_scores)(judge, *split, *given) for split in splits)
            found = Parallel(n_jobs=jobs)(work)
        return np.array(found).transpose(1, 2, 0)

    def _scoring(self, loss: Loss) -> Any:
        """The scorer, as scikit-learn takes it; None: that of the estimator itself."""
        return self.scoring

    def _ridges(self, rule: Any) -> list[Any]:
        """The ridges to try: numbers, or [None] beside a ball; `rule` is that of "auto"."""
        if self.ball is not None:
            if not is_auto(self.ridges):
                raise InputError("Both ridges and ball were given; pass only one of them.")
            return [None]
        if is_auto(self.ridges):
            return [factor * rule for factor in (FACTORS if self.criterion == "cv" else (1.0,))]
        ridges = list(self.ridges) if check.is_list(self.ridges) else []
        if not ridges:
            raise InputError(
                f"ridges={self.ridges!r} must be a list of numbers, such as [0.01, 0.1], or 'auto'."
            )
        return [rule if is_auto(one) else check.positive_number("ridge", one) for one in ridges]

    def _options(self, loss: Loss) -> dict[str, Any]:
        """The arguments of every path."""
        if self.ks is not None or self.l0s is not None:
            check.exactly_one(ks=self.ks, l0s=self.l0s)
        return {
            "ks": None if self.ks is None else budgets(self.ks),
            "l0s": None if self.l0s is None else prices(self.l0s),
            "time_limit": self.time_limit,
            "watch": self._watch,
            **self._problem(loss),
        }

    def _informed(
        self,
        paths: list[Path],
        X: Any,
        coded: Sequence[Vector],
        weights: Vector,
        options: dict[str, Any],
    ) -> Vector:
        """The criterion at each point, summed over the problems; NaN where a path has ended."""
        kept, values = weights > 0, np.full(len(options["ks"] or options["l0s"]), np.nan)
        for i, points in enumerate(zip(*paths, strict=False)):
            values[i] = 0.0
            for point, y in zip(points, coded, strict=True):
                if stays(X):
                    z = to_numpy(linear(X, point.coef, point.intercept))
                else:
                    z = X[:, point.support] @ point.values + point.intercept
                problem = point.certificate.problem
                d = len(point.support) + bool(self.fit_intercept)
                s, m = problem.chosen_of(point.support, X.shape[1])
                rows = y[kept], weights[kept], z[kept]
                values[i] += information(self.criterion, options["loss"], *rows, d, s, m)
        return values

    def _results(
        self, options: dict[str, Any], ridges: list[Any], scores: Vector
    ) -> dict[str, Any]:
        """One entry for each ridge and point, ridges outermost."""
        grid = options["ks"] or options["l0s"]
        name = "param_k" if options["l0s"] is None else "param_l0"
        flat = scores.reshape(-1, scores.shape[2])
        table = {
            name: np.tile(np.array(grid), len(ridges)),
            "param_ridge": np.repeat(np.array(ridges), len(grid)),
        }
        if self.criterion != "cv":
            return table | {self.criterion: -flat[:, 0]}
        table |= {f"split{i}_test_score": column for i, column in enumerate(flat.T)}
        return table | {"mean_test_score": flat.mean(axis=1), "std_test_score": flat.std(axis=1)}


def processes(
    n_jobs: int | None, X: Any, paths: int, coded: Sequence[Vector], options: dict[str, Any]
) -> int | None:
    """How many processes go along so many paths for each response: one, where these are short."""
    points = paths * len(coded) * len(options["ks"] or options["l0s"])
    return n_jobs if points * max(1.0, math.prod(X.shape) / NUMBERS) >= POINTS else 1


def posed(
    X: Any, y: Any, weights: Vector, ridge: Any, options: dict[str, Any], at: float | None = None
) -> Program:
    """The program at a point of the grid, the first by default; k = 0 where there is no grid."""
    at = (options["ks"] or options["l0s"] or [0])[0] if at is None else at
    first: dict[str, Any] = {"l0": at} if options["l0s"] else {"k": at}
    problem = {name: value for name, value in options.items() if name not in OF_PATHS}
    program = Program(X, y, sample_weight=weights, ridge=ridge, **first, **problem)
    program.require_convex("cross-validation")
    return program


def full_paths(
    X: Any, coded: Sequence[Vector], weights: Vector, ridge: Any, options: dict[str, Any]
) -> list[Path]:
    """One path per problem."""
    grid, tol, limit = options["ks"] or options["l0s"], options["tol"], options["time_limit"]
    programs = (posed(X, y, weights, ridge, options) for y in coded)
    return [whole(plain_path(program, grid, tol, limit)) for program in programs]


def whole(found: Path) -> Path:
    """A path. Ctrl-C ends the whole choice: half of one would choose otherwise."""
    if found.interrupted:
        raise KeyboardInterrupt
    return found


@one_thread()
def fold_scores(
    judge: Judge,
    train: Index,
    test: Index,
    coded: Sequence[Vector],
    ridges: Sequence[Any],
    options: dict[str, Any],
) -> Vector:
    """The scores of one fold, by ridges and along the grid."""
    part = (some_rows if stays(judge.X) else _safe_indexing)(judge.X, train)
    coded = [target[train] for target in coded]
    models = fold_models(part, coded, judge.weights[train], ridges, options)
    return judge.scores(test, models, options)


def fold_models(
    X: Any, coded: Sequence[Vector], weights: Vector, ridges: Sequence[Any], options: dict[str, Any]
) -> list[list[Any]]:
    """(coef, intercept) of each problem, by ridges and along the grid.

    What is found with one ridge is known with the next.
    """
    grid, watch = options["ks"] or options["l0s"], options["watch"]
    known: list[dict[float, Index]] = [{} for _ in coded]
    found = []
    for ridge in ridges:
        walks = []
        for i, y in enumerate(coded):
            program = posed(X, y, weights, ridge, options)
            ladder = Ladder(program, Deadline.of(options["time_limit"]), known[i])
            models = ladder.climb(grid, watch)
            known[i] = ladder.supports
            walks.append([program.to_user(model.w, model.b) for model in models])
        found.append(list(zip(*walks, strict=False)))
    return found
