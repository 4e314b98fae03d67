"""From columns to X: identities of the encoding, the same way for new rows, and refusals."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds._support.errors import InputError
from sparsebounds.tables import Choice, Recipe, read_table
from sparsebounds.tables.learn import learn

HERE = Path("data.csv")
ONE_HOT = Choice(target="y", one_hot=True)


def learned(frame: pl.DataFrame, choice: Choice = ONE_HOT, train: Any = None) -> Recipe:
    return learn(frame, frame if train is None else train, frame.columns, choice, HERE)


def test_kinds_of_columns() -> None:
    frame = pl.DataFrame(
        {
            "whole": [3, 1, 2, 3],
            "truth": [True, False, True, True],
            "price": pl.Series(["1.25", "2.50", "0.75", "0.00"]).cast(pl.Decimal(10, 2)),
            "sex": ["m", "f", "m", "f"],
            "town": pl.Series(["x", "z", "y", "x"]).cast(pl.Categorical),
        }
    )
    choice = Choice(target="y", categorical=("town",), one_hot=True)
    recipe = learned(frame, choice)
    assert recipe.names == ("whole", "truth", "price", "sex=m", "town=x", "town=y", "town=z")
    expected = [
        [3, 1, 1.25, 1, 1, 0, 0],
        [1, 0, 2.5, 0, 0, 0, 1],
        [2, 1, 0.75, 1, 0, 1, 0],
        [3, 1, 0, 0, 1, 0, 0],
    ]
    assert recipe.matrix(frame, HERE).tolist() == expected
    narrow = pl.DataFrame({"a": [1.5, 2.0]}, schema={"a": pl.Float32})
    assert learned(narrow).matrix(narrow, HERE).dtype == np.float32


rows = st.lists(
    st.tuples(st.floats(-1e9, 1e9), st.sampled_from("abcd"), st.sampled_from([1, 2, 30])),
    min_size=2,
    max_size=30,
)


@given(rows, st.randoms(use_true_random=False))
def test_identities(values: list[tuple[float, str, int]], random: Any) -> None:
    frame = pl.DataFrame(values, schema=["x", "word", "code"], orient="row")
    recipe = learned(frame, Choice(target="y", categorical=("word,code",)))
    X = recipe.matrix(frame, HERE)
    assert X.shape == (len(values), len(recipe.names))
    assert len(set(recipe.names)) == len(recipe.names)
    for column in recipe.columns[1:]:
        places = [recipe.names.index(label) for label in column.labels]
        assert column.categories is not None
        # Every row has one category; of two, the first has no column.
        if len(column.categories) != 2:
            assert np.all(X[:, places].sum(axis=1) == 1)
        for place, value in zip(places, column.shown, strict=True):
            truth = [str(cell) == value for cell in frame[column.name]]
            assert X[:, place].tolist() == [float(one) for one in truth]
    # Through a file, for rows in any order, and for the part behind some columns of X.
    again = Recipe.of(json.loads(json.dumps(recipe.document())))
    assert again == recipe
    order = random.sample(range(len(values)), len(values))
    assert np.array_equal(again.matrix(frame[order], HERE), X[order])
    chosen = random.sample(recipe.names, random.randint(1, len(recipe.names)))
    part = recipe.behind(chosen)
    places = [recipe.names.index(label) for label in part.names]
    assert set(chosen) <= set(part.names)
    assert np.array_equal(part.matrix(frame, HERE), X[:, places])


def test_gaps_are_filled_from_the_training_rows() -> None:
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0, 9.0, None, 100.0],
            "word": ["b", "a", "a", None, "c"],
            "n": [1, 2, 4, 8, 0],
        }
    )
    for kind, fill, whole in (("median", 2.0, 3.0), ("mean", 4.0, 3.75)):
        choice = Choice(target="y", categorical=("word",), impute=kind)
        recipe = learned(frame, choice, frame[:4])
        assert [column.fill for column in recipe.columns] == [fill, "a", whole]
        X = recipe.matrix(frame, HERE)
        assert X[3].tolist() == [fill, 1, 0, 0, 8]
        # A category that only the rows held out have is known all the same.
        assert recipe.names[1:4] == ("word=a", "word=b", "word=c")


@pytest.mark.parametrize(
    ("cells", "choice", "sentence"),
    [
        (["p", "q", "p", "q"], Choice(), "'c' (text, 2 values). Encode them with --one-hot"),
        ([date(2024, 1, 2)] * 4, ONE_HOT, "has dates or times in 'c'; turn them into numbers"),
        (["2024-01-02"] * 4, ONE_HOT, "has dates or times in 'c'"),
        (["3.4.2024", "13.10.24"] * 2, ONE_HOT, "has dates or times in 'c'"),
        (["1,200", "900"] * 2, Choice(), "numbers with commas in 'c', such as '1,200'"),
        (["1.200,50", "9,5"] * 2, Choice(), "numbers with commas in 'c', such as '1.200,50'"),
        ([[1, 2]] * 4, ONE_HOT, "has lists, records or bytes in 'c'"),
        ([b"x"] * 4, ONE_HOT, "has lists, records or bytes in 'c'"),
        (["p", "q", "r", "p"], ONE_HOT, "has 3 different values in 4 rows, more than --one-hot"),
    ],
)
def test_columns_that_are_no_numbers(cells: list[Any], choice: Choice, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        learned(pl.DataFrame({"c": cells}), choice)
    assert sentence in str(caught.value)


def test_what_a_recipe_does_not_know() -> None:
    frame = pl.DataFrame({"town": ["Oslo", "Rome"] * 3, "x": [1.0, 2.0] * 3})
    recipe = learned(frame)
    with pytest.raises(InputError, match=r"'town' = 'Roma', which the model has never seen") as e:
        recipe.matrix(frame.with_columns(town=pl.lit("Roma")), HERE)
    assert str(e.value).endswith("it knows 'Oslo', 'Rome'. Did you mean 'Rome'?")
    with pytest.raises(InputError, match=r"Column 'x' of data.csv holds text, 1 value; it must"):
        recipe.matrix(frame.with_columns(x=pl.lit("one")), HERE)


def test_names_that_collide() -> None:
    frame = pl.DataFrame({"a=x": [1.0, 2.0] * 3, "a": ["x", "y", "z"] * 2})
    with pytest.raises(InputError, match="'a=x', which is also the name of an encoded value"):
        learned(frame)


def test_codes_are_the_same_as_floats() -> None:
    """A gap turns whole numbers into floats; 3 and 3.0 are one category."""
    frame = pl.DataFrame({"code": [1, 2, 3, 1]})
    recipe = learned(frame, Choice(target="y", categorical=("code",)))
    floats = frame.with_columns(pl.col("code").cast(pl.Float64))
    assert np.array_equal(recipe.matrix(floats, HERE), recipe.matrix(frame, HERE))


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "table.columns must be a list."),
        ([{"name": "a"}], "must hold a name, categories and a fill each."),
        ([{"name": "a", "categories": "xy", "fill": None}], "categories of 'a' must be a list."),
        ([{"name": "a", "categories": [1], "fill": None}], "categories of 'a' must be a list."),
        ([{"name": "a", "categories": None, "fill": "x"}], "the fill of 'a' is of the wrong kind."),
        ([{"name": "a", "categories": ["x"], "fill": 1}], "the fill of 'a' is of the wrong kind."),
    ],
)
def test_documents_that_are_no_recipe(document: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Recipe.of(document)
    assert str(caught.value).endswith(sentence)


def test_a_table_is_the_same_in_every_file(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pl.DataFrame({"a": rng.normal(size=20), "b": rng.integers(0, 9, 20), "y": range(20)})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.feather")
    for suffix in ("csv", "parquet", "feather"):
        read = read_table(tmp_path / f"t.{suffix}", Choice(target="y")).train
        assert np.array_equal(read.X, frame[["a", "b"]].to_numpy())
        assert np.array_equal(read.y, frame["y"].to_numpy())
        assert read.names == ("a", "b")
        assert read.X.flags.f_contiguous
