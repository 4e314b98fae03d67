"""Run: all that one `solve` read, found and proved, for whatever shows or keeps it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from sparsebounds.cli._folds import Folds
from sparsebounds.cli._model import SavedModel, class_labels, feature
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._show import bounds_record
from sparsebounds.report import Scores
from sparsebounds.tables import Reading

if TYPE_CHECKING:
    from sparsebounds.program import Program
    from sparsebounds.solving import Solution


@dataclass(frozen=True)
class Run:
    """A solved problem and where it came from."""

    command: str
    """The command line, as it can be typed again."""

    reading: Reading
    """Training rows (names, X, y, weights, offset), rows held out, and how columns became X."""

    parameters: Parameters
    program: Program
    solution: Solution
    tol: float
    scores: dict[str, Scores]
    """On the rows of "train" and of "test"; empty where none were held out."""

    folds: Folds | None = None
    """The cross-validation that chose the parameters, if any."""

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
            parameters=self.parameters,
            choice=None if self.reading.recipe is None else self.reading.choice,
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
            "scores": self.scores or None,
            "chosen": None if self.folds is None else self.folds.words,
            "nodes": solution.stats.nodes,
            "passes": float(solution.stats.full_passes),
            "seconds": solution.stats.seconds,
        }


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
