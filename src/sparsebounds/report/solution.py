"""The report of a solution."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.decimals import counted, percent_up, readable, rounded_down, rounded_up
from sparsebounds.exact import NearOptimal
from sparsebounds.paths import Path
from sparsebounds.program import Program
from sparsebounds.report.band import MEANING, solution_band
from sparsebounds.report.charts import band_chart, folds_chart
from sparsebounds.report.diagnostics import diagnostics, scores_block
from sparsebounds.report.features import features_table, model_table, moments
from sparsebounds.report.near import near_section
from sparsebounds.report.origin import Origin, data_section, repeat_section
from sparsebounds.report.outliers import MarkedRows
from sparsebounds.report.page import (
    Bar,
    Block,
    Card,
    Chart,
    Code,
    Page,
    Section,
    Stretch,
    Text,
    write,
)
from sparsebounds.report.scores import Held, Predicted, predictions
from sparsebounds.solving import Solution, bounds_sentence, features_sentence, status_words

CHECK = "Both bounds can be recomputed from the certificate and the data alone:"


@dataclass(frozen=True)
class Tried:
    """A cross-validation: what it chose, in words and numbers, and all its scores."""

    words: str
    results: Mapping[str, Any]
    """As scikit-learn's cv_results_."""

    score: str
    chosen: Mapping[str, Any]
    """k or l0, and perhaps ridge."""


def report_solution(
    file: str | os.PathLike[str],
    program: Program,
    solution: Solution,
    *,
    held: Held | None = None,
    seen: Mapping[str, Predicted] | None = None,
    names: Any = None,
    path: Path | None = None,
    folds: Tried | None = None,
    origin: Origin | None = None,
    advice: Sequence[str] = (),
    near: NearOptimal | None = None,
) -> None:
    """Write the report of a solution; `seen` are its `predictions`, where they are at hand.

    `advice` are sentences on a wide gap; `near` are other models nearly as good.
    """
    origin = origin or Origin()
    names = (
        program.feature_names if names is None else check.feature_names(names, program.m, "names")
    )
    labels = [str(i) for i in range(program.m)] if names is None else list(names)
    held = None if held is None else held.checked(program)
    seen = predictions(program, solution, held) if seen is None else seen
    mean, spread = moments(program)
    marked = MarkedRows.of(program, solution, seen["train"], origin)
    every = features_table(program, solution, labels, mean, spread)
    page = Page(
        title=f"A sparse model of {origin.target}",
        subtitle=program.describe(),
        cards=_cards(program, solution),
        sections=(
            _proved(program, solution, origin, advice),
            Section("model", "The model", (model_table(program, solution, labels, spread),)),
            _predictions(program, seen, origin, marked),
            _outliers(marked, drawn="test" not in seen),
            _sizes(program, solution, path),
            folds_section(folds),
            near_section(program, near, labels),
            Section("features", "All features", (every,)),
            data_section(program, held, origin),
            repeat_section(program, origin, spent(solution)),
        ),
    )
    write(file, page)


def _cards(program: Program, solution: Solution) -> tuple[Card, ...]:
    mark: Literal["good", "open"] = "good" if solution.status == "optimal" else "open"
    words = status_words(solution.status, solution.rel_gap)
    return (
        Card(
            "status",
            words,
            "no model is better by more" if mark == "open" else "to the tolerance",
            mark,
        ),
        Card("objective", rounded_up(solution.upper, 5), "of this model"),
        Card("proved lower bound", rounded_down(solution.lower, 5), "of every such model"),
        Card("gap", percent_up(solution.rel_gap), "of its objective"),
        Card("features", str(len(solution.support)), f"of {program.m}"),
        *(
            Card("groups", str(len(solution.group_support)), f"of {units}")
            for units in [program.units] * (not program.groups.single)
        ),
    )


