"""Choosing k, l0 and ridge: against scikit-learn's own loops, by hand, and in company."""

from __future__ import annotations

import itertools
import math
import os
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.datasets import make_correlated
from sparsebounds.estimators import FACTORS, _cv
from sparsebounds.estimators._criteria import check_scores, chosen
from sparsebounds.models.lockstep import Lockstep, State
from sparsebounds.paths import walk

SAMPLE = make_correlated(90, 15, 0.5, nonzeros=4, snr=10.0, random_state=3)
X, Y = SAMPLE.X, SAMPLE.y
CLASSES = np.where(Y > 0, "yes", "no")


def test_scores_are_those_of_scikit_learns_loop() -> None:
    """Warm starts along a path change nothing but the time: every cell is a plain fit's score."""
    cv = KFold(4, shuffle=True, random_state=0)
    grid, ridges = [1, 3, 5], [0.02, 0.5]
    model = sb.SparseRegressorCV(grid, ridges=ridges, cv=cv).fit(X, Y)
    results = model.cv_results_
    cells = itertools.product(ridges, grid)
    for i, (ridge, k) in enumerate(cells):
        assert (results["param_ridge"][i], results["param_k"][i]) == (ridge, k)
        theirs = cross_val_score(sb.SparseRegressor(k, ridge=ridge), X, Y, cv=cv)
        ours = [results[f"split{fold}_test_score"][i] for fold in range(4)]
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert results["mean_test_score"][i] == pytest.approx(theirs.mean(), abs=1e-6)
        assert results["std_test_score"][i] == pytest.approx(theirs.std(), abs=1e-6)
    best = int(np.argmax(results["mean_test_score"]))
    assert model.best_k_ == results["param_k"][best]
    assert model.ridge_ == results["param_ridge"][best]
    assert model.best_l0_ is None


def test_the_model_is_the_point_of_its_path_and_proved() -> None:
    model = sb.SparseRegressorCV(cv=2, exact=False).fit(X, Y)
    assert model.path_.ks.tolist() == list(range(16))
    point = model.path_.at(model.best_k_)
    assert np.array_equal(model.coef_, point.coef)
    assert (model.lower_, model.upper_, model.gap_) == (point.lower, point.upper, point.rel_gap)
    assert model.lower_ <= model.upper_
    assert model.certificate_.verify(X, Y).ok
    assert all(verdict.ok for verdict in model.path_.verify(X, Y))
    assert set(np.flatnonzero(SAMPLE.coef)) <= set(np.flatnonzero(model.coef_))
    rule = sb.SparseRegressor().fit(X, Y).ridge_
    assert np.unique(model.cv_results_["param_ridge"]) == pytest.approx(rule * np.array(FACTORS))
    assert model.ridge_ in model.cv_results_["param_ridge"]
    by_bic = sb.SparseRegressorCV(criterion="bic").fit(X, Y)  # which knows no shrinking
    assert by_bic.ridge_ == pytest.approx(rule)
    # By default the model that is chosen is searched for, and proved to be the best.
    searched = sb.SparseRegressorCV(cv=2).fit(X, Y)
    assert searched.best_k_ == model.best_k_
    assert model.lower_ <= searched.lower_ <= searched.upper_ <= model.upper_
    assert max(searched.gap_, model.gap_) <= 1e-4


def test_one_standard_error() -> None:
    # Folds of the best point, 3: mean 1, standard error 0.1 sqrt(2) / sqrt(2).
    scores = np.array([[[0.5, 0.5], [0.85, 0.89], [0.9, 0.95], [0.9, 1.1]]])
    assert chosen(scores, "best") == (0, 3)
    assert chosen(scores, "1se") == (0, 2)
    scores[0, 0] = np.nan
    assert chosen(scores, "1se") == (0, 2)
    best = sb.SparseRegressorCV(range(9), cv=3, exact=False).fit(X, Y)
    small = sb.SparseRegressorCV(range(9), cv=3, exact=False, rule="1se").fit(X, Y)
    table = best.cv_results_
    top = int(np.argmax(table["mean_test_score"]))
    folds = np.array([table[f"split{i}_test_score"][top] for i in range(3)])
    least = folds.mean() - folds.std(ddof=1) / math.sqrt(3)
    assert small.best_k_ == int(np.flatnonzero(table["mean_test_score"] >= least)[0])
    assert small.best_k_ <= best.best_k_


@pytest.mark.parametrize("criterion", ["aic", "bic", "ebic"])
def test_criteria_by_hand(criterion: str) -> None:
    weights = np.where(np.arange(90) % 3, 1.0, 2.0)
    model = sb.SparseRegressorCV(range(9), criterion=criterion).fit(X, Y, weights)
    n = weights.sum()
    for point, value in zip(model.path_, model.cv_results_[criterion], strict=True):
        z = X @ point.coef + point.intercept
        d = len(point.support) + 1
        expected = n * math.log(np.sum(weights * (Y - z) ** 2) / n)
        expected += 2 * d if criterion == "aic" else d * math.log(n)
        if criterion == "ebic":
            expected += 2 * math.log(math.comb(15, len(point.support)))
        assert value == pytest.approx(expected, rel=1e-9)
    assert model.best_k_ == int(np.argmin(model.cv_results_[criterion]))
    assert model.best_k_ >= 4
    if criterion == "ebic":
        assert model.best_k_ == 4


