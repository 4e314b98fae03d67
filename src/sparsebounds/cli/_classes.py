"""A target of more than two classes: one problem for each, against the rest, as one result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds._support.printable import printable
from sparsebounds.cli._folds import Folds
from sparsebounds.cli._output import plain_table, say
from sparsebounds.cli._run import Run, origin
from sparsebounds.cli._show import model_rows
from sparsebounds.report import ManyRows, OneClass, Scores, report_classes
from sparsebounds.solving import status_words


def class_file(file: Path | None, labels: list[Any], place: int) -> Path | None:
    """The file of one class: c.json becomes c.setosa.json, or c.1.json for labels too strange."""
    if file is None:
        return None
    short = [re.sub(r"[^\w.-]", "_", str(label))[:60] for label in labels]
    told_apart = len({name.casefold() for name in short}) == len(labels)
    name = short[place] if told_apart else str(place + 1)
    return file.with_name(f"{file.stem}.{name}{file.suffix}")


@dataclass(frozen=True)
class ClassRuns:
    """The runs of all classes, each against the rest."""

    labels: list[Any]
    runs: list[Run]
    folds: Folds | None

    @cached_property
    def rows(self) -> dict[str, ManyRows]:
        """All rows as the models see them."""
        first = self.runs[0]
        y = {"train": first.reading.train.y}
        if first.reading.held is not None:
            y["test"] = first.reading.held.y
        sides = {}
        for name, labels in y.items():
            seen = [run.seen[name] for run in self.runs]
            z = np.column_stack([one.z for one in seen])
            logistic = first.program.loss.name == "logistic"
            given = labels[first.kept(name)]
            sides[name] = ManyRows(self.labels, given, z, seen[0].weights, logistic)
        return sides

    @property
    def scores(self) -> dict[str, Scores]:
        """On the rows of "train" and of "test"; empty where none were held out."""
        rows = self.rows
        return {name: one.scores for name, one in rows.items()} if "test" in rows else {}

    @property
    def statuses(self) -> list[str]:
        """One per class."""
        return [run.solution.status for run in self.runs]

    def record(self) -> dict[str, Any]:
        """For --json."""
        optimal = all(status == "optimal" for status in self.statuses)
        return {
            "status": "optimal" if optimal else "bounded",
            "classes": self.labels,
            "models": [run.record() for run in self.runs],
            "scores": self.scores or None,
            "chosen": None if self.folds is None else self.folds.tried.words,
        }

    def show(self) -> None:
        """The models, both bounds of each, and what they prove."""
        first = self.runs[0].program
        say(f"{first.describe()}; each of {len(self.labels)} classes against the rest\n", "bold")
        if self.folds is not None:
            say(f"{self.folds.tried.words}\n")
        grouped = ["group"] * (not first.groups.single)
        models = plain_table("class", "feature", *grouped, "coefficient", text="feature")
        bounds = plain_table("class", "proved bound", "objective", "gap", "status")
        for table in (models, bounds):
            table.columns[0].justify = "left"
        models.add_column("proved", style="green", no_wrap=True)
        for label, run in zip(self.labels, self.runs, strict=True):
            solution, shown = run.solution, printable(str(label))
            for cells in model_rows(run.program, solution):
                models.add_row(shown, *cells)
                shown = ""
            bounds.add_row(
                printable(str(label)),
                rounded_down(solution.lower),
                rounded_up(solution.upper),
                percent_up(solution.rel_gap),
                status_words(solution.status, solution.rel_gap),
            )
        say(models)
        say(
            "Positive coefficients speak for the class, negative ones against it; a row is taken "
            "for the class whose weighted sum is the largest.\n",
            style="dim",
        )
        say(bounds)
        say(
            "\nEvery class has a problem of its own: no model with as many "
            f"{'features' if first.groups.single else 'groups'} that tells it "
            "from the rest can have an objective below its proved bound."
        )
        for label, run in zip(self.labels, self.runs, strict=True):
            if run.reach or run.advice:
                say(f"\n{label}: {' '.join([run.reach, *run.advice]).strip()}")

    def report(self, file: Path, proofs: list[Path | None]) -> None:
        """Write one report of all classes; `proofs` are where their certificates are."""
        first = self.runs[0]
        parts = []
        for label, run, proof in zip(self.labels, self.runs, proofs, strict=True):
            check = origin(run.reading, run.command, proof).check
            advice = (*filter(None, [run.reach]), *run.advice)
            parts.append(OneClass(label, run.program, run.solution, advice, check))
        report_classes(
            file,
            parts,
            self.rows,
            held=first.held,
            folds=None if self.folds is None else self.folds.tried,
            origin=origin(first.reading, first.command),
        )
