"""Reports say what was found: numbers, escaping, nothing from elsewhere, sentences for mistakes."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.paths import path_around
from sparsebounds.report import page as page_module
from sparsebounds.report.band import path_band, solution_band

Read = Callable[[Path], Any]
FILES = ("regression", "classes", "path")


# The numbers.


def test_the_model_is_the_solutions(read: Read, made: Any) -> None:
    page, solution = read(made.folder / "regression.html"), made.regression
    model, near, every = (t for t in page.tables if t[0][0] == "feature")
    assert {made.names[i] for i in solution.support} <= {row[0] for row in near[1:]}
    rows = {row[0]: row for row in model[1:]}
    assert rows.keys() == {made.names[i] for i in solution.support} | {"(intercept)"}
    spread = made.X[:60].std(axis=0)
    for i in solution.support.tolist():
        _, coef, effect, *proved = rows[made.names[i]]
        assert coef == f"{solution.coef[i]:.6g}"
        assert float(effect) == pytest.approx(solution.coef[i] * spread[i], rel=1e-3)
        assert ("in every best model" in proved) == (i in solution.fixed_in)
    assert rows["(intercept)"][1] == f"{solution.intercept:.6g}"
    assert {row[0] for row in every[1:]} == set(made.names)
    out = {row[0] for row in every[1:] if row[2] == "in no best model"}
    assert out == {made.names[i] for i in solution.fixed_out}


@pytest.mark.parametrize("name", ["regression", "classes"])
def test_bounds_are_rounded_to_the_safe_side(read: Read, made: Any, name: str) -> None:
    solution = getattr(made, name)
    text = " ".join(read(made.folder / f"{name}.html").text.split())
    lower = re.search(r"proved lower bound ?(\S+?) ?of every such model", text)
    upper = re.search(r"objective ?(\d\S*?) ?of this model", text)
    assert lower is not None
    assert upper is not None
    assert Decimal(lower[1]) <= Decimal(solution.lower)
    assert Decimal(upper[1]) >= Decimal(solution.upper)
    assert float(lower[1]) == pytest.approx(solution.lower, rel=1e-4)
    assert float(upper[1]) == pytest.approx(solution.upper, rel=1e-4)
    said = re.search(r"No model with at most \d features can have an objective below (\S+);", text)
    assert said is not None
    assert Decimal(said[1]) <= Decimal(solution.lower)


def test_residuals_are_those_of_the_held_out_rows(read: Read, made: Any) -> None:
    page, solution = read(made.folder / "regression.html"), made.regression
    X, y = made.X[60:], made.y[60:]
    predicted = X @ solution.coef + solution.intercept
    dots = page.charts["residuals"]["data"][1]
    assert dots["x"] == pytest.approx(predicted)
    assert dots["y"] == pytest.approx(y - predicted)
    assert sorted(page.charts["normal"]["data"][1]["y"]) == pytest.approx(sorted(y - predicted))
    assert "30 rows held out" in page.text
    share = 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    card = rf"R2\s*{share:.4g}\s*held out \(30 rows\); training \(60 rows\): 0\."
    assert re.search(card, page.text)


def test_the_roc_curve_has_the_area_it_should(read: Read, made: Any) -> None:
    page, solution = read(made.folder / "classes.html"), made.classes
    z = made.X @ solution.coef + solution.intercept
    area = roc_auc_score(made.labels == "no", z)
    curve = page.charts["roc"]["data"][1]
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(area)
    assert re.search(rf"AUC\s*{area:.4g}\s*training \(90 rows\)", page.text)
    assert "No rows were held out" in page.text
    bins = page.charts["calibration"]["data"][1]
    assert sum(bins["customdata"]) == len(z)
    chances = 1 / (1 + np.exp(-z))
    assert np.average(bins["x"], weights=bins["customdata"]) == pytest.approx(chances.mean())
    shares = np.average(bins["y"], weights=bins["customdata"])
    assert shares == pytest.approx(np.mean(made.labels == "no"))
    counts = [[int(cell) for cell in row[1:]] for row in page.table("rows that")[1:]]
    assert np.sum(counts) == len(z)
    assert np.trace(counts) / len(z) == pytest.approx(np.mean((z > 0) == (made.labels == "no")))


def test_the_path_is_the_paths(read: Read, made: Any) -> None:
    page = read(made.folder / "path.html")
    low, high, *_ = page.charts["band"]["data"]
    assert low["y"] == made.path.lower.tolist()
    assert high["y"] == made.path.upper.tolist()
    rows = page.table("k")[1:]
    assert [int(row[0]) for row in rows] == made.path.ks.tolist()
    for row, point in zip(rows, made.path, strict=True):
        assert Decimal(row[2]) <= Decimal(point.lower)
        assert Decimal(row[3]) >= Decimal(point.upper)
    come = [name for row in rows for name in row[5].split("  ") if name]
    assert len(come) >= 6


def test_the_band_holds_the_optimum_with_what_a_solution_proves(made: Any) -> None:
    X, y, solution = made.X[:60], made.y[:60], made.regression
    program = solution.program
    assert program is not None
    path = path_around(program, 0.0)
    assert path is not None
    band = solution_band(program, solution, path)
    assert band.chosen is not None
    assert band.places[band.chosen] == 2
    assert np.all(np.diff(band.lower) <= 0)
    assert np.all(np.diff(band.upper) <= 0)
    raw = path_band(path)
    assert np.all(band.lower >= raw.lower)
    assert np.all(band.upper <= raw.upper)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    centred = y - y.mean()
    for k, lower, upper in zip(band.places, band.lower, band.upper, strict=True):
        best = np.inf
        for support in combinations(range(6), int(k)):
            part = Z[:, support]
            w = np.linalg.solve(part.T @ part / 60 + 0.05 * np.eye(int(k)), part.T @ centred / 60)
            value = 0.5 * np.mean((centred - part @ w) ** 2) + 0.025 * w @ w
            best = min(best, value)
        assert lower <= best * (1 + 1e-12)
        assert best <= upper * (1 + 1e-12)


def test_prices_have_a_band_too(read: Read, made: Any, tmp_path: Path) -> None:
    solution = sb.solve(made.X, made.y, l0=0.05, ridge=0.05)
    solution.report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    low, high, *_ = page.charts["band"]["data"]
    at = low["x"].index(0.05)
    assert low["y"][at] >= solution.lower
    assert high["y"][at] <= solution.upper
    assert page.charts["band"]["layout"]["xaxis"]["type"] == "log"
    prices = sb.solve(made.X, made.y, l0=np.linspace(0.01, 0.1, 6), ridge=0.05)
    prices.report(tmp_path / "r.html")
    assert "band" not in read(tmp_path / "r.html").charts


def test_counts_weights_and_many_rows(read: Read, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    weights = rng.integers(0, 3, 2500).astype(float)
    solution = sb.solve(
        X, y, k=1, ridge=0.1, loss="poisson", fit_intercept=True, sample_weight=weights
    )
    solution.report(tmp_path / "r.html", X, y, sample_weight=weights)
    page = read(tmp_path / "r.html")
    mean = np.exp(X @ solution.coef + solution.intercept)
    pearson = (y - mean) / np.sqrt(mean)
    dots = page.charts["residuals"]["data"][1]
    kept = np.count_nonzero(weights)
    assert len(dots["y"]) == min(2000, kept)
    assert np.all(np.isin(np.round(dots["y"], 9), np.round(pearson[weights > 0], 9)))
    assert sum(page.charts["histogram"]["data"][0]["y"]) == weights.sum()
    assert "normal" not in page.charts


# Nothing from elsewhere, nothing unescaped.


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_fetched(read: Read, made: Any, name: str) -> None:
    page = read(made.folder / f"{name}.html")
    for tag, attributes in page.tags:
        for attribute in ("src", "href", "action", "data", "srcset", "poster"):
            link = attributes.get(attribute)
            assert link is None or link.startswith(("#", "data:")), (tag, link)
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    own = [script for script in page.scripts if "plotly.js v" not in script[:200]]
    assert len(own) == len(page.scripts) - 1  # plotly once
    code = [script for script in own if not script.startswith("{")]  # not the charts' names
    assert not any(re.search(r"https?://", script) for script in code)
    assert not any("@import" in script or "url(" in script for script in own)


@pytest.mark.parametrize("name", FILES)
def test_names_are_text(read: Read, made: Any, name: str) -> None:
    page = read(made.folder / f"{name}.html")
    assert [tag for tag, _ in page.tags].count("script") == 4
    assert not {"b", "i", "img"} & {tag for tag, _ in page.tags}
    for text in made.nasty:
        assert text in page.text
    labels = str(page.charts)
    assert not re.search(r"<(?!br|extra|/extra)", labels), "plotly would read it as HTML"


# Mistakes.


def test_without_the_extra_a_sentence_names_it(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.delitem(sys.modules, "plotly.offline", raising=False)
    for result in (made.regression, made.path):
        with pytest.raises(InputError, match=r"pip install 'sparsebounds\[report\]'"):
            result.report(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s, m, f: s.report(f, m.X), "X and y go together"),
        (lambda s, m, f: s.report(f, m.X[:, :3], m.y), "X has 3 columns, but the model was fitted"),
        (lambda s, m, f: s.report(f, m.X, m.y[:5]), "y has 5 rows, but X has 90"),
        (lambda s, m, f: s.report(f, names=["a"]), "names has"),
        (lambda s, m, f: s.report(f.parent), "is a folder"),
        (lambda s, m, f: s.report(f.parent / "no" / "r.html"), "does not exist"),
        (lambda s, m, f: s.report(f, path=sb.path(m.X, m.y, ks=[1], ridge=1.0)), "another problem"),
        (lambda s, m, f: pickle.loads(pickle.dumps(s)).report(f), "pass the problem to report"),
    ],
)
def test_mistakes_are_said(
    made: Any, tmp_path: Path, call: Callable[..., Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        call(made.regression, made, tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_a_solution_without_its_data_takes_the_program(
    read: Read, made: Any, tmp_path: Path
) -> None:
    bare = pickle.loads(pickle.dumps(made.regression))
    names = [f"f{i}" for i in range(6)]
    bare.report(tmp_path / "r.html", program=made.regression.program, names=names)
    page = read(tmp_path / "r.html")
    assert "f0" in page.text
    assert made.nasty[0] not in page.text


def test_a_failure_leaves_the_old_file(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.html"
    file.write_text("old")
    monkeypatch.setattr(page_module, "rendered", lambda page: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.path.report(file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


# Notebooks.


def test_notebooks_show_results(made: Any) -> None:
    for result in (made.regression, made.regression.certificate, made.path):
        html = result._repr_html_()
        assert not re.search(r"<(script|img|b|i|style|link)\b", html)
        assert "http" not in html.replace(
            made.nasty[3].replace("<", "&lt;").replace(">", "&gt;"), ""
        )
    html = made.regression._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    for i in made.regression.support:
        assert f">{made.regression.coef[i]:.6g}<" in html
    for result in (made.regression, made.regression.certificate):
        sides = re.search(r"(\S+) &le; best possible &le; ([^<\s]+)", result._repr_html_())
        assert sides is not None
        lower, upper = sides[1].split(">")[-1], sides[2]
        assert Decimal(lower) <= Decimal(result.lower) <= Decimal(result.upper) <= Decimal(upper)
    assert made.path._repr_html_().count("<tr>") == 8


def test_a_certificate_says_what_k_counts() -> None:
    """Groups, where features are in groups; a price per feature is no list of numbers."""
    X, y = np.random.default_rng(0).normal(size=(2, 30, 6))
    grouped = sb.solve(X, y[:, 0], k=2, ridge=0.1, groups=[0, 0, 0, 1, 1, 2], exact=False)
    assert "with at most 2 groups," in grouped.certificate._repr_html_()
    priced = sb.solve(X, y[:, 0], l0=np.linspace(0.01, 0.02, 6), ridge=0.1, exact=False)
    assert (
        "with a price l0=(one number per feature) per nonzero" in priced.certificate._repr_html_()
    )


def test_outliers_are_marked_and_listed(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    y = 2.0 * X[:, 1] + 0.2 * rng.normal(size=40)
    y[[3, 30]] += [7.0, -9.0]
    weights = np.ones(40)
    weights[0] = 0.0
    loss = sb.losses.Truncated(c=1.0)
    solution = sb.solve(X, y, k=1, ridge=0.01, loss=loss, sample_weight=weights)
    assert solution.outliers is not None
    assert solution.outliers.proved_out.tolist() == [3, 30]
    for held, chart in (({}, "residuals"), ({"X": X[:9], "y": y[:9]}, "outliers")):
        solution.report(tmp_path / "report.html", **held)
        page = read(tmp_path / "report.html")
        assert "The model leaves out rows 3, 30, with residuals of c or more." in page.text
        head, *rows = page.table("row")
        assert head == ["row", "observed", "predicted", "residual / c", "proved"]
        assert [(row[0], row[-1]) for row in rows] == [("30", "outlier"), ("3", "outlier")]
        marks = {trace["name"]: trace["customdata"] for trace in page.charts[chart]["data"]}
        assert marks.pop("outliers, proved") == [3, 30]
        rest = sorted(row for side in marks.values() for row in side)
        assert rest == [row for row in range(1, 40) if row not in (3, 30)]
        assert ("outliers" in page.charts) == bool(held)


def test_numbers_in_the_units_of_the_data(tmp_path: Path, read: Read) -> None:
    """Thousands are separated, no power of ten is shown, and long names are shortened."""
    rng = np.random.default_rng(1)
    X = np.column_stack([1e4 + 3e3 * rng.normal(size=50), rng.normal(size=50)])
    y = 50.0 * X[:, 0] + 1e5 * X[:, 1] + 1e4 * rng.normal(size=50)
    long = "neighbourhood_of_the_house=Old Town North of the Railway Station"
    options = {"ridge": 0.01, "fit_intercept": True, "standardize": True}
    solution = sb.solve(X, y, k=2, feature_names=["area", long], **options)
    solution.report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    shown = page.text.rsplit("To repeat it", 1)[0]  # what follows are versions and a fingerprint
    assert not re.search(r"\de\+\d|(?<![\d.])\d{5}", shown)
    model = {row[0]: row for row in page.tables[0][1:]}
    (name,) = (name for name in model if "…" in name)
    assert len(name) <= 36
    assert long.startswith(name.split("…")[0])
    assert long.endswith(name.split("…")[1])
    assert float(model["area"][2].replace(",", "")) == pytest.approx(
        solution.coef[0] * X[:, 0].std(), rel=1e-3
    )
    titles = {a["title"] for tag, a in page.tags if tag == "td" and "title" in a}
    assert titles == {long, f"area, {long}"}
    assert "relaxed weight" not in page.text


def test_the_legend_has_one_entry_for_all_grey_lines(tmp_path: Path, read: Read) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 12))
    y = X @ np.linspace(3, 1, 12) + rng.normal(size=60)
    sb.path(X, y, ks=range(1, 13), ridge=0.01).report(tmp_path / "r.html")
    lines = read(tmp_path / "r.html").charts["coefficients"]["data"]
    named = [line for line in lines if line.get("showlegend", True)]
    assert len(lines) == 12
    assert len(named) == 8
    assert [line["name"] for line in named if line["line"]["color"] == "var(--faint)"] == [
        "5 others"
    ]
    assert sorted(line["customdata"][0] for line in lines) == sorted(map(str, range(12)))