def test_likelihoods_of_classes_and_counts() -> None:
    model = sb.SparseClassifierCV(range(4), criterion="bic").fit(X, CLASSES)
    for point, value in zip(model.path_, model.cv_results_["bic"], strict=True):
        z = (X @ point.coef + point.intercept) * np.where(CLASSES == "yes", 1, -1)
        d = len(point.support) + 1
        assert value == pytest.approx(2 * np.logaddexp(0, -z).sum() + d * math.log(90))
    counts = np.round(np.exp(0.3 * Y))
    model = sb.SparseRegressorCV(range(4), loss="poisson", criterion="aic").fit(X, counts)
    for point, value in zip(model.path_, model.cv_results_["aic"], strict=True):
        z = X @ point.coef + point.intercept
        assert value == pytest.approx(
            2 * np.sum(np.exp(z) - counts * z) + 2 * (len(point.support) + 1)
        )


def test_classes_one_k_for_all() -> None:
    iris = load_iris()
    labels = iris.target_names[iris.target]
    model = sb.SparseClassifierCV(cv=3).fit(iris.data, labels)
    assert len(model.path_) == 3
    assert model.coef_.shape == (3, 4)
    assert np.all(np.count_nonzero(model.coef_, axis=1) <= model.best_k_)
    assert np.all(model.lower_ <= model.upper_)
    for label, certificate in zip(model.classes_, model.certificate_, strict=True):
        assert certificate.verify(iris.data, labels == label).ok
    assert model.score(iris.data, labels) > 0.85
    balanced = sb.SparseClassifierCV([1, 2], cv=3, class_weight="balanced").fit(X, CLASSES)
    weights = np.where(CLASSES == "yes", 90 / (2 * np.sum(CLASSES == "yes")), 0)
    weights = np.where(CLASSES == "no", 90 / (2 * np.sum(CLASSES == "no")), weights)
    assert balanced.certificate_.verify(X, CLASSES, weights).ok


def test_classes_are_chosen_by_the_log_loss() -> None:
    grid = {"ks": [1, 2], "ridges": [0.01, 1.0], "exact": False}
    ours = sb.SparseClassifierCV(**grid, cv=3).fit(X, CLASSES)
    theirs = sb.SparseClassifierCV(**grid, cv=3, scoring="neg_log_loss").fit(X, CLASSES)
    scores = [found.cv_results_["mean_test_score"] for found in (ours, theirs)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    # Folds may lack a class, as a single row does.
    lone = sb.SparseClassifierCV(**grid, cv=LeaveOneOut()).fit(X[:30], CLASSES[:30])
    assert np.all(lone.cv_results_["mean_test_score"] < 0)
    # Without probabilities it is the accuracy.
    hinge = sb.SparseClassifierCV(**grid, loss="squared_hinge", cv=3).fit(X, CLASSES)
    assert np.all(hinge.cv_results_["mean_test_score"] >= 0)


def test_prices_and_a_ball() -> None:
    model = sb.SparseRegressorCV(l0s=[0.01, 1.0, 0.1], ball=5.0, cv=3).fit(X, Y)
    assert model.cv_results_["param_l0"].tolist() == [1.0, 0.1, 0.01]
    assert model.best_l0_ in (1.0, 0.1, 0.01)
    assert (model.best_k_, model.ridge_) == (None, None)
    assert np.sum((model.coef_ * X.std(axis=0)) ** 2) <= 5.0 * (1 + 1e-9)
    assert model.certificate_.verify(X, Y).ok


def test_an_exact_refit() -> None:
    model = sb.SparseRegressorCV([2], cv=3, ridges=[0.01], exact=True).fit(X, Y)
    assert model.status_ == "optimal"
    assert model.lower_ >= model.path_[0].lower - 1e-12
    assert model.certificate_.verify(X, Y).ok


def test_frames_names_and_copies() -> None:
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(15)])
    model = sb.SparseRegressorCV([1, 3], cv=3, always="gene 2").fit(frame, Y)
    assert model.coef_[2] != 0
    assert model.path_.feature_names == tuple(frame.columns)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(frame), model.predict(frame))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), sb.SparseClassifierCV([1, 3], cv=3))
    assert pipeline.fit(X, CLASSES).score(X, CLASSES) > 0.7


def test_groups_and_weights_are_routed() -> None:
    groups = np.arange(90) % 3
    model = sb.SparseRegressorCV([1, 2], cv=GroupKFold(3)).fit(X, Y, groups=groups)
    by_hand = list(GroupKFold(3).split(X, Y, groups))
    same = sb.SparseRegressorCV([1, 2], cv=by_hand).fit(X, Y)
    assert (
        model.cv_results_["mean_test_score"].tolist()
        == same.cv_results_["mean_test_score"].tolist()
    )
    with config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(groups=True, sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, routed).fit(
            X, Y, groups=groups, sample_weight=np.where(groups == 0, 2.0, 1.0)
        )
    assert pipeline[-1].best_k_ in (1, 2)


