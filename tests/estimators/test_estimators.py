"""The estimators as users meet them: units, weights, labels, frames, searches, proofs."""

from __future__ import annotations

import io
import math
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import threadpoolctl
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

REGRESSION = make_correlated(80, 12, nonzeros=4, random_state=0)
CLASSES = make_correlated(80, 12, nonzeros=4, classes=True, random_state=0)
IRIS = load_iris()


def same_model(one: Any, other: Any, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=rtol, atol=1e-9)


# The model and its proof.


@pytest.mark.parametrize("options", [{"k": 3}, {"l0": 0.05}, {"k": 3, "ball": 1.0}])
@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_regressor_proves_its_bounds(loss: str, options: dict[str, Any]) -> None:
    X, y = REGRESSION.X, np.abs(np.round(REGRESSION.y))
    model = sb.SparseRegressor(loss=loss, **options).fit(X, y)
    assert model.lower_ <= model.upper_
    assert model.gap_ == model.solution_.rel_gap >= 0
    assert model.status_ == ("optimal" if model.gap_ <= model.tol else "bounded")
    verdict = model.certificate_.verify(X, y)
    assert verdict.ok, verdict.message
    assert model.lower_ <= verdict.lower <= verdict.upper <= model.upper_
    assert (model.certificate_.lower, model.certificate_.upper) == (model.lower_, model.upper_)
    if "l0" not in options:
        assert np.count_nonzero(model.coef_) <= 3
    assert model.n_iter_ > 0
    z = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), np.exp(z) if loss == "poisson" else z)


def test_all_features_are_ridge_regression() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    model = sb.SparseRegressor(k=100, ridge=0.2, standardize=False).fit(X, y)
    same_model(model, Ridge(alpha=0.2 * len(y)).fit(X, y))
    assert model.status_ == "optimal"


def test_all_features_are_logistic_regression() -> None:
    X, y = CLASSES.X, CLASSES.y
    model = sb.SparseClassifier(k=100, ridge=0.05, standardize=False).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-10, max_iter=1000).fit(X, y)
    same_model(model, theirs, rtol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_two_classes_of_any_label(loss: str) -> None:
    X, labels = CLASSES.X, np.where(CLASSES.y > 0, "sick", "healthy")
    model = sb.SparseClassifier(k=3, loss=loss).fit(X, labels)
    assert model.classes_.tolist() == ["healthy", "sick"]
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)
    assert np.count_nonzero(model.coef_) <= 3
    assert model.lower_ <= model.upper_
    assert model.certificate_.verify(X, labels).ok
    assert np.array_equal(model.predict(X) == "sick", model.decision_function(X) > 0)
    assert model.score(X, labels) > 0.75
    assert hasattr(model, "predict_proba") == (loss == "logistic")
    same_model(model, sb.SparseClassifier(k=3, loss=loss).fit(X, CLASSES.y), rtol=0)


def test_more_classes_are_one_against_the_rest() -> None:
    X, y = IRIS.data, IRIS.target_names[IRIS.target]
    model = sb.SparseClassifier(k=2).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == model.gap_.shape == model.lower_.shape == (3,)
    assert np.all(np.count_nonzero(model.coef_, axis=1) <= 2)
    assert np.all(model.lower_ <= model.upper_)
    assert model.status_ == ("optimal" if np.all(model.gap_ <= model.tol) else "bounded")
    for label, certificate, row in zip(
        model.classes_, model.certificate_, model.coef_, strict=True
    ):
        assert certificate.verify(X, y == label).ok
        one = sb.SparseClassifier(k=2).fit(X, y == label)
        assert np.array_equal(one.coef_[0], row)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.85


def test_probabilities_far_from_the_data() -> None:
    for y in (IRIS.target, IRIS.target == 2):
        model = sb.SparseClassifier(k=2).fit(IRIS.data, y)
        logs = model.predict_log_proba(1e6 * IRIS.data[::30])
        assert np.all(np.isfinite(logs))
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)


