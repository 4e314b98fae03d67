"""How figures look: Okabe and Ito's colours, which the colour-blind tell apart, and lines that
differ in dash, weight and marker too, so that a print in grey can be read.

Proved intervals are shaded. What is printed in the paper but does not hold is dashed, and labelled
"not a bound". Figures speak the paper's symbols: its lambda is l0 here.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.extras import library

BLACK, GREY = "#000000", "#767676"
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, RED = "#E69F00", "#D55E00"

SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "pdf.fonttype": 42,  # text stays text
}

WIDTH = 7.0
"""Inches: the width of a page's text."""

RESOLUTION = 200
ROUNDING = 1e-9
"""A difference below this is 0 to the tolerance of the relaxations."""


def require_matplotlib() -> None:
    """Raise, in a sentence, where figures cannot be drawn."""
    library("matplotlib.figure", "plot", "The figures need matplotlib")


@contextmanager
def styled() -> Iterator[None]:
    """Everything drawn inside looks as above."""
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        yield


def panels(rows: int, cols: int, height: float, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, a matrix of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, cols, squeeze=False, **options)


def rendered(figure: Any) -> dict[str, bytes]:
    """The figure as PDF and as PNG, without a date: the same bytes every time."""
    files = {}
    for kind, stamp in (("pdf", "CreationDate"), ("png", "Software")):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=RESOLUTION, metadata={stamp: None})
        files[kind] = buffer.getvalue()
    return files


def band(axes: Any, x: Vector, low: Vector, high: Vector, color: str, **look: Any) -> None:
    """A shaded interval with its two edges."""
    axes.fill_between(x, low, high, color=color, linewidth=0, **look)
    for edge in (low, high):
        axes.plot(x, edge, color=color, linewidth=0.7)


def positive(values: Vector) -> Vector:
    """For a logarithmic axis: NaN for what is 0 or only rounding."""
    return np.where(values > ROUNDING, values, np.nan)
