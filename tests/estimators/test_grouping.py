"""Groups of columns that encoders have made: asked of the encoder, and read from names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.estimators._grouping import named_groups

pd = pytest.importorskip("pandas")


def table() -> tuple[object, np.ndarray]:
    """Patients; of the categories one has names that begin as another's do."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "clinic": rng.choice(["north_a", "north_b", "south"], n),
            "clinic_old": rng.choice(["yes", "no"], n),
            "age": rng.normal(size=n),
            "dose": rng.normal(size=n),
            "weight": rng.normal(size=n),
        }
    )
    effect = X["clinic"].map({"north_a": 0.0, "north_b": 2.0, "south": -2.0}).to_numpy()
    return X, effect + X["dose"].to_numpy() ** 2 + 0.1 * rng.normal(size=n)


def encoder() -> object:
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["clinic", "clinic_old"]),
        (make_pipeline(StandardScaler(), SplineTransformer(n_knots=3)), ["age"]),
        (PolynomialFeatures(2, include_bias=False), ["dose", "weight"]),
    )


EXPECTED = ["clinic"] * 3 + ["clinic_old"] * 2 + ["age"] * 5 + ["dose", "weight"] + ["dose"]
EXPECTED += [None, "weight"]


def bare(labels: list[str | None]) -> list[str | None]:
    return [label and label.rpartition("__")[2] for label in labels]


def test_an_encoder_is_asked() -> None:
    X, _ = table()
    assert bare(sb.groups_of(encoder().fit(X))) == EXPECTED


def test_names_say_the_same() -> None:
    X, y = table()
    made = encoder().set_output(transform="pandas")
    model = sb.SparseRegressor(k=2, ridge=0.01, groups="auto")
    make_pipeline(made, model).fit(X, y)
    assert bare(model._groups) == EXPECTED
    assert bare(list(model.solution_.group_support)) == ["clinic", "dose"]
    chosen = sb.SparseRegressorCV(ks=[0, 2], ridges=[0.01], groups="auto", cv=3)
    make_pipeline(made, chosen).fit(X, y)
    assert chosen.best_k_ == 2


def test_categories_beside_each_other_stay_apart() -> None:
    names = [f"one__{name}" for name in ("a_x", "a_y", "b_x", "b_y", "c_x")]
    X = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1]], dtype=float)
    assert named_groups(X, names) == ["one__a", "one__a", "one__b", "one__b", None]
    assert named_groups(X + 1.0, names) == [None] * 5


def test_what_has_no_names_is_refused() -> None:
    with pytest.raises(InputError, match="set_output"):
        sb.SparseRegressor(groups="auto").fit(np.eye(4), np.arange(4.0))
    with pytest.raises(TypeError, match="fitted transformer"):
        sb.groups_of([0, 1])