def test_poisson_far_from_the_data_is_infinite_without_a_warning() -> None:
    X, y = REGRESSION.X, np.abs(np.round(REGRESSION.y))
    model = sb.SparseRegressor(k=2, loss="poisson").fit(X, y)
    assert np.all(np.isin(model.predict(1e9 * np.sign(model.coef_)[None]), np.inf))


# Units and the automatic ridge.


def test_units_of_columns_do_not_matter() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    factors = 2.0 ** np.arange(-6, 6)
    for fit_intercept in (True, False):
        model = sb.SparseRegressor(k=3, fit_intercept=fit_intercept)
        plain = clone(model).fit(X, y)
        scaled = clone(model).fit(X * factors, y)
        assert np.array_equal(plain.solution_.support, scaled.solution_.support)
        np.testing.assert_allclose(plain.predict(X), scaled.predict(X * factors), rtol=1e-9)
        np.testing.assert_allclose(plain.coef_, scaled.coef_ * factors, rtol=1e-9)


def test_units_of_y_do_not_matter_to_the_squared_loss() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    one = sb.SparseRegressor(k=3).fit(X, y)
    other = sb.SparseRegressor(k=3).fit(X, 1000.0 * y + 5.0)
    assert one.ridge_ == other.ridge_
    np.testing.assert_allclose(1000.0 * one.coef_, other.coef_, rtol=1e-9)
    assert other.gap_ == pytest.approx(one.gap_, rel=1e-3, abs=1e-6)


def test_the_automatic_ridge() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    n = len(y)
    assert sb.SparseRegressor().fit(X, y).ridge_ == pytest.approx(1 / math.sqrt(n))
    assert sb.SparseClassifier().fit(X, y > 0).ridge_ == pytest.approx(0.25 / math.sqrt(n))
    counts = np.round(np.exp(0.3 * y))
    poisson = sb.SparseRegressor(loss="poisson").fit(X, counts)
    assert poisson.ridge_ == pytest.approx(counts.mean() / math.sqrt(n))
    bare = sb.SparseRegressor(standardize=False).fit(3.0 * X, y)
    assert bare.ridge_ == pytest.approx(9.0 * X.var(axis=0).mean() / math.sqrt(n))
    through_origin = sb.SparseRegressor(standardize=False, fit_intercept=False).fit(X, y)
    assert through_origin.ridge_ == pytest.approx((X**2).mean() / math.sqrt(n))
    assert sb.SparseRegressor(ridge=0.3).fit(X, y).ridge_ == 0.3
    assert sb.SparseRegressor(ball=1.0).fit(X, y).ridge_ is None


# Weights.


@pytest.mark.parametrize("model", [sb.SparseRegressor(k=3), sb.SparseClassifier(k=3)])
def test_integer_weights_are_repeated_rows(model: Any, rng: np.random.Generator) -> None:
    X, y = CLASSES.X, CLASSES.y
    weights = rng.integers(0, 4, size=len(y))
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.ridge_ == repeated.ridge_
    same_model(weighted, repeated)
    assert weighted.lower_ == pytest.approx(repeated.lower_, rel=1e-6)
    assert weighted.certificate_.verify(X, y, weights).ok


def test_class_weights_are_sample_weights(rng: np.random.Generator) -> None:
    X, y = IRIS.data[20:], IRIS.target[20:]
    weights = rng.uniform(0.5, 2.0, size=len(y))
    factors = {0: 3.0, 1: 1.0, 2: 0.5}
    product = weights * np.array([factors[label] for label in y])
    one = sb.SparseClassifier(k=2, class_weight=factors).fit(X, y, weights)
    same_model(one, sb.SparseClassifier(k=2).fit(X, y, product), rtol=0)

    mass = np.bincount(y, weights)
    balanced = sb.SparseClassifier(k=2, class_weight="balanced").fit(X, y, weights)
    product = weights * (mass.sum() / (3 * mass))[y]
    same_model(balanced, sb.SparseClassifier(k=2).fit(X, y, product), rtol=0)


