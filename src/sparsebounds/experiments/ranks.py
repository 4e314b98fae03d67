"""What Experiments 2 and 3 share: rows, findings and panels; l0 + ball, one row per rank of X_r.

X = X_r + dX, zeta_r = sqrt(ball) |dX^T a_r|, zeta = sqrt(ball) |dX^T a|. Intervals for p(X):

    printed      p**(X_r) - zeta_r   to   OPT + zeta, or p**(X_r) + l0 (r + 1) + zeta;
                 neither upper end holds in general
    valid part   p**(X_r) - zeta_r   to   the objective on the full X of the point behind OPT
    ours         the dual bound on the full X   to   the best model that this rank suggests
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.experiments.base import DRAWS, Part, Tick, spread
from sparsebounds.experiments.style import BLUE, GREY, ORANGE, RED, band
from sparsebounds.program import Program
from sparsebounds.ranks import RankRow, rank_bounds

SHORT, LONG = (0, (2, 1)), (0, (6, 2))
"""Dashes."""

CLOSED = 1e-12
"""An interval no wider than this is closed."""


def rank_rows(
    program: Program, X: Vector, ranks: Iterable[int], tick: Tick, **labels: str | float
) -> list[dict[str, Any]]:
    """One row per rank; `labels` go into each."""
    assert isinstance(program.l0, float)
    full, price, rows = int(np.linalg.matrix_rank(X)), program.l0, list[dict[str, Any]]()

    def keep(row: RankRow) -> None:
        rows.append(
            {
                **labels,
                **asdict(row),
                "stated_first": row.relaxed + price * (row.rank + 1) + row.zeta,
                "full_rank": row.rank >= full,
            }
        )
        tick()

    if rank_bounds(program, ranks, draws=DRAWS, callback=keep).interrupted:
        raise KeyboardInterrupt  # an experiment is whole or not at all
    return rows


def widths(part: Part) -> tuple[Vector, Vector]:
    """The widths of the paper's valid part and of ours."""
    return part["primalized"] - part["stated_lower"], part["upper"] - part["lower"]


def verdict(parts: list[Part]) -> list[str]:
    """All points together: who is narrower, did the draws differ, did the printed ends hold?"""
    valid, ours = (np.concatenate(both) for both in zip(*map(widths, parts), strict=True))
    proper = ~np.concatenate([part["full_rank"] for part in parts])
    wider, narrower = int(np.sum(ours > valid)), int(np.sum((ours < valid)[proper]))
    drawn = max(float(np.max(part["opt_std"])) for part in parts)
    below = sum(
        int(np.sum(np.minimum(part["stated_upper"], part["stated_first"]) < np.max(part["lower"])))
        for part in parts
    )
    return [
        f"Our interval is wider than the paper's valid part at {wider} of {len(ours)} points, and "
        f"strictly narrower at {narrower} of the {int(np.sum(proper))} points where dX is not 0.",
        f"OPT has a standard deviation of at most {drawn:.1g} over {DRAWS} objectives (not solved "
        f"where the tied columns are independent: there they agree).",
        f"The printed upper ends need not hold; on these data they lie below a proved lower bound "
        f"at {below} points.",
    ]


def narrower_by(part: Part) -> str:
    """By how much our interval is narrower where dX is not 0."""
    valid, ours = widths(part)
    proper = ~part["full_rank"]
    closed = proper & (ours <= CLOSED)
    lift = (part["lower"] - part["stated_lower"])[proper]
    words = []
    if np.any(proper & ~closed):
        words.append(
            f"{spread((valid / np.maximum(ours, CLOSED))[proper & ~closed])} times narrower"
        )
    if np.any(closed):
        words.append(f"closed at {int(np.sum(closed))} ranks, where the model is proved optimal")
    return (
        f"{'; '.join(words)}; the lower end alone is higher by {spread(lift)}. {_narrowest(part)}"
    )


def _narrowest(part: Part) -> str:
    """Where each interval is narrowest: the trade-off of rank against dX that the paper sees."""
    valid, ours = widths(part)
    ends = (part["stated_first"], part["stated_upper"])
    first, second = (end - part["stated_lower"] for end in ends)
    ranks = [int(part["rank"][np.argmin(width)]) for width in (first, second, valid, ours)]
    return (
        f"Narrowest at rank {ranks[0]} with the upper end p** + l0 (r + 1) + zeta, {ranks[1]} with "
        f"OPT + zeta, {ranks[2]} for the valid part and {ranks[3]} for ours"
    )


def draw_intervals(axes: Any, part: Part) -> None:
    """The intervals by rank; printed upper ends are dashed."""
    x = part["rank"]
    low, high = part["stated_lower"], part["primalized"]
    band(axes, x, low, high, GREY, alpha=0.25, label="paper, valid part")
    band(axes, x, part["lower"], part["upper"], BLUE, alpha=0.5, label="ours")
    axes.plot(
        x,
        part["stated_upper"],
        linestyle=LONG,
        color=RED,
        label=r"OPT $+\,\zeta$, printed: not a bound",
    )
    axes.plot(
        x,
        part["stated_first"],
        linestyle=SHORT,
        color=ORANGE,
        label=r"$p^{**}(X_r)+\lambda\,(r+1)+\zeta$, printed: not a bound",
    )
    axes.set(xlabel=r"rank of $X_r$", ylabel="objective")


def draw_explained(axes: Any, part: Part) -> None:
    """The share of the variance that X_r keeps."""
    axes.plot(part["rank"], part["explained"], color=BLUE)
    axes.set(xlabel=r"rank of $X_r$", ylabel="share of variance", ylim=(0, 1.02))
    axes.set(title="Explained variance")
