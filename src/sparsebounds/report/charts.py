"""Charts of bounds, coefficients and folds, as plotly's JSON.

Plotly reads some HTML in its labels, so that names from the data are escaped (`plain`). Names
never stand in a template of hover text; they come in by `customdata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds.paths import Path, entry_order, places, program_coefs
from sparsebounds.report.band import Band

BLUE, ORANGE, GREEN, FAINT, INK = (
    f"var(--{name})" for name in ("blue", "orange", "green", "faint", "ink")
)
LINES = tuple(f"var(--line{i})" for i in range(7))
CHOSEN = {"color": ORANGE, "size": 11, "symbol": "diamond"}
LONGEST = 28
"""Characters of a name on an axis; all of it is shown on hovering."""


def plain(text: object) -> str:
    """A text that plotly shows as it is."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(text: str) -> str:
    """A name on an axis."""
    return plain(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def figure(
    traces: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    *,
    xaxis: Mapping[str, Any] | None = None,
    yaxis: Mapping[str, Any] | None = None,
    **layout: Any,
) -> dict[str, Any]:
    """Traces with titled axes in the page's colours."""
    look = {
        "gridcolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        "linecolor": FAINT,
        "automargin": True,
    }
    return {
        "data": list(traces),
        "layout": {
            "xaxis": {**look, "title": {"text": x}, **(xaxis or {})},
            "yaxis": {**look, "title": {"text": y}, **(yaxis or {})},
            "margin": {"l": 56, "r": 16, "t": 34, "b": 48},
            "modebar": {"bgcolor": "transparent", "color": FAINT, "activecolor": INK},
            "paper_bgcolor": "transparent",
            "plot_bgcolor": "transparent",
            "font": {"color": INK, "size": 13},
            "hoverlabel": {"bgcolor": "var(--card)", "font": {"color": INK}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": len(traces) > 1,
            **layout,
        },
    }


def grid_axis(kind: str, x: Vector) -> dict[str, Any]:
    """The axis of k, or of the price: falling to the right, so that models grow."""
    low, high = float(np.min(x)), float(np.max(x))
    if kind == "l0":
        pad = 0.03 + 0.03 * np.log10(high / low)
        return {"type": "log", "dtick": "D2", "range": [np.log10(high) + pad, np.log10(low) - pad]}
    pad = 0.3 + 0.01 * (high - low)
    step = {"tickmode": "linear", "tick0": 0, "dtick": 1} if high - low <= 20 else {}
    return {"range": [low - pad, high + pad], **step}


def grid_title(kind: str) -> str:
    """What the axis says."""
    return "k, the largest number of features" if kind == "k" else "l0, the price of a feature"


def band_chart(band: Band) -> dict[str, Any]:
    """Where the best possible objective is proved to lie, along k or l0."""
    below = [rounded_down(value) for value in band.lower]
    above = [rounded_up(value) for value in band.upper]
    gaps = [percent_up(value) for value in band.rel_gap]
    at = band.kind
    traces: list[dict[str, Any]] = [
        {
            "x": band.places,
            "y": band.lower,
            "customdata": below,
            "name": "proved lower bound",
            "mode": "lines",
            "line": {"color": BLUE, "width": 1, "dash": "dot"},
            "hovertemplate": "%{customdata}<extra>no model is below</extra>",
        },
        {
            "x": band.places,
            "y": band.upper,
            "customdata": list(zip(above, gaps, map(str, band.used), strict=True)),
            "name": "the model found",
            "mode": "lines+markers",
            "line": {"color": BLUE, "width": 2},
            "fill": "tonexty",
            "fillcolor": "var(--band)",
            "hovertemplate": "%{customdata[0]}, gap %{customdata[1]}, %{customdata[2]} features"
            "<extra>the model found</extra>",
        },
    ]
    best = band.optimal
    if best.any():
        ring = {"color": "transparent", "size": 13, "line": {"color": GREEN, "width": 2}}
        traces.append(_marks(band.places[best], band.upper[best], "proved optimal", ring))
    if band.chosen is not None:
        x, y = band.places[[band.chosen]], band.upper[[band.chosen]]
        traces.append(_marks(x, y, "this report's model", CHOSEN))
    return figure(
        traces,
        grid_title(at),
        "objective",
        xaxis=grid_axis(at, band.places),
        hovermode="x unified",
        shapes=[_level(band.null)],
        annotations=[
            {
                "text": "without features",
                "xref": "paper",
                "x": 1,
                "xanchor": "right",
                "y": band.null,
                "yanchor": "top",
                "showarrow": False,
                "font": {"color": FAINT, "size": 12},
            }
        ],
    )


def coefficients_chart(path: Path) -> dict[str, Any]:
    """The coefficients on the program's own columns, which compare, along a path."""
    order = entry_order(path)
    coefs = program_coefs(path, order)
    x = places(path)
    large = np.argsort(-np.max(np.abs(coefs), axis=0), kind="stable")
    colored = {int(i): LINES[at] for at, i in enumerate(large[: len(LINES)])}
    traces = []
    for i, feature in enumerate(order.tolist()):
        name = path.label(feature)
        traces.append(
            {
                "x": x,
                "y": coefs[:, i],
                "name": short(name),
                "customdata": [plain(name)] * len(x),
                "mode": "lines+markers",
                "marker": {"size": 4},
                "line": {"color": colored.get(i, FAINT), "width": 1.6},
                "hovertemplate": "%{customdata}: %{y:.4g}<extra></extra>",
            }
        )
    scaled = path[0].certificate.problem.standardize is not None
    return figure(
        traces,
        grid_title(path.kind),
        "coefficient" + (" (standardized columns)" if scaled else ""),
        xaxis=grid_axis(path.kind, x),
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "v", "x": 1.02, "y": 1, "font": {"size": 12}},
    )


def members_chart(path: Path) -> dict[str, Any]:
    """Who is in at each point, and who is proved to be in every best model there."""
    order = entry_order(path).tolist()
    place = {feature: row for row, feature in enumerate(order)}
    traces = []
    for kind, color, name in (
        ("support", "var(--member)", "in the model"),
        ("fixed_in", BLUE, "and proved to be in every best one"),
    ):
        cells = [
            (point.place, place[feature], plain(path.label(feature)))
            for point in path
            for feature in getattr(point, kind).tolist()
            if feature in place
        ]
        traces.append(
            {
                "x": [cell[0] for cell in cells],
                "y": [cell[1] for cell in cells],
                "customdata": [cell[2] for cell in cells],
                "name": name,
                "mode": "markers",
                "marker": {"symbol": "square", "size": 13, "color": color},
                "hovertemplate": f"{path.kind} = %{{x}}: %{{customdata}}<extra></extra>",
            }
        )
    names = [short(path.label(feature)) for feature in order]
    axis = {
        "tickvals": list(range(len(order))),
        "ticktext": names,
        "range": [len(order) - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
    }
    return figure(
        traces,
        grid_title(path.kind),
        "",
        xaxis=grid_axis(path.kind, places(path)),
        yaxis=axis,
        hovermode="closest",
        height=max(240, 130 + 22 * len(order)),
    )


def folds_chart(
    results: Mapping[str, Any], score: str, chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """Mean scores of the folds with one standard error, a line per ridge; the chosen one marked."""
    kind = "k" if "param_k" in results else "l0"
    place = np.asarray(results[f"param_{kind}"], dtype=np.float64)
    mean = np.asarray(results["mean_test_score"], dtype=np.float64)
    folds = sum(name.startswith("split") for name in results)
    error = np.asarray(results["std_test_score"], dtype=np.float64) / np.sqrt(max(folds, 1))
    ridges = list(results.get("param_ridge", [None] * len(place)))
    traces = []
    for at, ridge in enumerate(dict.fromkeys(ridges)):
        rows = np.array([i for i, one in enumerate(ridges) if one == ridge])
        traces.append(
            {
                "x": place[rows],
                "y": mean[rows],
                "error_y": {"type": "data", "array": error[rows], "width": 2, "thickness": 1},
                "name": "mean of the folds" if ridge is None else f"ridge = {ridge:g}",
                "mode": "lines+markers",
                "line": {"color": LINES[at % len(LINES)], "width": 1.6},
                "marker": {"size": 5},
                "hovertemplate": f"{kind} = %{{x}}: %{{y:.4g}} ± %{{error_y.array:.2g}}",
            }
        )
    right = place == chosen[kind]
    if chosen.get("ridge") is not None:
        right &= np.array([one == chosen["ridge"] for one in ridges])
    traces.append(_marks(place[right], mean[right], "chosen", CHOSEN))
    return figure(
        traces, grid_title(kind), score, xaxis=grid_axis(kind, place), hovermode="closest"
    )


def scores_chart(path: Path, score: str, sides: Mapping[str, Vector]) -> dict[str, Any]:
    """One score of every model of a path, on the rows of each side."""
    x = places(path)
    traces = [
        {
            "x": x,
            "y": values,
            "name": name,
            "mode": "lines+markers",
            "line": {"color": color, "width": 1.8, "dash": dash},
            "hovertemplate": "%{y:.4g}",
        }
        for (name, values), color, dash in zip(
            sides.items(), (BLUE, ORANGE), ("dot", "solid"), strict=False
        )
    ]
    return figure(
        traces,
        grid_title(path.kind),
        score,
        xaxis=grid_axis(path.kind, x),
        hovermode="x unified",
        showlegend=True,
    )


def _level(height: float) -> dict[str, Any]:
    """A dashed line across."""
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": height,
        "y1": height,
        "line": {"color": FAINT, "width": 1, "dash": "dash"},
    }


def _marks(x: Vector, y: Vector, name: str, look: Mapping[str, Any]) -> dict[str, Any]:
    """Points that stand out."""
    return {
        "x": x,
        "y": y,
        "name": name,
        "mode": "markers",
        "marker": look,
        "hoverinfo": "skip",
    }
