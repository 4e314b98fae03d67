"""How a model predicts rows: scores and charts.

numbers    observed against predicted, residuals against predicted, their histogram and their
           quantiles beside normal ones. For counts the residuals are Pearson's,
           (y - p) / sqrt(p), and not normal.
classes    the ROC curve, predictions by class and, for the logistic loss, calibration: mean
           predicted chance against the share observed, in bins of equal numbers of rows
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.decimals import readable
from sparsebounds.program import Program
from sparsebounds.report.charts import BLUE, FAINT, ORANGE, Drawn, curve, dots, figure, plain
from sparsebounds.report.page import Block, Card, Cards, Cell, Chart, Table, Text, count, number
from sparsebounds.report.scores import Predicted, Scores, chance
from sparsebounds.solving import classes_sentence

MOST_POINTS = 2000
"""Points of a scatter plot, drawn at random where there are more rows."""

MOST_BARS = 40
BINS, LEAST_ROWS = 10, 8
"""Of the calibration: bins at most, and rows in each at least."""


def scores_block(sides: Mapping[str, Scores]) -> Cards:
    """A card per score: on the last set of rows, with the others' below."""
    *others, (shown, last) = sides.items()
    return Cards(
        tuple(
            Card(
                name,
                number(last.get(name, math.nan), 4).text,
                "; ".join([shown, *(f"{who}: {number(own[name], 4).text}" for who, own in others)]),
            )
            for name in next(iter(sides.values()))
        )
    )


def diagnostics(
    program: Program, rows: Predicted, target: str, who: str, against: Drawn | None = None
) -> list[Block]:
    """The charts; `who` says which rows, as in "48 rows held out".

    `against` is a chart of the residuals that takes the place of the plain one.
    """
    if program.classes is not None:
        return _of_classes(program, rows, who)
    return _of_numbers(program, rows, plain(target), who, against)


def _of_numbers(
    program: Program, rows: Predicted, label: str, who: str, against: Drawn | None
) -> list[Block]:
    counts = program.loss.name == "poisson"
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.exp(rows.z) if counts else rows.z
        residual = (rows.y - mean) / np.sqrt(mean) if counts else rows.y - mean
    name = "Pearson residual" if counts else "observed − predicted"
    bars = _histogram(residual, _edges(residual), rows.weights, "residuals", BLUE)
    some = _sample(len(mean))
    part = "" if len(some) == len(mean) else f" {len(some)} of them are drawn, chosen at random."
    x, y, rest = mean[some], rows.y[some], residual[some]
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    level = [float(x.min()), float(x.max())], [0.0, 0.0]
    titles = f"predicted {label}", f"observed {label}"
    observed = _scatter(x, y, (ends, ends), ("predicted", "observed"), titles)
    against = against or _scatter(x, rest, level, ("predicted", "residual"), (titles[0], name))
    charts: list[Block] = [
        Chart("observed", "Observed against predicted", observed, f"{who}.{part}", half=True),
        Chart("residuals", "Residuals", against, f"{who}.{part}", half=True),
        Chart(
            "histogram",
            "Distribution of the residuals",
            figure([bars], name, "rows"),
            f"{who}.",
            half=True,
        ),
    ]
    if not counts and len(some) > 1:
        charts.append(
            Chart("normal", "Normal quantiles", _normal(rest), f"{who}.{part}", half=True)
        )
    return charts


def _normal(residual: Vector) -> Drawn:
    """Residuals in order against quantiles of the normal law: on the line where they follow it."""
    from scipy.stats import probplot

    (x, y), (slope, middle, _) = probplot(residual)
    ends = [float(x[0]), float(x[-1])]
    line = ends, [float(middle + slope * end) for end in ends]
    titles = "normal quantile", "observed − predicted, in order"
    return _scatter(x, y, line, ("quantile", "residual"), titles)


def _scatter(
    x: Vector,
    y: Vector,
    line: tuple[list[float], list[float]],
    names: tuple[str, str],
    titles: tuple[str, str],
) -> Drawn:
    """Points around a line that they should be near; `names` are for hovering."""
    hover = f"{names[0]} %{{x:,.4~r}}, {names[1]} %{{y:,.4~r}}<extra></extra>"
    points = dots(x, y, {"color": BLUE, "size": 6, "opacity": 0.65}, hovertemplate=hover)
    return figure([_line(*line), points], *titles, showlegend=False)