# Kinds of data.


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_sparse_is_dense(loss: str, rng: np.random.Generator) -> None:
    X = np.where(rng.random((60, 15)) < 0.3, rng.normal(size=(60, 15)), 0.0)
    y = X[:, 2] - X[:, 7] + 0.1 * rng.normal(size=60)
    kind = sb.SparseRegressor if loss == "squared" else sb.SparseClassifier
    y = y if loss == "squared" else y > 0
    dense = kind(k=3).fit(X, y)
    for convert in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        stored = kind(k=3).fit(convert(X), y)
        same_model(dense, stored)
        np.testing.assert_allclose(stored.predict(convert(X)), dense.predict(X))
        assert stored.certificate_.verify(X, y).ok


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_their_names(frame: Any) -> None:
    names = [f"gene {j}" for j in range(12)]
    X, y = frame(dict(zip(names, REGRESSION.X.T, strict=True))), REGRESSION.y
    options: dict[str, Any] = {"k": 2, "always": ["gene 5"], "never": "gene 0"}
    model = sb.SparseRegressor(**options).fit(X, y)
    assert model.feature_names_in_.tolist() == names
    assert model.coef_[5] != 0
    assert model.coef_[0] == 0
    assert np.count_nonzero(model.coef_) <= 3
    assert model.certificate_.verify(X, y).ok

    selector = sb.SparseSelector(**options).set_output(
        transform="pandas" if frame is pd.DataFrame else "polars"
    )
    kept = selector.fit_transform(X, y)
    assert isinstance(kept, frame)
    assert list(kept.columns) == [names[j] for j in np.flatnonzero(model.coef_)]
    assert selector.get_feature_names_out().tolist() == list(kept.columns)


def test_positive_coefficients() -> None:
    model = sb.SparseRegressor(k=6, positive=True).fit(REGRESSION.X, -REGRESSION.y)
    assert np.all(model.coef_ >= 0)


# The selector.


def test_selector_keeps_the_columns_of_the_model() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    selector = sb.SparseSelector(k=3).fit(X, y)
    model = sb.SparseRegressor(k=3).fit(X, y)
    assert np.array_equal(selector.get_support(), model.coef_ != 0)
    assert np.array_equal(selector.transform(X), X[:, model.coef_ != 0])
    assert selector.inverse_transform(selector.transform(X)).shape == X.shape
    assert (selector.lower_, selector.upper_) == (model.lower_, model.upper_)
    assert selector.certificate_.verify(X, y).ok
    kept = selector.transform(sp.csr_array(X))
    assert np.array_equal(kept.toarray(), selector.transform(X))


def test_selector_for_classes() -> None:
    X, y = IRIS.data, IRIS.target_names[IRIS.target]
    selector = sb.SparseSelector(k=1, loss="logistic").fit(X, y)
    model = sb.SparseClassifier(k=1).fit(X, y)
    assert np.array_equal(selector.support_, (model.coef_ != 0).any(axis=0))


def test_selector_forgets_the_names_of_an_earlier_fit() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    selector = sb.SparseSelector(k=2).fit(pd.DataFrame(X).add_prefix("x"), y)
    assert hasattr(selector, "feature_names_in_")
    assert not hasattr(selector.fit(X, y), "feature_names_in_")


# In company.


def test_grid_search_changes_the_model() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    grid = {"k": [1, 4], "ridge": [0.01, 10.0, "auto"]}
    search = GridSearchCV(sb.SparseRegressor(), grid, cv=3).fit(X, y)
    assert search.best_params_["k"] == 4
    assert search.best_params_["ridge"] != 10.0
    assert len(set(search.cv_results_["mean_test_score"])) == 6
    assert np.count_nonzero(search.best_estimator_.coef_) == 4


