"""Mistakes are named before any work is done: the argument at fault, and the step that mends it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sparsebounds import SparseClassifier, SparseClassifierCV, SparseRegressor, SparseRegressorCV
from sparsebounds._support.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
WORDS = np.where(X[:, 0] > 0.0, "yes", "no")


@pytest.mark.parametrize("kind", [SparseClassifier, SparseClassifierCV])
@pytest.mark.parametrize("wrong", [(X, WORDS[:-1]), (X[:, 0], WORDS), (X[None], WORDS)])
def test_labels_of_text_are_no_mistake_of_a_classifier(kind: Any, wrong: tuple[Any, Any]) -> None:
    """What is wrong is said, and not that another estimator is for classes."""
    with pytest.raises(ValueError, match=r"inconsistent|Expected 2D|dim") as told:
        kind().fit(*wrong)
    assert "take SparseClassifier" not in str(told.value)
    with pytest.raises(InputError, match="take SparseClassifier"):
        SparseRegressor(k=1).fit(X, WORDS)


def test_dates_are_named() -> None:
    days = pd.date_range("2026-01-01", periods=60)
    for name, cells in {
        "seen": days,
        "zoned": days.tz_localize("UTC"),
        "stay": days - days[0],
        "day": days.date,
    }.items():
        frame = pd.DataFrame({"age": X[:, 0], name: cells})
        with pytest.raises(InputError, match=f"X holds dates or times in '{name}': make numbers"):
            SparseClassifier(k=1).fit(frame, WORDS)


@pytest.mark.parametrize("scoring", ["r2", "f1", "neg_mean_poisson_deviance"])
def test_scorers_that_fail_are_named_before_the_folds(
    monkeypatch: pytest.MonkeyPatch, scoring: str
) -> None:
    monkeypatch.setattr("sparsebounds.estimators._cv.step_models", lambda *_: pytest.fail("late"))
    with pytest.raises(InputError, match=f"scoring='{scoring}' fails on these data"):
        SparseClassifierCV(scoring=scoring).fit(X, WORDS)


def test_scorers_that_work_do_so() -> None:
    found = SparseClassifierCV(scoring="roc_auc", exact=False).fit(X, WORDS)
    assert found.cv_results_["mean_test_score"].max() > 0.9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time_limit": -1}, "time_limit=-1 must be a number of seconds"),
        ({"time_limit": "a"}, "time_limit='a' must be a number of seconds"),
        ({"n_jobs": "2"}, "n_jobs='2' must be a whole number but 0"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number but 0"),
        ({"exact": "no"}, "exact='no'"),
    ],
)
def test_numbers_are_those_that_were_given(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        SparseRegressorCV(**given).fit(X, X[:, 0])


def test_one_row_per_fold_has_no_share_of_its_variance() -> None:
    with pytest.raises(InputError, match=r"R\^2 needs two rows that differ in each of them"):
        SparseRegressorCV(cv=12).fit(X[:12], X[:12, 0])
    given = {"cv": 12, "scoring": "neg_mean_squared_error"}
    assert SparseRegressorCV(**given).fit(X[:12], X[:12, 0]).best_k_ is not None


def test_a_report_of_a_pickled_model_says_what_it_lacks(tmp_path: Path) -> None:
    model = pickle.loads(pickle.dumps(SparseRegressor(k=1).fit(X, X[:, 0])))
    with pytest.raises(InputError, match="a pickled model does not hold: fit the model again"):
        model.report(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_scorers_that_no_null_model_satisfies_work() -> None:
    """Predictions of 0 have no gamma deviance, and no coefficient divides by none."""
    data = np.random.default_rng(1).uniform(0.5, 2.0, size=(80, 4))
    given: dict[str, Any] = {"ks": [1, 2], "fit_intercept": False, "exact": False}
    y = 2.0 * data[:, 0] + data[:, 1]
    found = SparseRegressorCV(scoring="neg_mean_gamma_deviance", **given).fit(data, y)
    assert found.best_k_ == 2

    def per_feature(model: Any, rows: Any, truth: Any) -> float:
        return float(model.score(rows, truth)) / len(np.flatnonzero(model.coef_))

    assert SparseRegressorCV(scoring=per_feature, **given).fit(data, y).best_k_ in (1, 2)


def test_dates_after_an_empty_cell_are_dates() -> None:
    days = [None, *pd.date_range("2026-01-01", periods=59).date]
    frame = pd.DataFrame({"age": X[:, 0], "day": pd.Series(days, dtype=object)})
    with pytest.raises(InputError, match="X holds dates or times in 'day'"):
        SparseClassifier(k=1).fit(frame, WORDS)
