"""A look at the columns: twins, constants, leaks, rare dummies and gaps, a sentence on each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sparsebounds._support.errors import InputError
from sparsebounds.tables import Choice, Reading, read_table
from sparsebounds.tables.look import Look
from sparsebounds.tables.recipe import Column
from sparsebounds.tables.sketch import Sketch, Target
from sparsebounds.tables.twins import ALIKE, COPY, USUAL, Likeness, Twins

N = 120


@pytest.fixture
def columns() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 90, N).astype(float)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], N)
    return {
        "age": age,
        "dose": rng.normal(size=N),
        "town": town,
        "y": 0.1 * age + rng.normal(size=N),
    }


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Writes columns into a file and reads it."""

    def read(columns: dict[str, Any], **choice: Any) -> Reading:
        path = tmp_path / "t.csv"
        pl.DataFrame(columns).write_csv(path)
        return read_table(path, Choice(**{"target": "y", "one_hot": True} | choice))

    return read


def test_a_plain_table_is_not_talked_about(read: Any, columns: dict[str, Any]) -> None:
    reading = read(columns)
    assert reading.notes == ()
    assert reading.left_out == ()


def test_twins_are_named_and_one_of_them_stays(read: Any, columns: dict[str, Any]) -> None:
    age, town = columns["age"], columns["town"]
    columns |= {
        "years": age,
        "born": 2000 - age,
        "months": 12 * age,
        "about": columns["dose"] + 1e-4 * age / 20,
        "city": np.char.upper(town),
        "in_kiel": (town == "Kiel").astype(int),
    }
    reading = read(columns, test=0.2)
    assert reading.train.names == ("age", "dose", "town=Bonn", "town=Kiel", "town=Ulm")
    assert reading.held.names == reading.train.names
    assert reading.left_out == ("years", "born", "months", "about", "city", "in_kiel")
    expected = read({name: columns[name] for name in ("age", "dose", "town", "y")}, test=0.2)
    for side in ("train", "held"):
        assert np.array_equal(getattr(reading, side).X, getattr(expected, side).X)
    (note,) = reading.notes
    r = np.corrcoef(reading.train.X[:, 1], columns["about"][reading.train.numbers - 1])[0, 1]
    assert note == (
        "Left out, as others say the same in the 96 rows to learn from: 'years' (equals 'age'), "
        "'born' (the mirror image of 'age'), 'months' ('age' in other units), "
        f"'about' (nearly 'dose', correlation {r:.8f}), "
        "'city' (the values of 'town' under other names), 'in_kiel' (equals 'town=Kiel'). "
        "--keep-twins keeps them."
    )


def test_a_dummy_before_the_text_that_says_it(read: Any, columns: dict[str, Any]) -> None:
    kiel = (columns["town"] == "Kiel").astype(int)
    reading = read({"in_kiel": kiel} | columns)
    assert reading.left_out == ("in_kiel",)
    assert reading.notes == (
        "Left out, as another column says the same: 'in_kiel' (equals 'town=Kiel'). --keep-twins "
        "keeps it.",
    )


def test_twins_that_are_kept(read: Any, columns: dict[str, Any]) -> None:
    columns["years"] = columns["age"]
    reading = read(columns, keep_twins=True)
    assert "years" in reading.train.names
    assert reading.notes == (
        "Columns that say the same as another: 'years' (equals 'age'); a model may split its "
        "coefficient between them.",
    )


def test_what_was_left_out_is_remembered_by_name(read: Any, columns: dict[str, Any]) -> None:
    """The restated choice reads the same columns, also where others are twins."""
    columns |= {"years": columns["age"], "city": columns["town"]}
    for choice in (
        {},
        {"features": ("age", "years", "*t*", "d*")},
        {"categorical": ("city,town",)},
    ):
        restated = read(columns, **choice).restated()
        other = columns | {"age": columns["dose"]}
        again = read_table(_written(read, other), restated)
        assert again.train.names == read(columns, **choice).train.names
        assert again.left_out == ()


def _written(read: Any, columns: dict[str, Any]) -> Path:
    return read(columns, keep_twins=True).path


DIFFERENCES = {"shift": lambda x: x + 5.0, "scale": lambda x: 1000.0 * x, "sign": lambda x: -x}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_twins_differ_in_no_more_than_is_allowed(tmp_path: Path, name: str) -> None:
    """Without an intercept a shift tells columns apart, and so on; equal ones are twins anyway."""
    x = np.random.default_rng(1).normal(size=50)
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": x, "other": DIFFERENCES[name](x), "again": x, "y": x**2}).write_csv(path)
    for allowed in (True, False):
        reading = read_table(path, Choice(target="y"), Likeness(**{name: allowed}))
        assert reading.left_out == (("other", "again") if allowed else ("again",))