def threads_at_hand(model: sb.SparseRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """A score: how many threads the process's BLAS may use, with a product to load it first."""
    model.predict(X)
    return float(max(pool["num_threads"] for pool in threadpoolctl.threadpool_info()))


def test_a_grid_in_parallel_does_not_oversubscribe_threads() -> None:
    """Two processes share the cores between them: nothing of ours raises joblib's limit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    grid = {"k": [1, 2], "ridge": [0.01, 0.1]}
    search = GridSearchCV(sb.SparseRegressor(), grid, cv=5, n_jobs=2, scoring=threads_at_hand)
    search.fit(X, X[:, 0] + rng.normal(size=60))
    share = max(1, joblib.cpu_count() // 2)
    assert np.max(search.cv_results_["mean_test_score"]) <= share


def test_pipeline_selects_then_classifies() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    selector = sb.SparseSelector(k=4, loss="logistic")
    pipeline = make_pipeline(StandardScaler(), selector, LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) > 0.9
    assert pipeline[-1].coef_.shape == (1, 4)


def test_sample_weights_are_routed() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    weights = np.where(np.arange(len(y)) < 40, 1.0, 0.0)
    with config_context(enable_metadata_routing=True):
        model = sb.SparseRegressor(k=3).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        scores = cross_validate(
            model.set_score_request(sample_weight=True),
            X,
            y,
            cv=2,
            params={"sample_weight": np.ones(len(y))},
        )
    assert pipeline[-1].certificate_.shape == (40, 12)
    assert np.all(scores["test_score"] > 0)


@pytest.mark.parametrize(
    "model", [sb.SparseRegressor(k=3), sb.SparseClassifier(k=3), sb.SparseSelector(k=3)]
)
def test_copies(model: Any) -> None:
    X, y = CLASSES.X, CLASSES.y
    model = clone(model).fit(X, y)
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(stream), clone(model).fit(X, y)):
        assert copy.get_params() == model.get_params()
        assert copy.lower_ == model.lower_
        assert copy.certificate_.verify(X, y).ok
        how = "transform" if hasattr(model, "transform") else "predict"
        assert np.array_equal(getattr(copy, how)(X), getattr(model, how)(X))


# What users can get wrong.


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (sb.SparseRegressor(k=3, l0=0.1), "Both k=3 and l0=0.1 were given; set k=None"),
        (sb.SparseRegressor(k=None), "Neither k nor l0 was given"),
        (sb.SparseRegressor(ridge=0.1, ball=1.0), "Both ridge and ball were given"),
        (sb.SparseRegressor(ridge=None), "Neither ridge nor ball was given"),
        (
            sb.SparseRegressor(ridge="Auto"),
            "ridge='Auto' must be a number greater than 0, or 'auto'",
        ),
        (sb.SparseRegressor(loss="logistic"), "pass 'squared', 'huber', 'poisson', 'tukey'"),
        (sb.SparseRegressor(loss="poisson"), "the Poisson loss needs y >= 0"),
        (sb.SparseClassifier(loss="squared"), "pass 'logistic', 'squared_hinge', 'ramp'"),
        (sb.SparseClassifier(), "Unknown label type"),
        (sb.SparseSelector(loss="least squares"), "is not a loss"),
        (sb.SparseRegressor(always="age"), "X has no column names"),
    ],
)
def test_errors_are_sentences(model: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.fit(REGRESSION.X, REGRESSION.y)


def test_too_little_data() -> None:
    X = REGRESSION.X
    with pytest.raises(ValueError, match="y holds one class only"):
        sb.SparseClassifier().fit(X, np.ones(80))
    with pytest.raises(ValueError, match="one class only"):
        sb.SparseClassifier().fit(X, CLASSES.y, sample_weight=CLASSES.y > 0)
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        sb.SparseRegressor().fit(X[:1], [1.0])
    with pytest.raises(ValueError, match="is all zero"):
        sb.SparseRegressor(loss="poisson").fit(X, np.zeros(80))
    through_origin = sb.SparseRegressor(loss="poisson", fit_intercept=False)
    assert through_origin.fit(X, np.zeros(80)).ridge_ == pytest.approx(80**-0.5)


def test_both_default_k_and_none_yield_to_l0() -> None:
    X, y = REGRESSION.X, REGRESSION.y
    one = sb.SparseRegressor(l0=0.05).fit(X, y)
    same_model(one, sb.SparseRegressor(k=None, l0=0.05).fit(X, y), rtol=0)


def test_time_limit_is_shared() -> None:
    model = sb.SparseClassifier(k=2, time_limit=0.03).fit(IRIS.data, IRIS.target)
    assert np.all(model.lower_ <= model.upper_)
