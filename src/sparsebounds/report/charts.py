"""Charts of bounds, coefficients and folds, as plotly's JSON.

Plotly reads some HTML in its labels, so that names from the data are escaped (`plain`). Names
never stand in a template of hover text; they come in by `customdata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds._support.printable import printable
from sparsebounds.paths import AXES, MEMBERS, Path, entry_order, members, places, program_coefs
from sparsebounds.report.band import Band
from sparsebounds.report.page import shortened

BLUE, ORANGE, GREEN, FAINT, INK = (
    f"var(--{name})" for name in ("blue", "orange", "green", "faint", "ink")
)
LINES = tuple(f"var(--line{i})" for i in range(7))
CHOSEN = {"color": ORANGE, "size": 11, "symbol": "diamond"}
LONGEST = 28
"""Characters of a name on an axis; all of it is shown on hovering."""

Drawn = dict[str, Any]
"""A figure or a part of one."""


def plain(text: object) -> str:
    """A text that plotly, and who reads it, sees as it is."""
    return escape(printable(str(text), lines=True), quote=False)


def short(text: str) -> str:
    """A name on an axis."""
    return plain(shortened(text, LONGEST))


def figure(
    traces: Sequence[Drawn],
    x: str,
    y: str,
    *,
    xaxis: Mapping[str, Any] | None = None,
    yaxis: Mapping[str, Any] | None = None,
    **layout: Any,
) -> Drawn:
    """Traces with titled axes in the page's colours."""
    grid = "var(--grid)"
    look = {"gridcolor": grid, "zerolinecolor": grid, "linecolor": FAINT, "automargin": True}
    look |= {"separatethousands": True, "exponentformat": "none"}
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


def curve(x: Any, y: Any, line: Mapping[str, Any], hover: str, **more: Any) -> Drawn:
    """A line through points, with marks unless another `mode` is given."""
    shown = {"x": x, "y": y, "line": line, "hovertemplate": hover}
    return {"mode": "lines+markers", **shown, **more}


def dots(x: Any, y: Any, marker: Mapping[str, Any], **more: Any) -> Drawn:
    """Points without a line; nothing is said on hovering unless there is a `hovertemplate`."""
    silent = {} if "hovertemplate" in more else {"hoverinfo": "skip"}
    return {"x": x, "y": y, "mode": "markers", "marker": marker, **silent, **more}


def along(kind: str, x: Vector, traces: Sequence[Drawn], y: str, **layout: Any) -> Drawn:
    """A figure over k, or over the price: falling to the right, so that models grow."""
    low, high = float(np.min(x)), float(np.max(x))
    axis: Drawn
    if kind == "l0":
        pad = 0.03 + 0.03 * np.log10(high / low)
        axis = {"type": "log", "dtick": "D2", "range": [np.log10(high) + pad, np.log10(low) - pad]}
    else:
        pad = 0.3 + 0.01 * (high - low)
        axis = {"range": [low - pad, high + pad]}
        if high - low <= 20:
            axis |= {"tickmode": "linear", "tick0": 0, "dtick": 1}
    return figure(traces, AXES[kind], y, xaxis=axis, **layout)


def band_chart(band: Band) -> Drawn:
    """Where the best possible objective is proved to lie, along k or l0."""
    above = [rounded_up(value) for value in band.upper]
    gaps = [percent_up(value) for value in band.rel_gap]
    traces = [
        curve(
            band.places,
            band.lower,
            {"color": BLUE, "width": 1, "dash": "dot"},
            "%{customdata}<extra>no model is below</extra>",
            customdata=[rounded_down(value) for value in band.lower],
            name="proved lower bound",
            mode="lines",
        ),
        curve(
            band.places,
            band.upper,
            {"color": BLUE, "width": 2},
            "%{customdata[0]}, gap %{customdata[1]}, %{customdata[2]} features"
            "<extra>the model found</extra>",
            customdata=list(zip(above, gaps, map(str, band.used), strict=True)),
            name="the model found",
            fill="tonexty",
            fillcolor="var(--band)",
        ),
    ]
    best = band.optimal
    if best.any():
        ring = {"color": "transparent", "size": 13, "line": {"color": GREEN, "width": 2}}
        traces.append(dots(band.places[best], band.upper[best], ring, name="proved optimal"))
    if band.chosen is not None:
        at = [band.chosen]
        mine = dots(band.places[at], band.upper[at], CHOSEN, name="this report's model")
        traces.append(mine)
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": band.null, "y1": band.null}
    words = {"text": "without features", "font": {"color": FAINT, "size": 12}, "showarrow": False}
    right = {"xref": "paper", "x": 1, "xanchor": "right", "y": band.null, "yanchor": "top"}
    return along(
        band.kind,
        band.places,
        traces,
        "objective",
        hovermode="x unified",
        shapes=[across | {"line": {"color": FAINT, "width": 1, "dash": "dash"}}],
        annotations=[words | right],
    )


