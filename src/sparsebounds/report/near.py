"""Models nearly as good as the best: which features they share, and all of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from sparsebounds._support.decimals import counted, percent_up, rounded_down, rounded_up
from sparsebounds.exact import NearOptimal
from sparsebounds.program import Program
from sparsebounds.report.origin import Origin, data_section, repeat_section
from sparsebounds.report.page import (
    Block,
    Card,
    Cell,
    Page,
    Section,
    Table,
    Text,
    count,
    listed,
    named,
    write,
)

MOST_FEATURES = 200
"""Rows of the table of features."""


def near_section(program: Program, near: NearOptimal | None, labels: Sequence[str]) -> Section:
    """The features of good models, by how many use them, and the models, best first."""
    blocks: tuple[Block, ...] = ()
    if near is not None:
        words = (
            "Models with other features may predict as well as the best one: where the list below "
            "is long, do not read the choice of features as a fact about the world."
        )
        blocks = (
            Text(near.message, strong=True),
            Text(words),
            _features(near, labels),
            _models(program, near, labels),
        )
    return Section("near", "Nearly as good", blocks)


def report_near(
    file: str | os.PathLike[str], program: Program, near: NearOptimal, origin: Origin | None = None
) -> None:
    """Write a report of all models nearly as good as the best."""
    origin = origin or Origin()
    spent = f"{counted(near.nodes, 'node')}, {near.seconds:.2f} s"
    page = Page(
        title=f"All good sparse models of {origin.target}",
        subtitle=program.describe(),
        cards=_cards(near),
        sections=(
            near_section(program, near, [near.label(i) for i in range(near.m)]),
            data_section(program, None, origin),
            repeat_section(program, origin, spent),
        ),
    )
    write(file, page)


def worse(program: Program, near: NearOptimal, value: float) -> float:
    """How far a model is from the best one found, by the measure of eps."""
    scale = max(abs(near.upper), abs(program.null), program.rounding)
    return max(value - near.upper, 0.0) / scale


def _cards(near: NearOptimal) -> tuple[Card, ...]:
    proof = Card("the list", "complete", "proved", "good")
    if not near.complete:
        known = "nothing is proved"
        if not math.isnan(near.complete_to):
            known = f"complete to {100 * near.complete_to:.3g}%"
        proof = Card("the list", "ended early", known, "open")
    used = int(np.count_nonzero(near.frequency))
    return (
        Card("models", str(len(near)), f"at most {100 * near.eps:g}% worse than the best"),
        proof,
        Card("in all of them", str(len(near.core)), f"of {used} features used"),
        Card("objective", rounded_up(near.upper, 5), "of the best"),
        Card("proved lower bound", rounded_down(near.lower, 5), "of every such model"),
    )


def _features(near: NearOptimal, labels: Sequence[str]) -> Table:
    share = near.frequency
    order = np.argsort(-share, kind="stable")
    rows = []
    for i in order[: min(MOST_FEATURES, int(np.count_nonzero(share)))].tolist():
        every = Cell("every one", mark="good") if share[i] == 1.0 else Cell("")
        uses = count(round(share[i] * len(near)))
        bar = Cell(f"{share[i]:.0%}", float(share[i]), bar=float(share[i]))
        rows.append((named(labels[i]), uses, bar, every))
    return Table(("feature", "models", "share of the models", "used by"), rows, "near-features")


def _models(program: Program, near: NearOptimal, labels: Sequence[str]) -> Table:
    rows = []
    for place, (support, value) in enumerate(zip(near.supports, near.values.tolist(), strict=True)):
        far = worse(program, near, value)
        names = [labels[i] for i in support] or ["none"]
        cells = (Cell(rounded_up(value), value), Cell(percent_up(far), far), count(len(support)))
        rows.append((count(place + 1), *cells, listed(names)))
    titles = ("", "objective", "worse than the best by", "size", "features")
    note = "A percentage is of the objective without features, or of the best one's, if larger."
    return Table(titles, rows, "near-models", note)
