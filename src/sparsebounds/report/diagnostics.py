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
from sparsebounds.program import Program
from sparsebounds.report.charts import BLUE, FAINT, ORANGE, figure, plain
from sparsebounds.report.parts import Block, Cell, Chart, Table, Text
from sparsebounds.report.scores import Predicted, Scores, chance

MOST_POINTS = 2000
"""Points of a scatter plot, drawn at random where there are more rows."""

MOST_BARS = 40
BINS, LEAST_ROWS = 10, 8
"""Of the calibration: bins at most, and rows in each at least."""


def scores_block(sides: Mapping[str, Scores]) -> Table:
    """One row per score, one column per set of rows."""
    names = next(iter(sides.values()))
    rows = [
        (
            Cell(name),
            *(
                Cell(_score(scores.get(name, math.nan)), scores.get(name))
                for scores in sides.values()
            ),
        )
        for name in names
    ]
    return Table((("score", False), *((side, True) for side in sides)), rows)


def diagnostics(program: Program, rows: Predicted, target: str, who: str) -> list[Block]:
    """The charts; `who` says which rows, as in "48 rows held out"."""
    if program.classes is not None:
        return _of_classes(program, rows, who)
    return _of_numbers(program, rows, target, who)


def _of_numbers(program: Program, rows: Predicted, target: str, who: str) -> list[Block]:
    counts = program.loss.name == "poisson"
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.exp(rows.z) if counts else rows.z
        residual = (rows.y - mean) / np.sqrt(mean) if counts else rows.y - mean
    some = _sample(len(mean))
    part = "" if len(some) == len(mean) else f" {len(some)} of them are drawn, chosen at random."
    ends = [float(min(mean[some].min(), rows.y[some].min()))]
    ends.append(float(max(mean[some].max(), rows.y[some].max())))
    label = plain(target)
    name = "Pearson residual" if counts else "observed − predicted"
    predictions = f"predicted {label}"
    observed = _scatter(
        mean[some],
        rows.y[some],
        (ends, ends),
        ("predicted", "observed"),
        predictions,
        f"observed {label}",
    )
    span = [float(mean[some].min()), float(mean[some].max())]
    against = _scatter(
        mean[some],
        residual[some],
        (span, [0.0, 0.0]),
        ("predicted", "residual"),
        predictions,
        name,
    )
    bars = _histogram(residual, _edges(residual), rows.weights, "residuals", BLUE)
    counted = figure([bars], name, "rows")
    charts: list[Block] = [
        Chart("observed", "Observed against predicted", observed, f"{who}.{part}", half=True),
        Chart("residuals", "Residuals", against, f"{who}.{part}", half=True),
        Chart("histogram", "Distribution of the residuals", counted, f"{who}.", half=True),
    ]
    if not counts and len(some) > 1:
        normal = _normal(residual[some])
        charts.append(Chart("normal", "Normal quantiles", normal, f"{who}.{part}", half=True))
    return charts


def _normal(residual: Vector) -> dict[str, Any]:
    """Residuals in order against quantiles of the normal law: on the line where they follow it."""
    from scipy.stats import probplot

    (x, y), (slope, middle, _) = probplot(residual)
    ends = [float(x[0]), float(x[-1])]
    line = ends, [float(middle + slope * end) for end in ends]
    names = "quantile", "residual"
    return _scatter(x, y, line, names, "normal quantile", "observed − predicted, in order")


def _scatter(
    x: Vector,
    y: Vector,
    line: tuple[list[float], list[float]],
    names: tuple[str, str],
    *titles: str,
) -> dict[str, Any]:
    """Points around a line that they should be near; `names` are for hovering."""
    dots = {
        "x": x,
        "y": y,
        "mode": "markers",
        "marker": {"color": BLUE, "size": 6, "opacity": 0.65},
        "hovertemplate": f"{names[0]} %{{x:.4g}}, {names[1]} %{{y:.4g}}<extra></extra>",
    }
    return figure([_line(*line), dots], *titles, showlegend=False)


