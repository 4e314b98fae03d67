"""Run: all that one `solve` read, found and proved, for whatever shows or keeps it."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sparsebounds._support.array import Mask
from sparsebounds.certificates import Certificate
from sparsebounds.cli._folds import Folds
from sparsebounds.cli._model_files import SavedModel, class_labels, feature, group_names
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._show import bounds_record
from sparsebounds.exact import near_around
from sparsebounds.paths import path_around
from sparsebounds.program import Program
from sparsebounds.report import (
    Held,
    MarkedRows,
    Origin,
    Predicted,
    Scores,
    predictions,
    report_solution,
)
from sparsebounds.solving import Solution
from sparsebounds.tables import Reading


@dataclass(frozen=True)
class Run:
    """A solved problem and where it came from."""

    command: str
    """The command line, as it can be typed again."""

    reading: Reading
    parameters: Parameters
    program: Program
    solution: Solution
    folds: Folds | None = None
    """The cross-validation that chose the parameters, if any."""

    advice: tuple[str, ...] = ()
    """What can be done about a wide gap, in sentences."""

    reach: str = ""
    """How far it holds that features are in every best model."""

    @cached_property
    def held(self) -> Held | None:
        """The rows held out, if any."""
        return held_rows(self.reading)

    @cached_property
    def seen(self) -> dict[str, Predicted]:
        """All rows as the model sees them."""
        seen = predictions(self.program, self.solution, self.held)
        rows = self.reading.train
        if rows.factors is not None:  # they are for the fit; scores are of rows as they are
            own = Held(rows.X, rows.y, rows.weights, rows.offset)
            seen["train"] = own.seen_by(self.program, self.solution)
        return seen

    def kept(self, side: str) -> Mask:
        """The rows of "train" or "test" that weigh something."""
        rows = self.reading.train if side == "train" else self.reading.held
        assert rows is not None
        return np.ones(len(rows.y), bool) if rows.weights is None else rows.weights > 0

    @cached_property
    def marked(self) -> MarkedRows | None:
        """The training rows by what is proved of them, for the truncated loss."""
        return MarkedRows.of(
            self.program, self.solution, self.seen["train"], origin(self.reading, self.command)
        )

    @property
    def scores(self) -> dict[str, Scores]:
        """On the rows of "train" and of "test"; empty where none were held out."""
        if self.held is None:
            return {}
        return {name: rows.scores for name, rows in self.seen.items()}

    def model(self) -> SavedModel:
        """What a model file keeps."""
        program, solution = self.program, self.solution
        return SavedModel(
            features=tuple(feature(program, column) for column in solution.support.tolist()),
            coef=tuple(solution.coef[solution.support].tolist()),
            intercept=float(solution.intercept),
            classes=class_labels(program),
            lower=solution.lower,
            upper=solution.upper,
            parameters=self.parameters.changed(ridge=program.ridge),
            choice=self.reading.remembered(),
            recipe=self.reading.recipe,
        )

    def record(self) -> dict[str, Any]:
        """For --json."""
        program, solution, model = self.program, self.solution, self.model()
        bounds = bounds_record(program, solution.lower, solution.upper, solution.rel_gap)
        return {
            "status": solution.status,
            "features": model.features,
            "coef": model.coef,
            "intercept": model.intercept,
            "classes": model.classes,
            **bounds,
            "fixed_in": [feature(program, column) for column in solution.fixed_in.tolist()],
            "fixed_out": [feature(program, column) for column in solution.fixed_out.tolist()],
            "groups": group_names(program, solution.support),
            "groups_in": group_names(program, solution.fixed_in),
            "groups_out": group_names(program, solution.fixed_out),
            "outliers": None if self.marked is None else self.marked.record(),
            "scores": self.scores or None,
            "chosen": None if self.folds is None else self.folds.tried.words,
            "reach": self.reach,
            "advice": self.advice,
            "notes": self.reading.notes,
            "nodes": solution.stats.nodes,
            "passes": float(solution.stats.full_passes),
            "seconds": solution.stats.seconds,
        }

    def report(self, file: Path, certificate: Path | None) -> None:
        """Write the report of a `solve`."""
        folds, seconds = self.folds, self.solution.stats.seconds
        report_solution(
            file,
            self.program,
            self.solution,
            held=self.held,
            seen=self.seen,
            path=path_around(self.program, seconds) if folds is None else folds.path,
            folds=None if folds is None else folds.tried,
            origin=origin(self.reading, self.command, certificate),
            advice=(*filter(None, [self.reach]), *self.advice),
            near=near_around(self.program, seconds),
        )


def held_rows(reading: Reading) -> Held | None:
    """The rows held out, if any."""
    rows = reading.held
    return None if rows is None else Held(rows.X, rows.y, rows.weights, rows.offset)


def origin(reading: Reading, command: str, certificate: Path | None = None) -> Origin:
    """The file, what became of its columns, and the commands."""
    check = None
    if certificate is not None:
        check = shlex.join(["sparsebounds", "verify", str(certificate), str(reading.path)])
    return Origin(
        command=command,
        source=reading.path.name,
        target=reading.train.target,
        notes=reading.notes,
        columns=[] if reading.recipe is None else reading.recipe.document(),
        check=check,
        rows=reading.train.numbered(),
    )


def save_proof(file: Path, proof: Certificate, reading: Reading) -> None:
    """Save a certificate that knows how its table was read, so that `verify` can read it again."""
    replace(proof, table={"choice": asdict(reading.restated())}).save(file)


def command_line(context: typer.Context) -> str:
    """The command as it can be typed again: its arguments, and the options that were given."""
    words = [context.command_path]
    for parameter in context.command.params:
        name = parameter.name or ""
        source, value = context.get_parameter_source(name), context.params.get(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        if parameter.param_type_name == "argument":
            words.append(shlex.quote(str(value)))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [parameter.opts[0], shlex.quote(str(one))]
    return " ".join(words)
