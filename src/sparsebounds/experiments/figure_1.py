"""The figure of Experiment 1: values above, distances from p** below."""

from __future__ import annotations

from typing import Any

import polars as pl

from sparsebounds.experiments.base import Part, columns
from sparsebounds.experiments.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    SKY,
    band,
    panels,
    positive,
)

PRICED = (
    ("stated", 1, ":", GREY, r"$\lambda\,(r+1)$, paper"),
    ("tied", 1, "--", GREEN, r"$\lambda\,|S|$, ours"),
    ("opt", 1, "o-", RED, r"OPT $-\,p^{**}$"),
    ("upper", 1, "^-", BLUE, r"model found $-\,p^{**}$"),
)
BUDGETED = (
    ("stated", -1, ":", GREY, r"$p^{**}(k)-p^{**}(k+r+2)$, paper"),
    ("tied", -1, "--", GREEN, r"$p^{**}(k)-p^{**}(k+r_T-1)$, ours"),
    ("opt", -1, "o-", RED, r"$p^{**}(k)\,-$ OPT, more than k nonzeros"),
    ("same_k", 1, "-.", BLACK, r"$p^{**}(k-r+1)-p^{**}(k)$, k nonzeros"),
    ("upper", 1, "^-", BLUE, r"model found $-\,p^{**}(k)$, k nonzeros"),
)
"""Column, sign of its distance from p**, look and label."""


def figure_1(table: pl.DataFrame) -> Any:
    """Left: squared loss, a price l0. Right: logistic loss, at most k nonzeros."""
    figure, axes = panels(2, 2, 6.0, sharex="col")
    l0, k = columns(table, part="l0"), columns(table, part="k")
    _values(axes[0, 0], l0, "l0", r"$p^{**}+\lambda\,(r+1)$", r"$p^{**}+\lambda\,|S|$")
    _values(axes[0, 1], k, "k", r"$p^{**}(k+r+2)$", r"$p^{**}(k+r_T-1)$")
    _distances(axes[1, 0], l0, "l0", PRICED)
    _distances(axes[1, 1], k, "k", BUDGETED)
    axes[0, 0].set(xscale="log", title=r"Squared loss, price $\lambda$ a nonzero")
    axes[0, 1].set(title="Logistic loss, at most k nonzeros")
    axes[1, 0].set(xlabel=r"$\lambda$")
    axes[1, 1].set(xlabel="k")
    return figure


def _values(axes: Any, part: Part, name: str, stated: str, ours: str) -> None:
    x = part[name]
    band(axes, x, part["lower"], part["upper"], SKY, alpha=0.6, label="optimum, certified")
    axes.plot(x, part["stated"], ":", color=GREY, label=f"{stated}, paper")
    axes.plot(x, part["tied"], "--", color=GREEN, label=f"{ours}, ours")
    axes.errorbar(
        x,
        part["opt"],
        yerr=part["opt_spread"],
        fmt="o-",
        color=RED,
        markersize=2,
        label="OPT, spread of 20 objectives",
    )
    axes.plot(x, part["relaxed"], color=BLACK, label=r"$p^{**}$")
    axes.set(ylabel="objective")
    axes.legend()


def _distances(axes: Any, part: Part, name: str, curves: tuple[Any, ...]) -> None:
    for column, sign, style, color, label in curves:
        distance = positive(sign * (part[column] - part["relaxed"]))
        axes.plot(part[name], distance, style, color=color, markersize=2, label=label)
    axes.set(ylabel=r"distance from $p^{**}$", yscale="log")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