def _of_classes(program: Program, rows: Predicted, who: str) -> list[Block]:
    from sklearn.metrics import roc_curve

    assert program.classes is not None
    truth, first, second = rows.positive, *program.classes
    if truth.all() or not truth.any():
        return [Text(f"The {who} are of one class, so that there is no ROC curve.")]
    wrong, right, _ = roc_curve(truth, rows.z, sample_weight=rows.weights)
    if len(wrong) > MOST_POINTS:
        some = np.linspace(0, len(wrong) - 1, MOST_POINTS).astype(int)
        wrong, right = wrong[some], right[some]
    roc = figure(
        [
            _line([0, 1], [0, 1]),
            {
                "x": wrong,
                "y": right,
                "mode": "lines",
                "line": {"color": BLUE, "width": 2, "shape": "hv"},
                "fill": "tozeroy",
                "fillcolor": "var(--band)",
                "hovertemplate": "%{y:.0%} found at %{x:.0%} false alarms<extra></extra>",
            },
        ],
        f"share of {plain(first)} taken for {plain(second)}",
        f"share of {plain(second)} found",
        xaxis={"range": [-0.01, 1.01], "tickformat": ".0%"},
        yaxis={"range": [-0.01, 1.01], "tickformat": ".0%"},
        showlegend=False,
    )
    logistic = program.loss.name == "logistic"
    said = f"predicted chance of {plain(second)}" if logistic else "score"
    values = chance(rows.z) if logistic else rows.z
    edges = np.linspace(0.0, 1.0, 21) if logistic else _edges(values)
    parts = [
        _histogram(
            values[truth == side], edges, _of(rows.weights, truth == side), plain(label), color
        )
        for side, label, color in ((False, first, BLUE), (True, second, ORANGE))
    ]
    axis = {"range": [0.0, 1.0], "tickformat": ".0%"} if logistic else None
    split = figure(parts, said, "rows", xaxis=axis, barmode="overlay")
    blocks: list[Block] = [Chart("roc", "ROC curve", roc, f"{who}.", half=True)]
    if logistic:
        blocks.append(
            Chart(
                "calibration",
                "Calibration",
                _calibration(values, truth, rows.weights, plain(second)),
                f"{who}, in bins of equal numbers of rows. Bars: 95% Wilson intervals.",
                half=True,
            )
        )
    blocks.append(Chart("split", "Predictions by class", split, f"{who}.", half=True))
    blocks.append(_confusion(rows, str(first), str(second)))
    return blocks


def _calibration(p: Vector, truth: Any, weights: Vector | None, label: str) -> dict[str, Any]:
    from scipy.stats import binomtest

    count = int(np.clip(len(p) // LEAST_ROWS, 1, BINS))
    parts = np.array_split(np.argsort(p, kind="stable"), count)
    w = np.ones(len(p)) if weights is None else weights
    x = np.array([np.average(p[part], weights=w[part]) for part in parts])
    y = np.array([np.average(truth[part], weights=w[part]) for part in parts])
    tests = [binomtest(int(truth[part].sum()), len(part)) for part in parts]
    ends = [test.proportion_ci(method="wilson") for test in tests]
    sizes = [len(part) for part in parts]
    return figure(
        [
            _line([0, 1], [0, 1]),
            {
                "x": x,
                "y": y,
                "customdata": sizes,
                "mode": "lines+markers",
                "line": {"color": BLUE, "width": 1.5},
                "marker": {"size": 7},
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": np.maximum([end.high for end in ends] - y, 0.0),
                    "arrayminus": np.maximum(y - [end.low for end in ends], 0.0),
                    "thickness": 1,
                    "width": 3,
                },
                "hovertemplate": "predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows"
                "<extra></extra>",
            },
        ],
        f"predicted chance of {label}",
        f"observed share of {label}",
        xaxis={"range": [-0.02, 1.02], "tickformat": ".0%"},
        yaxis={"range": [-0.02, 1.02], "tickformat": ".0%"},
        showlegend=False,
    )


def _confusion(rows: Predicted, first: str, second: str) -> Table:
    """Rows by what they are and what they are taken for."""
    guess = rows.z > 0
    cells = [
        (
            Cell(f"are {label}"),
            *(
                Cell(str(n := int(np.sum((rows.positive == side) & (guess == taken)))), float(n))
                for taken in (False, True)
            ),
        )
        for side, label in ((False, first), (True, second))
    ]
    head = (("rows that", False), (f"taken for {first}", True), (f"taken for {second}", True))
    return Table(
        head, cells, note=f"The model predicts {second} where its weighted sum is above 0."
    )


def _histogram(
    values: Vector, edges: Vector, weights: Vector | None, name: str, color: str
) -> dict[str, Any]:
    """Counted here, so that a page does not grow with the rows."""
    counts, _ = np.histogram(values, edges, weights=weights)
    return {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "width": np.diff(edges),
        "y": counts,
        "customdata": [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges.tolist())],
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


def _line(x: list[float], y: list[float]) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "mode": "lines",
        "line": {"color": FAINT, "width": 1, "dash": "dash"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _of(weights: Vector | None, rows: Any) -> Vector | None:
    return None if weights is None else weights[rows]


def _sample(n: int) -> Any:
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))


def _score(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}"