def threads_at_hand(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """A score: how many threads the process's BLAS may use, with a product to load it first."""
    model.predict(X)
    return float(max(pool["num_threads"] for pool in threadpoolctl.threadpool_info()))


def own_process(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """A score: the number of the process."""
    return float(os.getpid())


def test_processes_keep_to_their_share_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"l0s": [1.0, 0.1], "cv": 3}
    alone = sb.SparseRegressorCV(**grid).fit(X, Y)
    # What is short is not worth a process.
    few = sb.SparseRegressorCV(**grid, n_jobs=2, scoring=own_process).fit(X, Y)
    assert np.all(few.cv_results_["mean_test_score"] == os.getpid())
    monkeypatch.setattr(_cv, "POINTS", 0)
    shared = sb.SparseRegressorCV(**grid, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(
        alone.cv_results_["mean_test_score"], shared.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert (alone.best_l0_, alone.coef_.tolist()) == (shared.best_l0_, shared.coef_.tolist())
    others = sb.SparseRegressorCV(**grid, n_jobs=2, scoring=own_process).fit(X, Y)
    assert np.all(others.cv_results_["mean_test_score"] != os.getpid())
    counted = sb.SparseRegressorCV(**grid, n_jobs=2, scoring=threads_at_hand).fit(X, Y)
    share = max(1, joblib.cpu_count() // 2)
    assert np.max(counted.cv_results_["mean_test_score"]) <= share


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (sb.SparseRegressorCV([1], l0s=[1.0]), "Both ks and l0s were given"),
        (sb.SparseRegressorCV([]), "ks is empty"),
        (sb.SparseRegressorCV(ridges=0.1), r"ridges=0.1 must be a list"),
        (sb.SparseRegressorCV(ridges=[]), r"ridges=\[\] must be a list"),
        (sb.SparseRegressorCV(ridges=[0.0]), "ridge=0.0 must be finite and greater than 0"),
        (sb.SparseRegressorCV(ridges=[0.1], ball=1.0), "Both ridges and ball were given"),
        (sb.SparseRegressorCV(criterion="mdl"), "criterion='mdl' is not known; pass 'cv'"),
        (sb.SparseRegressorCV(rule="2se"), "rule='2se' is not known"),
        (sb.SparseRegressorCV(criterion="bic", rule="1se"), "rule='1se' needs folds"),
        (sb.SparseRegressorCV(loss="huber", criterion="bic"), "needs a likelihood"),
        (sb.SparseRegressorCV(loss="logistic"), "pass 'squared', 'huber', 'poisson', 'tukey'"),
        (sb.SparseRegressorCV([1], loss="tukey"), "cross-validation needs a convex loss"),
    ],
)
def test_wrong_parameters(model: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.fit(X, Y)


def test_ctrl_c_ends_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    # A path cut short would lack candidates, and another k would be chosen without a word.
    data = make_correlated(60, 20, 0.5, nonzeros=4, random_state=0)
    step = walk.Walk.step

    def interrupted(self: walk.Walk, value: float) -> None:
        if value == 3:
            raise KeyboardInterrupt
        step(self, value)

    def stopped(self: Lockstep, state: State) -> None:
        raise KeyboardInterrupt

    model = sb.SparseRegressorCV(range(6), ridges=[0.1], cv=3)
    with monkeypatch.context() as patched:
        patched.setattr(Lockstep, "improve", stopped)
        with pytest.raises(KeyboardInterrupt):
            model.fit(data.X, data.y)
    with monkeypatch.context() as patched:
        patched.setattr(walk.Walk, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            clone(model).set_params(criterion="bic").fit(data.X, data.y)
        model.fit(data.X, data.y)
        with pytest.raises(KeyboardInterrupt):
            _ = model.path_
    assert len(model.path_) == 6


def test_the_path_is_made_once_and_from_the_data() -> None:
    model = sb.SparseClassifierCV(range(4), cv=3).fit(X, CLASSES)
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="read path_ before the model is pickled"):
        _ = copy.path_
    path = model.path_
    assert model.path_ is path
    assert path.at(model.best_k_).certificate is model.certificate_
    assert np.array_equal(path.at(model.best_k_).coef, model.coef_[0])
    assert all(verdict.ok for verdict in path.verify(X, CLASSES))
    assert np.all(np.diff(path.upper) <= 0)
    again = pickle.loads(pickle.dumps(model)).path_
    assert again.upper.tolist() == path.upper.tolist()
    # Another fit has another path.
    assert model.fit(X[:60], CLASSES[:60]).path_.null != path.null
    with pytest.raises(NotFittedError):
        _ = sb.SparseRegressorCV().path_


def test_candidates_without_a_score_are_said() -> None:
    scores = np.zeros((1, 3, 2))
    check_scores(scores)
    scores[0, 2, 1] = np.nan
    with pytest.warns(UserWarning, match="1 of 3 candidates"):
        check_scores(scores)
    with pytest.raises(InputError, match="No candidate has a score"):
        check_scores(np.full((1, 3, 2), np.nan))