def test_a_cell_in_common_makes_no_twins(read: Any, columns: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, N))
    first[7] = second[7] = 99999.0
    reading = read(columns | {"first": first, "second": second, "third": 2.0 * second})
    assert reading.left_out == ("third",)
    rare = (np.arange(N) == 7).astype(float)
    assert read(columns | {"rare": rare, "same": 3.0 * rare}).left_out == ("same",)


def test_text_is_left_out_for_one_other_column_alone(read: Any, columns: dict[str, Any]) -> None:
    """Its values are chosen together: columns that are chosen one by one are no twin of it."""
    town = columns["town"]
    single = {f"in_{name}": (town == name).astype(int) for name in np.unique(town)}
    assert read(single | columns).left_out == tuple(single)
    assert read(columns | single).left_out == tuple(single)


def test_rows_are_named_where_some_are_held_out(read: Any, columns: dict[str, Any]) -> None:
    columns["years"] = columns["age"]
    (note,) = read(columns, test=0.25).notes
    assert "says the same in the 90 rows to learn from: 'years'" in note


def test_twins_are_those_of_the_correlation_matrix() -> None:
    """Copies and near copies of every kind, against the whole matrix of correlations."""
    rng = np.random.default_rng(5)
    for n, m in ((12, 300), (400, 60)):
        X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4, m) + 100
        for j in range(m // 2, m):
            noise = X[:, j] / X[:, j].std()
            base = X[:, rng.integers(m // 2)]
            scale = rng.choice([-2.0, 0.5]) * 10.0 ** rng.integers(-2, 3)
            X[:, j] = scale * (base / base.std() + 10.0 ** rng.uniform(-6, -0.5) * noise)
        X[:, 7] = 3.0
        found = Twins.of(Sketch.of(X, Target.of(X[:, 0])), USUAL)
        free = np.arange(m) != 7
        r = np.zeros((m, m))
        r[np.ix_(free, free)] = np.abs(np.corrcoef(X[:, free], rowvar=False))
        first = np.arange(m)
        for j in range(m):
            if first[j] == j:
                later = np.flatnonzero((1 - r[j] <= COPY) & (first == np.arange(m)))
                first[later[later > j]] = j
        assert np.array_equal(found.first, first)
        assert np.any(first != np.arange(m))
        left = first == np.arange(m)
        pairs = {(i, j) for i, j, _ in found.alike}
        near = (1 - r <= ALIKE) & np.outer(left, left) & ~np.eye(m, dtype=bool)
        assert pairs
        assert all(near[i, j] for i, j in pairs)
        # Nearly all columns that have such a neighbour are named with one.
        named = {i for pair in pairs for i in pair}
        assert len(set(np.flatnonzero(near.any(axis=1)).tolist()) - named) <= 1


def test_nearly_the_same_columns_stay(read: Any, columns: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    columns["measured again"] = columns["age"] + 0.3 * rng.normal(size=N)
    r = np.corrcoef(columns["age"], columns["measured again"])[0, 1]
    reading = read(columns)
    assert reading.left_out == ()
    assert reading.notes == (
        "Nearly the same, so that a model may take either: 'age' and 'measured again' "
        f"(correlation {r:.4f}).",
    )


def test_constant_columns(read: Any, columns: dict[str, Any]) -> None:
    columns |= {"year": np.full(N, 1996), "tenth": np.full(N, 0.1), "land": ["here"] * N}
    reading = read(columns)
    assert reading.notes == (
        "The same value in every row, which explains nothing: 'year' (1,996), 'tenth' (0.1), "
        "'land' ('here').",
    )
    assert "year" in reading.train.names


LEAKS = [
    (lambda y: y, "'leak' (equals it)"),
    (lambda y: 3 - 2 * y, "'leak' (explains all of it)"),
    (lambda y: y + 0.05 * np.cos(np.arange(N)), "'leak' (explains 99."),
    (lambda y: np.exp(y / 2), "'leak' (puts the rows in the same order)"),
    (lambda y: np.where(y > np.median(y), "high", "low"), None),
    (lambda y: np.sin(y), None),
    (lambda y: [f"id {i // 3}" for i in np.argsort(np.argsort(y))], None),
    (lambda y: [f"id {i}" for i in range(N)], None),
]


@pytest.mark.parametrize(("made", "words"), LEAKS)
def test_leaks_of_numbers(read: Any, columns: dict[str, Any], made: Any, words: Any) -> None:
    columns["leak"] = made(columns["y"])
    notes = read(columns, categorical=("leak",) if isinstance(columns["leak"], list) else ()).notes
    said = [note for note in notes if note.startswith("The target 'y' is all but determined by ")]
    assert len(said) == (words is not None)
    for note in said:
        assert words in note
        assert note.endswith(
            "leave such a column out with --exclude, unless it is known before the target is."
        )


def test_text_that_is_a_leak(read: Any, columns: dict[str, Any]) -> None:
    columns["y"] = np.searchsorted(["Bonn", "Kiel", "Ulm"], columns["town"]) + columns["dose"] / 20
    means = {town: columns["y"][columns["town"] == town].mean() for town in ("Bonn", "Kiel", "Ulm")}
    rest = columns["y"] - np.array([means[town] for town in columns["town"]])
    share = 100 * (1 - rest.var() / columns["y"].var())
    (note,) = read(columns).notes
    assert f"'town' (explains {np.floor(100 * share) / 100:g}% of it)" in note


CLASS_LEAKS = [
    (lambda y, other: np.where(y == "yes", 1, 0), "'leak' (explains all of it)"),
    (lambda y, other: np.where(y == "yes", "p", "q"), "'leak' (explains all of it)"),
    (
        lambda y, other: np.where(y == "yes", 2500 + 90 * other**2, 2499 - 90 * other**2),
        "'leak' (one class up to 2,4",
    ),
    (
        lambda y, other: np.where(y == "yes", np.where(other > 0, "a", "b"), "c"),
        "'leak' (explains all of it)",
    ),
    (lambda y, other: np.where(y == "yes", other, other + 1), None),
]


@pytest.mark.parametrize(("made", "words"), CLASS_LEAKS)
def test_leaks_of_classes(read: Any, columns: dict[str, Any], made: Any, words: Any) -> None:
    many = {name: np.concatenate([column] * 4) for name, column in columns.items()}
    many["dose"] = np.random.default_rng(1).normal(size=4 * N)
    noise = np.random.default_rng(2).normal(size=4 * N)
    many["y"] = np.where(np.random.default_rng(9).normal(size=4 * N) > 0, "yes", "no")
    many["leak"] = made(many["y"], noise)
    said = [note for note in read(many).notes if "all but determined" in note]
    assert len(said) == (words is not None)
    assert all(words in note for note in said)


def test_a_code_of_three_classes_is_a_leak(read: Any, columns: dict[str, Any]) -> None:
    columns["y"] = columns.pop("town")
    columns["code"] = np.searchsorted(["Bonn", "Kiel", "Ulm"], columns["y"])
    (note,) = read(columns).notes
    assert "'code' (explains all of it)" in note


def test_rare_values(read: Any, columns: dict[str, Any]) -> None:
    columns["town"] = np.where(np.arange(N) < 3, "Rom", columns["town"])
    columns["ill"] = (np.arange(N) % 50 == 7).astype(int)
    columns["well"] = (np.arange(N) % 20 != 7).astype(int)
    assert read(columns).notes == (
        "Fewer than 5 rows are different in 'town=Rom' (3), 'ill' (3): a coefficient there rests "
        "on these rows alone.",
    )


def test_gaps_are_counted_with_what_fills_them(read: Any, columns: dict[str, Any]) -> None:
    gone = np.arange(N) % 10 == 3
    columns["age"] = [None if g else 1000 * a for g, a in zip(gone, columns["age"], strict=True)]
    columns["town"] = [None if i < 2 else "Bonn" if i < 80 else "Ulm" for i in range(N)]
    middle = np.median([a for a in columns["age"] if a is not None])
    (note,) = read(columns, impute="median").notes
    assert (
        note == f"Empty cells filled in: 'age' (12, with {middle:,.6g}), 'town' (2, with 'Bonn')."
    )
    (note,) = read(columns, drop_missing=True).notes
    assert note == "14 rows with missing values left out: 'age' (12), 'town' (2)."


def test_numbers_that_are_none(read: Any, columns: dict[str, Any]) -> None:
    sev = [f"{x:.3f}" for x in np.abs(columns["dose"])]
    columns["sev"] = ["<0.5" if i % 10 == 0 else "n.d." if i == 5 else s for i, s in enumerate(sev)]
    for one_hot in (False, True):  # too many values to be encoded by accident
        with pytest.raises(InputError) as caught:
            read(columns, one_hot=one_hot, categorical=("town",))
        assert str(caught.value).endswith(
            "has cells that are no numbers: '<0.5' in 12 rows, 'n.d.' in 1 row of 'sev'. Write "
            "numbers there, or nothing, which --impute median fills in; or encode such a column "
            "with --categorical, or leave it out with --exclude."
        )
    columns["sev"] = ["3+" if i % 10 == 0 else str(i % 3) for i in range(N)]
    assert read(columns).notes == ("Encoded as text, because of '3+' in 12 rows of 'sev'.",)


def test_few_rows_are_alike_by_chance() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (6, 40)).astype(float)
    look = Look(X, rng.normal(size=6), [Column(str(j)) for j in range(40)], "y", keep=False)
    assert look.left_out == ()
    assert look.sentences == ()


def test_arrays_are_looked_at_and_stay_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[:, 2] = X[:, 0]
    np.savez(tmp_path / "d.npz", X=X, y=X[:, 1])
    reading = read_table(tmp_path / "d.npz", Choice())
    assert reading.train.X.shape == (30, 4)
    assert [note.split(":")[0] for note in reading.notes] == [
        "Columns that say the same as another",
        "The target 'y' is all but determined by '1' (equals it)",
    ]
