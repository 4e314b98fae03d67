"""What was found and what is proved: tables for a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from sparsebounds._support.decimals import DIGITS, counted, rounded_down, rounded_up
from sparsebounds._support.printable import printable
from sparsebounds.cli._model_files import INTERCEPT, class_labels, feature
from sparsebounds.cli._output import plain_table, say
from sparsebounds.program import Program
from sparsebounds.solving import (
    Solution,
    bounds_sentence,
    classes_sentence,
    features_sentence,
    status_words,
)


def model_table(program: Program, solution: Solution) -> Table:
    """Features and coefficients in the user's units, and which features are proved to belong."""
    grouped = ["group"] * (not program.groups.single)
    table = plain_table("feature", *grouped, "coefficient", text="feature")
    for column in table.columns[1 : 1 + len(grouped)]:
        column.justify = "left"
    table.add_column("proved", style="green", no_wrap=True)
    for cells in model_rows(program, solution):
        table.add_row(*cells, style="dim" if cells[0] == INTERCEPT else None)
    return table


def model_rows(program: Program, solution: Solution) -> Iterator[list[str]]:
    """The cells of a table of the model: feature, its group if there are groups, and the rest."""
    inside, support = set(solution.fixed_in.tolist()), solution.support
    groups = program.problem.group_labels(support, program.feature_names)
    for column, group in zip(support.tolist(), groups, strict=True):
        name = printable(str(feature(program, column)))
        own = [] if program.groups.single else [printable(group)]
        note = "in every best model" if column in inside else ""
        yield [name, *own, f"{solution.coef[column]:.6g}", note]
    if program.fit_intercept:
        own = [] if program.groups.single else [""]
        yield [INTERCEPT, *own, f"{solution.intercept:.6g}", ""]


def bounds_table(program: Program, lower: float, upper: float) -> Table:
    """Both bounds, beside the objective without features."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("objective without features", f"{program.null:.{DIGITS}g}")
    table.add_row("objective", rounded_up(upper))
    table.add_row("proved lower bound", rounded_down(lower))
    table.add_row("relative gap", program.shares(upper - lower, upper))
    return table


def status_text(status: str, relative: float, tol: float) -> Text:
    """The status, in words that say what is proved."""
    if status == "optimal":
        return Text.assemble(("optimal", "bold green"), f", proved to a relative gap of {tol:g}")
    return Text(status_words(status, relative), "bold cyan")


def show_solution(
    program: Program, solution: Solution, tol: float, *, turnable: bool = False
) -> None:
    """The model, both bounds and what they prove; `turnable`: classes may change their places."""
    relative = solution.rel_gap
    say(model_table(program, solution))
    labels = class_labels(program)
    if labels is not None:
        turn = f" To turn that round: --positive {shlex.quote(str(labels[0]))}"
        say(f"{classes_sentence(*labels)}{turn if turnable else ''}", style="dim")
    say()
    table = bounds_table(program, solution.lower, solution.upper)
    table.add_row("status", status_text(solution.status, relative, tol))
    cost = f"{solution.stats.full_passes:.1f} passes over the data, {solution.stats.seconds:.2f} s"
    table.add_row("cost", cost)
    say(table)
    say()
    words = bounds_sentence(program, solution.lower, solution.upper)
    say(f"{words} {features_sentence(program, solution.fixed_in, solution.fixed_out)}".rstrip())


def scores_table(scores: Mapping[str, Mapping[str, float]], train: int, held: int) -> Table:
    """How well the model predicts, on the rows it was fitted to and on those held out."""
    sides = f"training ({counted(train, 'row')})", f"held out ({counted(held, 'row')})"
    table = plain_table("score", *sides, text="score")
    for name, on_train in scores["train"].items():
        table.add_row(name, f"{on_train:.4g}", f"{scores['test'].get(name, math.nan):.4g}")
    return table


def bounds_record(program: Program, lower: float, upper: float, relative: float) -> dict[str, Any]:
    """Both bounds and the problem, for JSON."""
    return {
        "lower": lower,
        "upper": upper,
        "gap": upper - lower,
        "rel_gap": relative,
        "null_gap": program.null_share(upper - lower, upper),
        "null": program.null,
        "problem": program.describe(),
        "message": bounds_sentence(program, lower, upper),
    }