def _of_classes(program: Program, rows: Predicted, who: str) -> list[Block]:
    assert program.classes is not None
    truth, first, second = rows.positive, *program.classes
    if truth.all() or not truth.any():
        return [Text(f"The {who} are of one class, so that there is no ROC curve.")]
    logistic = program.loss.name == "logistic"
    said = f"predicted chance of {plain(second)}" if logistic else "score"
    values = chance(rows.z) if logistic else rows.z
    edges = np.linspace(0.0, 1.0, 21) if logistic else _edges(values)
    parts = []
    for label, color, side in ((first, BLUE, ~truth), (second, ORANGE, truth)):
        weights = None if rows.weights is None else rows.weights[side]
        parts.append(_histogram(values[side], edges, weights, plain(label), color))
    axis = {"range": [0.0, 1.0], "tickformat": ".0%"} if logistic else None
    split = figure(parts, said, "rows", xaxis=axis, barmode="overlay")
    roc = _roc(rows, plain(first), plain(second))
    blocks: list[Block] = [Chart("roc", "ROC curve", roc, f"{who}.", half=True)]
    if logistic:
        bins = _calibration(values, truth, rows.weights, plain(second))
        words = f"{who}, in bins of equal numbers of rows. Bars: 95% Wilson intervals."
        blocks.append(Chart("calibration", "Calibration", bins, words, half=True))
    blocks.append(Chart("split", "Predictions by class", split, f"{who}.", half=True))
    blocks.append(_confusion(rows, str(first), str(second)))
    return blocks


def _roc(rows: Predicted, first: str, second: str) -> Drawn:
    from sklearn.metrics import roc_curve

    wrong, right, _ = roc_curve(rows.positive, rows.z, sample_weight=rows.weights)
    if len(wrong) > MOST_POINTS:
        some = np.linspace(0, len(wrong) - 1, MOST_POINTS).astype(int)
        wrong, right = wrong[some], right[some]
    steps = curve(
        wrong,
        right,
        {"color": BLUE, "width": 2, "shape": "hv"},
        "%{y:.0%} found at %{x:.0%} false alarms<extra></extra>",
        mode="lines",
        fill="tozeroy",
        fillcolor="var(--band)",
    )
    return _shares(steps, f"share of {first} taken for {second}", f"share of {second} found", 0.01)


def _calibration(p: Vector, truth: Any, weights: Vector | None, label: str) -> Drawn:
    from scipy.stats import binomtest

    bins = int(np.clip(len(p) // LEAST_ROWS, 1, BINS))
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    w = np.ones(len(p)) if weights is None else weights
    x = np.array([np.average(p[part], weights=w[part]) for part in parts])
    y = np.array([np.average(truth[part], weights=w[part]) for part in parts])
    tests = [binomtest(int(truth[part].sum()), len(part)) for part in parts]
    ends = [test.proportion_ci(method="wilson") for test in tests]
    above = np.maximum([end.high for end in ends] - y, 0.0)
    below = np.maximum(y - [end.low for end in ends], 0.0)
    bars = {"type": "data", "thickness": 1, "width": 3}
    observed = curve(
        x,
        y,
        {"color": BLUE, "width": 1.5},
        "predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows<extra></extra>",
        customdata=[len(part) for part in parts],
        marker={"size": 7},
        error_y={"array": above, "arrayminus": below, "symmetric": False, **bars},
    )
    return _shares(observed, f"predicted chance of {label}", f"observed share of {label}", 0.02)


def _shares(trace: Drawn, x: str, y: str, pad: float) -> Drawn:
    """A trace of one share over another, beside the line on which they are equal."""
    axis = {"range": [-pad, 1 + pad], "tickformat": ".0%"}
    diagonal = _line([0, 1], [0, 1])
    return figure([diagonal, trace], x, y, xaxis=axis, yaxis=axis, showlegend=False)


def _confusion(rows: Predicted, first: str, second: str) -> Table:
    """Rows by what they are and what they are taken for."""
    guess, labels = rows.z > 0, {False: first, True: second}
    cells = [
        (
            Cell(f"are {label}"),
            *(count(int(np.sum((rows.positive == side) & (guess == taken)))) for taken in labels),
        )
        for side, label in labels.items()
    ]
    note = classes_sentence(first, second)
    return Table(("rows that", f"taken for {first}", f"taken for {second}"), cells, note=note)


def _histogram(
    values: Vector, edges: Vector, weights: Vector | None, name: str, color: str
) -> Drawn:
    """Counted here, so that a page does not grow with the rows."""
    counts, _ = np.histogram(values, edges, weights=weights)
    return {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "width": np.diff(edges),
        "y": counts,
        "customdata": [
            f"{readable(a, 3)} to {readable(b, 3)}" for a, b in pairwise(edges.tolist())
        ],
        "name": name,
        "marker": {"color": color},
        "opacity": 0.7,
        "hovertemplate": "%{customdata}: %{y}<extra></extra>",
    }


def _edges(values: Vector) -> Vector:
    """Bins of equal width, not too many."""
    finite = values[np.isfinite(values)]
    edges = np.histogram_bin_edges(finite, bins="auto")
    return edges if len(edges) <= MOST_BARS else np.linspace(edges[0], edges[-1], MOST_BARS + 1)


def _line(x: list[float], y: list[float]) -> Drawn:
    look = {"color": FAINT, "width": 1, "dash": "dash"}
    return {"x": x, "y": y, "mode": "lines", "line": look, "hoverinfo": "skip", "showlegend": False}


def _sample(n: int) -> Any:
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))
