"""More than two classes: one model for each, against the rest; their rows, scores and report.

A row is taken for the class whose linear predictor is the largest. For the logistic loss the
chances of the classes are those of their models, scaled to sum 1.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.decimals import counted, percent_up, rounded_down, rounded_up
from sparsebounds.losses import log_chances
from sparsebounds.program import Program
from sparsebounds.report.diagnostics import scores_block
from sparsebounds.report.features import model_table, moments
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
    write,
)
from sparsebounds.report.scores import Held, Scores
from sparsebounds.report.solution import Tried, folds_section, proved_blocks, spent
from sparsebounds.solving import Solution, status_words


@dataclass(frozen=True)
class OneClass:
    """A class, the problem that tells it from the rest, and its solution."""

    label: Any
    program: Program
    solution: Solution
    advice: Sequence[str] = ()
    check: str | None = None
    """The command that verifies the class's certificate, if it was saved."""


@dataclass(frozen=True)
class ManyRows:
    """Rows as the models of several classes see them."""

    labels: Sequence[Any]
    y: Any
    z: Vector
    """A linear predictor per row and class."""

    weights: Vector | None
    logistic: bool

    @cached_property
    def codes(self) -> Index:
        """The place of each row's label among the classes; -1 for a label without a model."""
        places = [np.where(self.y == label, i, -1) for i, label in enumerate(self.labels)]
        return np.asarray(np.max(places, axis=0))

    @cached_property
    def taken(self) -> Index:
        """The class that each row is taken for."""
        return np.asarray(np.argmax(self.z, axis=1))

    @cached_property
    def scores(self) -> Scores:
        """Accuracy, its mean over the classes, the mean AUC and, for the logistic loss, log-loss.

        A row whose label has no model counts as taken for a wrong one; the others leave it out.
        """
        from sklearn import metrics

        known = self.codes >= 0
        truth, z = self.codes[known], self.z[known]
        own = {"sample_weight": None if self.weights is None else self.weights[known]}
        everywhere = {"sample_weight": self.weights}
        each = [truth == i for i in range(len(self.labels))]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what is not defined is NaN
            areas = [
                metrics.roc_auc_score(one, z[:, i], **own)
                for i, one in enumerate(each)
                if one.any() and not one.all()
            ]
            found = {
                "AUC": float(np.mean(areas)),
                "accuracy": float(np.average(self.codes == self.taken, weights=self.weights)),
                "balanced accuracy": float(
                    metrics.balanced_accuracy_score(self.codes, self.taken, **everywhere)
                ),
            }
            if self.logistic:
                chances = log_chances(z)[np.arange(len(z)), truth]
                found["log-loss"] = -float(np.average(chances, weights=own["sample_weight"]))
        return found


def report_classes(
    file: str | os.PathLike[str],
    parts: Sequence[OneClass],
    rows: Mapping[str, ManyRows],
    *,
    held: Held | None = None,
    folds: Tried | None = None,
    origin: Origin | None = None,
) -> None:
    """Write one report of the models of all classes; `rows` are "train" and perhaps "test"."""
    origin = origin or Origin()
    program = parts[0].program
    page = Page(
        title=f"Sparse models of {origin.target}, one per class",
        subtitle=f"{program.describe()}; each of {len(parts)} classes against the rest",
        cards=_cards(parts, rows),
        sections=(
            _proved(parts),
            _predictions(rows),
            *(_one(f"class-{i}", part, origin) for i, part in enumerate(parts)),
            folds_section(folds),
            data_section(program, held, origin, counts=False),
            repeat_section(program, origin, "; ".join(spent(part.solution) for part in parts)),
        ),
    )
    write(file, page)


def _cards(parts: Sequence[OneClass], rows: Mapping[str, ManyRows]) -> tuple[Card, ...]:
    optimal = all(part.solution.status == "optimal" for part in parts)
    widest = max(part.solution.rel_gap for part in parts)
    used = {i for part in parts for i in part.solution.support.tolist()}
    mark: Literal["good", "open"] = "good" if optimal else "open"
    side, seen = ("held out", rows["test"]) if "test" in rows else ("training", rows["train"])
    status = status_words("optimal" if optimal else "bounded", widest)
    return (
        Card("status", status, "every class", mark),
        Card("classes", str(len(parts)), "each against the rest"),
        Card("widest gap", percent_up(widest), "of its objective"),
        Card("features", str(len(used)), f"of {parts[0].program.m}, in one model or another"),
        Card("accuracy", f"{seen.scores['accuracy']:.1%}", f"{len(seen.y)} {side} rows"),
    )


def _proved(parts: Sequence[OneClass]) -> Section:
    cells = []
    for part in parts:
        found = part.solution
        cells.append(
            (
                Cell(str(part.label)),
                Cell(rounded_up(found.upper, 5), found.upper),
                Cell(rounded_down(found.lower, 5), found.lower),
                Cell(percent_up(found.rel_gap), found.rel_gap),
                count(len(found.support)),
                Cell(status_words(found.status, found.rel_gap)),
            )
        )
    titles = ("class", "objective", "proved lower bound", "gap", "features", "status")
    words = (
        "Each class has a problem of its own: its rows against all others. Both bounds are about "
        "that problem; the prediction, the class with the largest sum, is about all of them."
    )
    return Section("proved", "What is proved", (Text(words), Table(titles, cells)))


def _predictions(rows: Mapping[str, ManyRows]) -> Section:
    names = {"train": "training", "test": "held out"}
    sides = {
        f"{names[key]} ({counted(len(one.y), 'row')})": one.scores for key, one in rows.items()
    }
    seen = rows.get("test", rows["train"])
    blocks: list[Block] = []
    if "test" not in rows:
        words = "No rows were held out: all below is on the rows that the models were fitted to"
        blocks.append(Text(f"{words}, and flatters them."))
    titles = ["rows that", *(f"taken for {label}" for label in seen.labels)]
    cells = [
        (
            Cell(f"are {label}"),
            *(
                count(int(np.sum((seen.codes == i) & (seen.taken == j))))
                for j in range(len(seen.labels))
            ),
        )
        for i, label in enumerate(seen.labels)
    ]
    blocks += [scores_block(sides), Table(titles, cells)]
    return Section("predictions", "How they predict", tuple(blocks))


def _one(name: str, part: OneClass, origin: Origin) -> Section:
    program, solution = part.program, part.solution
    labels = [str(i) for i in range(program.m)]
    if program.feature_names is not None:
        labels = list(program.feature_names)
    blocks = proved_blocks(program, solution, part.advice, part.check)
    blocks.append(model_table(program, solution, labels, moments(program)[1]))
    return Section(name, f"{origin.target} = {part.label}", tuple(blocks))