def coefficients_chart(path: Path) -> Drawn:
    """The coefficients on the program's own columns, which compare, along a path."""
    order, x = entry_order(path), places(path)
    coefs = program_coefs(path, order)
    large = np.argsort(-np.max(np.abs(coefs), axis=0), kind="stable")
    colored = {int(i): LINES[at] for at, i in enumerate(large[: len(LINES)])}
    traces = [
        curve(
            x,
            coefs[:, i],
            {"color": colored.get(i, FAINT), "width": 1.6},
            "%{customdata}: %{y:,.4~r}<extra></extra>",
            customdata=[plain(name)] * len(x),
            marker={"size": 4},
            **_in_legend(i, name, large.tolist()),
        )
        for i, name in enumerate(map(path.label, order.tolist()))
    ]
    scaled = path[0].certificate.problem.standardize is not None
    return along(
        path.kind,
        x,
        traces,
        "coefficient" + (" (standardized)" if scaled else ""),
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "v", "x": 1.02, "y": 1, "font": {"size": 12}},
    )


def _in_legend(i: int, name: str, large: list[int]) -> Drawn:
    """A line of its own colour stands for itself; all grey ones have one entry."""
    colored, rest = large[: len(LINES)], large[len(LINES) :]
    if i in colored:
        return {"name": short(name)}
    others = f"{len(rest)} other{'s' * (len(rest) != 1)}"
    last = {"legendgroup": "others", "legendrank": 2000}
    return {"name": others, **last, "showlegend": i == min(rest)}


def members_chart(path: Path) -> Drawn:
    """Who is in at each point, and who is proved to be in every best model there."""
    order = entry_order(path)
    traces = []
    for (kind, name), color in zip(MEMBERS.items(), ("var(--member)", BLUE), strict=True):
        x, y = members(path, order, kind)
        traces.append(
            dots(
                x,
                y,
                {"symbol": "square", "size": 13, "color": color},
                customdata=[plain(path.label(order[row])) for row in y],
                name=name,
                hovertemplate=f"{path.kind} = %{{x}}: %{{customdata}}<extra></extra>",
            )
        )
    axis = {
        "tickvals": list(range(len(order))),
        "ticktext": [short(path.label(feature)) for feature in order],
        "range": [len(order) - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
    }
    height = max(240, 130 + 22 * len(order))
    return along(
        path.kind, places(path), traces, "", yaxis=axis, hovermode="closest", height=height
    )


def folds_chart(results: Mapping[str, Any], score: str, chosen: Mapping[str, Any]) -> Drawn:
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
            curve(
                place[rows],
                mean[rows],
                {"color": LINES[at % len(LINES)], "width": 1.6},
                f"{kind} = %{{x}}: %{{y:,.4~r}} ± %{{error_y.array:,.2~r}}",
                error_y={"type": "data", "array": error[rows], "width": 2, "thickness": 1},
                name="mean of the folds" if ridge is None else f"ridge = {ridge:g}",
                marker={"size": 5},
            )
        )
    right = place == chosen[kind]
    if chosen.get("ridge") is not None:
        right &= np.array([one == chosen["ridge"] for one in ridges])
    traces.append(dots(place[right], mean[right], CHOSEN, name="chosen"))
    return along(kind, place, traces, score, hovermode="closest")


def scores_chart(path: Path, score: str, sides: Mapping[str, Vector]) -> Drawn:
    """One score of every model of a path, on the rows of each side."""
    x = places(path)
    looks = {"color": BLUE, "dash": "dot"}, {"color": ORANGE, "dash": "solid"}
    traces = [
        curve(x, values, look | {"width": 1.8}, "%{y:,.4~r}", name=name)
        for (name, values), look in zip(sides.items(), looks, strict=False)
    ]
    return along(path.kind, x, traces, score, hovermode="x unified", showlegend=True)