def _proved(program: Program, solution: Solution, origin: Origin, advice: Sequence[str]) -> Section:
    more = Text(
        "The objective is the mean loss on the training rows, plus the penalty of the problem. "
        "The bounds say how good the best model can be by that measure; how the model does on "
        "new rows is shown below, and no bound speaks of it."
    )
    blocks = proved_blocks(program, solution, advice, origin.check, more)
    return Section("proved", "What is proved", tuple(blocks))


def proved_blocks(
    program: Program, solution: Solution, advice: Sequence[str], check: str | None, *more: Block
) -> list[Block]:
    """Bounds, features and advice in words, what there is `more` to say, and how to check it."""
    words = bounds_sentence(program, solution.lower, solution.upper)
    said = features_sentence(program, solution.fixed_in, solution.fixed_out)
    blocks: list[Block] = [Text(words, strong=True), *gauge(program, solution)]
    blocks += [Text(one) for one in (said, " ".join(advice)) if one]
    blocks += more
    return blocks if check is None else [*blocks, Text(CHECK), Code(check)]


def gauge(program: Program, solution: Solution) -> list[Block]:
    """From 0 to the objective without features: out of reach, in doubt, gained."""
    lower, upper, null = solution.lower, solution.upper, program.null
    if not 0.0 <= lower <= upper <= null or null == 0.0:
        return []
    shares = (lower / null, (upper - lower) / null, (null - upper) / null)
    words = (
        f"out of reach of every such model: {rounded_down(lower, 5)}",
        f"in doubt: at most {rounded_up(upper - lower, 2)}",
        f"gained by this model: {readable(null - upper, 4)} of {readable(null, 5)}",
    )
    looks = ("reach", "doubt", "gained")
    return [Bar(tuple(map(Stretch, shares, words, looks)))]


def _predictions(
    program: Program, seen: Mapping[str, Predicted], origin: Origin, marked: MarkedRows | None
) -> Section:
    own, held = seen["train"], seen.get("test")
    rows, who = own, f"{len(own.y)} training rows"
    sides = {f"training ({counted(len(own.y), 'row')})": own.scores}
    blocks: list[Block] = []
    if held is not None:
        rows, who = held, f"{counted(len(held.y), 'row')} held out"
        sides[f"held out ({counted(len(held.y), 'row')})"] = held.scores
    else:
        words = "No rows were held out: all below is on the rows that the model was fitted to, and"
        blocks.append(Text(f"{words} flatters it."))
    blocks.append(scores_block(sides))
    if len(rows.y):
        against = None if marked is None or held is not None else marked.chart()
        blocks += diagnostics(program, rows, origin.target, who, against)
    return Section("predictions", "How it predicts", tuple(blocks))


def _outliers(marked: MarkedRows | None, *, drawn: bool) -> Section:
    return Section("outliers", "Outliers", () if marked is None else marked.blocks(drawn=drawn))


def _sizes(program: Program, solution: Solution, path: Path | None) -> Section:
    """The certified band of a path."""
    title = "Other numbers of features" if program.k is not None else "Other prices"
    charts: tuple[Chart, ...] = ()
    if path:
        band = solution_band(program, solution, path)
        words = MEANING if path.complete else f"{MEANING} {path.message}"
        charts = (Chart("band", "The certified band", band_chart(band), words),)
    return Section("sizes", title, charts)


def folds_section(folds: Tried | None) -> Section:
    """The scores in the folds, if there were any."""
    blocks: tuple[Block, ...] = ()
    if folds is not None:
        drawn = folds_chart(folds.results, folds.score, folds.chosen)
        words = "Means over the folds; bars are one standard error."
        blocks = (Text(folds.words), Chart("folds", "Scores in the folds", drawn, words))
    return Section("folds", "Cross-validation", blocks)


def spent(solution: Solution) -> str:
    """What a solution cost, in words."""
    stats = solution.stats
    nodes = f", {counted(stats.nodes, 'node')}" if stats.nodes else ""
    return f"{np.ceil(stats.full_passes):.0f} passes over the data{nodes}, {stats.seconds:.2f} s"
