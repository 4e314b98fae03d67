"""What fitted estimators show: summaries, supports, reports; and what they say of a wrong X."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import sparsebounds as sb
from sparsebounds._support.errors import InputError

NAMES = ["age", "dose", "bmi", "lot", "pulse"]


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(80, 5)) * [10, 1, 3, 4000, 1], columns=NAMES)
    return X, 5 * X["dose"].to_numpy() + 0.02 * X["lot"].to_numpy() + 3 * rng.normal(size=80)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_summary_is_the_models(table: Any, standardize: bool) -> None:
    X, y = table
    weights = np.arange(80) % 3.0
    model = sb.SparseRegressor(k=2, ridge=1e-3, standardize=standardize)
    model.fit(X, y, sample_weight=weights)
    found = model.summary()
    mean = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    effect = model.coef_ * spread
    order = [i for i in np.argsort(-np.abs(effect)) if model.coef_[i]]
    assert found.columns["feature"] == [NAMES[i] for i in order]
    assert found.columns["coefficient"] == [model.coef_[i] for i in order]
    assert found.columns["per standard deviation"] == pytest.approx([effect[i] for i in order])
    assert found.columns["proved"] == [i in model.solution_.fixed_in for i in order]
    assert found.columns["share"] == pytest.approx(np.abs(effect[order]) / np.abs(effect).sum())
    assert found.intercepts == {"": model.intercept_}
    frame = pd.DataFrame(found.columns)
    assert frame.shape == (len(found), 5) == (2, 5)
    lines = str(found).splitlines()
    assert lines[0] == "SparseRegressor: 2 of 5 features, proved optimal"
    assert lines[2].split() == [
        "feature",
        "coefficient",
        "per",
        "standard",
        "deviation",
        "proved",
        "share",
    ]
    assert [line.split()[0] for line in lines[3:6]] == [*found.columns["feature"], "(intercept)"]
    assert ("in every best model" in str(found)) == any(found.columns["proved"])
    weight = f"ridge={model.ridge_:g}"
    assert (found.terms == f"Proved for k=2, {weight} and these 5 columns.") == any(
        found.columns["proved"]
    )
    assert str(found).endswith(found.terms)
    assert "<td" in found._repr_html_()
    assert str(pickle.loads(pickle.dumps(model)).summary()) == str(found)


def test_a_summary_says_how_far_the_proof_goes(table: Any) -> None:
    X, y = table
    rng = np.random.default_rng(0)
    many = np.hstack([X, rng.normal(size=(80, 60))])
    model = sb.SparseRegressor(k=8, ridge=1e-4, exact=False).fit(many, y)
    assert model.status_ == "bounded"
    title = str(model.summary()).splitlines()[0]
    assert title.startswith("SparseRegressor: 8 of 65 features, proved within ")
    assert float(title.split("within ")[1].split("%")[0]) >= 100 * model.gap_


def test_one_summary_of_several_classes() -> None:
    iris = load_iris(as_frame=True)
    labels = iris.target_names[iris.target]
    model = sb.SparseClassifier(k=1).fit(iris.data, labels)
    found = model.summary()
    assert found.columns["class"] == iris.target_names.tolist()
    assert found.intercepts == dict(zip(iris.target_names, model.intercept_, strict=True))
    used = np.flatnonzero(np.any(model.coef_ != 0, axis=0))
    assert model.get_support(indices=True).tolist() == used.tolist()
    assert np.flatnonzero(model.get_support()).tolist() == used.tolist()
    selector = sb.SparseSelector(k=1, loss="logistic").fit(iris.data, labels)
    assert str(selector.summary()) == str(found)
    assert np.array_equal(selector.get_support(), model.get_support())


def test_a_report_without_restating_the_problem(table: Any, tmp_path: Path) -> None:
    X, y = table
    file = tmp_path / "r.html"
    weights = np.arange(80) % 2.0
    model = sb.SparseRegressor(k=2).fit(X, y, sample_weight=weights)
    model.report(file, X[:20], y[:20])
    text = file.read_text(encoding="utf-8")
    assert "20 rows held out" in text
    assert model.solution_.advice() == ()
    model.solution_.report(file)
    assert "40 training rows" in file.read_text(encoding="utf-8")
    sb.SparseSelector(k=2).fit(X, y).report(file)
    with pytest.raises(InputError, match="which a pickled model does not hold"):
        pickle.loads(pickle.dumps(model)).report(file)


def test_rows_in_a_report_are_those_of_the_user(table: Any, tmp_path: Path) -> None:
    X, y = table
    y = y.copy()
    y[[50, 61]] += 1e3
    weights = (np.arange(80) > 9).astype(float)
    model = sb.SparseRegressor(k=2, loss="truncated", c=20.0).fit(X, y, sample_weight=weights)
    model.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The model leaves out rows 50, 61, with residuals of c or more." in text


def test_reports_of_classes_have_the_users_labels(tmp_path: Path) -> None:
    iris, file = load_iris(as_frame=True), tmp_path / "r.html"
    labels = iris.target_names[iris.target]
    two = sb.SparseClassifier(k=2).fit(iris.data[:100], labels[:100])
    two.report(file, iris.data[:100], labels[:100])
    assert "taken for versicolor" in file.read_text(encoding="utf-8")
    many = sb.SparseClassifier(k=1).fit(iris.data, labels)
    with pytest.raises(InputError, match="pass label=, the class to report on, one of 'setosa'"):
        many.report(file)
    many.report(file, label="virginica")
    text = file.read_text(encoding="utf-8")
    assert "taken for virginica" in text
    assert "taken for not virginica" in text


@pytest.mark.parametrize("criterion", ["cv", "bic"])
@pytest.mark.parametrize("exact", [False, "auto"])
def test_the_solution_of_a_choice(table: Any, tmp_path: Path, criterion: str, exact: Any) -> None:
    X, y = table
    search = sb.SparseRegressorCV(ks=range(1, 4), cv=3, criterion=criterion, exact=exact)
    search.fit(X, y, sample_weight=1.0 + np.arange(80) % 2)
    solution = search.solution_
    assert np.array_equal(solution.coef, search.coef_)
    assert (solution.lower, solution.upper) == (search.lower_, search.upper_)
    assert solution.certificate is search.certificate_
    assert solution.relaxation.lower <= search.upper_
    assert not set(solution.fixed_out) & set(solution.support)
    assert search.summary().columns["feature"]
    search.report(tmp_path / "r.html", X[:9], y[:9])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert ("Cross-validation chose k = " in text) == (criterion == "cv")
    assert str(pickle.loads(pickle.dumps(search)).summary()) == str(search.summary())


# What is wrong with X.


def mended(estimator: str, columns: str) -> str:
    return (
        f"make_pipeline(make_column_transformer((OneHotEncoder(), {columns}), "
        f"remainder='passthrough'), {estimator}())."
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_text_and_gaps_are_named_with_their_columns(table: Any, kind: str) -> None:
    X, y = table
    towns = X.assign(town=["Bonn", "Ulm"] * 40)
    gaps = X.copy()
    gaps.loc[:2, "age"] = np.nan
    gaps.loc[5, "bmi"] = np.nan
    if kind == "polars":
        towns, gaps = pl.from_pandas(towns), pl.from_pandas(gaps)
    if kind == "array":
        towns, gaps = towns.to_numpy(), gaps.to_numpy()
    town, age, bmi = (
        ("column 5", "column 0", "column 2") if kind == "array" else ("'town'", "'age'", "'bmi'")
    )
    model = sb.SparseRegressor(k=2)
    with pytest.raises(InputError) as caught:
        model.fit(towns, y)
    place = "[5]" if kind == "array" else "['town']"
    assert str(caught.value) == (
        f"X holds text in {town} ('Bonn'): encode it first, for example by "
        + mended("SparseRegressor", place)
    )
    said = (
        f"X holds NaN in {age} (3 rows), {bmi} (1 row): fill such gaps first, for example by "
        "make_pipeline(SimpleImputer(strategy='median'), SparseRegressor()), or drop the rows."
    )
    with pytest.raises(InputError) as caught:
        model.fit(gaps, y)
    assert str(caught.value) == said
    whole = X if kind != "array" else X.to_numpy()
    model.fit(pl.from_pandas(X) if kind == "polars" else whole, y)
    with pytest.raises(InputError) as caught:
        model.predict(gaps)
    assert str(caught.value) == said
    # The step that the sentence names does mend it.
    piped = make_pipeline(SimpleImputer(strategy="median"), sb.SparseRegressor(k=2)).fit(gaps, y)
    assert np.count_nonzero(piped[-1].coef_) == 2


def test_a_response_of_text_needs_a_classifier() -> None:
    labels = ["low", "high", "low", "high"]
    for y in (labels, np.array(labels), np.array(labels, object), pd.Series(labels)):
        with pytest.raises(InputError, match=r"y holds text \('low'\), .* take SparseClassifier"):
            sb.SparseRegressor(2).fit(np.eye(4), y)


def test_infinity_many_columns_and_other_mistakes(table: Any) -> None:
    X, y = table
    endless = X.copy()
    endless.loc[3, "lot"] = np.inf
    with pytest.raises(InputError, match=r"X holds infinity in 'lot' \(1 row\): mend or drop"):
        sb.SparseRegressorCV(ks=[1], cv=2).fit(endless, y)
    with pytest.raises(InputError, match=r"'age' \(80 rows\), .*, 'bmi' \(80 rows\) and 2 more"):
        sb.SparseRegressor().fit(X * np.nan, y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        sb.SparseRegressor().fit(X, np.where(y > 0, y, np.nan))
