"""Which columns play which part, and the sentences for wrong names and gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.tables import Choice, did_you_mean, read_table
from sparsebounds.tables.choice import chosen_features

HERE = Path("data.csv")
COLUMNS = ["age", "lab_1", "lab_2", "a, b", "w", "o", "y"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, COLUMNS[:-1]),
        ({"weights": "w", "offset": "o"}, COLUMNS[:4]),
        ({"features": ("lab_2, age",)}, ["lab_2", "age"]),
        ({"features": ("lab_*", "age")}, ["lab_1", "lab_2", "age"]),
        ({"features": ("a, b",)}, ["a, b"]),
        ({"features": ("*",), "exclude": ("lab_*,w",)}, ["age", "a, b", "o"]),
        ({"exclude": ("a, b", "w,o")}, ["age", "lab_1", "lab_2"]),
    ],
)
def test_features(options: dict[str, Any], expected: list[str]) -> None:
    assert chosen_features(Choice(target="y", **options), COLUMNS, HERE) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": None}, "--target is missing: which column of data.csv is the response?"),
        ({"target": "Y"}, "--target 'Y' is not a column of data.csv"),
        ({"target": "Age"}, "Did you mean 'age'?"),
        ({"weights": "y"}, "'y' has another part already; name another column."),
        ({"features": ("age,y",)}, "--features holds 'y', which is the column of --target."),
        ({"exclude": ("y",)}, "--exclude holds 'y', which is the column of --target."),
        ({"features": ("age,lab1",)}, "--features 'lab1' is not a column"),
        ({"features": ("age,lab1",)}, "Did you mean 'lab_1'?"),
        ({"features": ("blood_*",)}, "--features 'blood_*' is not a column"),
        ({"features": ("age",), "exclude": ("age",)}, "both hold 'age'; keep it in one of them."),
        ({"exclude": ("age,lab_*,w,o", "a, b")}, "has no column left for the features."),
        ({"features": ("age",), "categorical": ("w",)}, "--categorical 'w' is not among the feat"),
        ({"impute": "medain"}, "must be median or mean. Did you mean 'median'?"),
        ({"test": 1.5}, "--test 1.5 must be between 0 and 1"),
        ({"seed": -1}, "--seed -1 must be 0 or more"),
        ({"seed": 2**32}, "and less than 2^32."),
    ],
)
def test_wrong_choices(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        chosen_features(Choice(**{"target": "y"} | options), COLUMNS, HERE)
    assert sentence in str(caught.value)


def test_near_names() -> None:
    assert did_you_mean("logistc", ["squared", "logistic"]) == " Did you mean 'logistic'?"
    assert did_you_mean("hinge", ["squared", "squared_hinge"]) == " Did you mean 'squared_hinge'?"
    assert did_you_mean("zzz", ["squared", "logistic"]) == ""
    assert did_you_mean("12", ["1", "11"]) == ""


def test_a_later_choice_wins() -> None:
    base = Choice(target="y", impute="mean", test=0.2)
    assert base.changed(target=None, seed=3) == Choice(target="y", impute="mean", test=0.2, seed=3)
    assert base.changed(drop_missing=True) == Choice(target="y", drop_missing=True, test=0.2)


@pytest.fixture
def gaps(tmp_path: Path) -> Path:
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,c,y\n1,,x,1\n2,5,,2\n,4,y,3\n4,NA,x,4\n5,1,y,\n6,2,x,6\n7,0,y,7\n")
    return path


def test_gaps_are_refused_with_counts_and_remedies(gaps: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_table(gaps, Choice(target="y", exclude=("c",)))
    assert str(caught.value) == (
        f"{gaps} has missing values: 'y' (1), 'a' (1), 'b' (2). Pass --drop-missing to leave out "
        "the rows that have them (3 of 7 stay)."
    )
    whole = gaps.with_name("whole.csv")
    whole.write_text("a,b,y\n1,,1\n2,5,2\n,4,3\n")
    with pytest.raises(InputError, match=r"\(1 of 3 stay\), or --impute median to fill them in"):
        read_table(whole, Choice(target="y"))
    with pytest.raises(InputError, match=r"empty cells in 'y' \(1\), which cannot be filled in"):
        read_table(gaps, Choice(target="y", one_hot=True, impute="median"))


def test_rows_with_gaps_are_left_out(gaps: Path) -> None:
    reading = read_table(gaps, Choice(target="y", one_hot=True, drop_missing=True))
    assert reading.train.y.tolist() == [6, 7]
    assert reading.train.X.tolist() == [[6, 2, 0], [7, 0, 1]]
    assert reading.notes == (
        "5 rows with missing values left out: 'y' (1), 'a' (1), 'b' (2), 'c' (1).",
    )
    # Gaps in columns that play no part do not matter.
    reading = read_table(gaps, Choice(target="y", features=("a",), drop_missing=True))
    assert reading.train.y.tolist() == [1, 2, 4, 6, 7]


def test_columns_and_rows_without_values(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,,2\n2,,3\n")
    with pytest.raises(InputError, match="has no value at all in 'b'; leave out such columns"):
        read_table(path, Choice(target="y", drop_missing=True))
    path.write_text("a,b,y\n1,,2\n,2,3\n")
    with pytest.raises(InputError, match=r"Every row of .* has a missing value"):
        read_table(path, Choice(target="y", drop_missing=True))


def test_infinite_and_undefined_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1.0, np.inf, -np.inf], "y": [1, 2, 3]}).write_parquet(path)
    with pytest.raises(InputError, match=r"or values beyond 1e\+150: 'a' \(2\); mend or drop"):
        read_table(path, Choice(target="y"))
    pl.DataFrame({"a": [1.0, 1e200, 2.0], "y": [1, 2, 3]}).write_parquet(path)
    with pytest.raises(InputError, match=r"'a' \(1\); mend or drop"):
        read_table(path, Choice(target="y"))
    pl.DataFrame({"a": [1.0, np.nan, 2.0], "y": [1, 2, 3]}).write_parquet(path)
    with pytest.raises(InputError, match=r"has missing values: 'a' \(1\)"):
        read_table(path, Choice(target="y"))


@pytest.mark.parametrize("option", ["features", "exclude", "categorical"])
def test_arrays_have_no_columns(option: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.arange(3.0))
    with pytest.raises(InputError, match=f"--{option} is for tables with named columns"):
        read_table(tmp_path / "t.npz", Choice(**{option: ("a",)}))


def test_arrays_of_the_wrong_shape(tmp_path: Path) -> None:
    for X, y in ((np.eye(3), np.eye(3)), (np.ones(3), np.ones(3)), (np.eye(3), np.float64(1))):
        np.savez(tmp_path / "t.npz", X=X, y=y)
        with pytest.raises(InputError, match="must be a matrix and a vector"):
            read_table(tmp_path / "t.npz", Choice())


def test_names_that_polars_takes_for_patterns(tmp_path: Path) -> None:
    """'*' and '^...$' are names like others, in every format."""
    frame = pl.DataFrame({"*": [1, None, 3], "^.*$": [4.0, 5.0, 7.0], "c": [1, 0, 1]})
    nan = frame.with_columns(frame["*"].cast(pl.Float64).fill_null(np.nan))
    nan.write_parquet(tmp_path / "nan.parquet")
    frame.write_csv(tmp_path / "d.csv")
    frame.write_parquet(tmp_path / "d.parquet")
    for name in ("d.csv", "d.parquet", "nan.parquet"):
        for impute in ("mean", "median"):
            train = read_table(tmp_path / name, Choice(target="c", impute=impute)).train
            assert train.names == ("*", "^.*$")
            assert np.array_equal(train.X, [[1.0, 4.0], [2.0, 5.0], [3.0, 7.0]])
    whole = frame.fill_null(2).with_columns(pl.all().cast(pl.Float64))
    pl.DataFrame({n: whole[n] for n in ("*", "^.*$")}).write_parquet(tmp_path / "x.parquet")
    matrix = sb.open_matrix(tmp_path / "x.parquet")
    assert np.array_equal(matrix.columns(np.array([1, 0])), [[4.0, 1.0], [5.0, 2.0], [7.0, 3.0]])


def test_rows_without_a_target_are_left_out_and_gaps_filled(tmp_path: Path) -> None:
    """Each of the two alone says what the other is for; both together do it."""
    path = tmp_path / "t.csv"
    pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "y": [1.0, 2.0, None, 4.0]}).write_csv(path)
    with pytest.raises(InputError, match="add --drop-missing, which then leaves out these rows"):
        read_table(path, Choice(target="y", impute="median"))
    reading = read_table(path, Choice(target="y", impute="median", drop_missing=True))
    assert reading.train.y.tolist() == [1.0, 2.0, 4.0]
    assert reading.train.X[:, 0].tolist() == [1.0, 2.5, 4.0]
    assert reading.notes == (
        "1 row with missing values left out: 'y' (1).",
        "Empty cells filled in: 'a' (1, with 2.5).",
    )
