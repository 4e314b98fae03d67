"""What was found and what is proved: tables and plain words.

Numbers in these texts are rounded to the safe side: a lower bound down, an objective and a
gap up, so that every sentence is as true as the number behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from sparsebounds.cli._model import INTERCEPT, class_labels, feature
from sparsebounds.cli._output import say

if TYPE_CHECKING:
    from sparsebounds._solution import Solution
    from sparsebounds.program import Program

DIGITS = 7


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A number in print, at most the number itself."""
    return _rounded(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """A number in print, at least the number itself."""
    return _rounded(value, digits, ROUND_CEILING)


def percent_up(fraction: float) -> str:
    """A fraction in percent, two digits, rounded up; "under 0.001%" where it is that small."""
    if not 1e-5 < fraction < math.inf:
        return "under 0.001%" if 0 < fraction <= 1e-5 else f"{100 * fraction:.0f}%"
    return f"{Decimal(rounded_up(100 * fraction, 2)):f}%"


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{Context(prec=digits, rounding=direction).create_decimal(value):.{digits}g}"


def model_table(program: Program, solution: Solution) -> Table:
    """Features and coefficients in the user's units, and which features are proved to belong."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("feature", overflow="fold")
    table.add_column("coefficient", justify="right", no_wrap=True)
    table.add_column("proved", style="green", no_wrap=True)
    inside = set(solution.fixed_in.tolist())
    for column in solution.support.tolist():
        name = escape(str(feature(program, column)))
        note = "in every best model" if column in inside else ""
        table.add_row(name, f"{solution.coef[column]:.6g}", note)
    if program.fit_intercept:
        table.add_row(INTERCEPT, f"{solution.intercept:.6g}", "", style="dim")
    return table


def bounds_table(program: Program, lower: float, upper: float, relative: float) -> Table:
    """Both bounds, beside the objective without features."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("objective without features", f"{program.null:.{DIGITS}g}")
    table.add_row("objective", rounded_up(upper))
    table.add_row("proved lower bound", rounded_down(lower))
    table.add_row("relative gap", f"{percent_up(relative)} of {program.yardstick(upper)}")
    return table


def bounds_words(program: Program, lower: float, upper: float, relative: float) -> str:
    """What two bounds prove, in a sentence."""
    if not math.isfinite(lower):
        return f"This model has an objective of {rounded_up(upper)}; no lower bound was proved."
    return (
        f"No {_rivals(program)} can have an objective below {rounded_down(lower)}; this one has "
        f"{rounded_up(upper)}: at most {rounded_up(upper - lower, 2)} from the best possible, "
        f"{percent_up(relative)} of {program.yardstick(upper)}."
    )


def features_words(program: Program, solution: Solution) -> str:
    """How many features are proved in or out, in a sentence; empty where none is."""
    inside, outside = len(solution.fixed_in), len(solution.fixed_out)
    clauses = [f"{inside} {'is' if inside == 1 else 'are'} in every best model"] if inside else []
    clauses += [f"{outside} {'is' if outside == 1 else 'are'} in no best model"] if outside else []
    if not clauses:
        return ""
    return f"Proved: of the {program.m} features, {' and '.join(clauses)}."


def status_words(status: str, tol: float) -> str:
    """The status and what it means for the tolerance."""
    if status == "optimal":
        return f"[bold green]optimal[/], proved to a relative gap of {tol:g}"
    return f"[bold yellow]bounded[/]: the proved gap is wider than {tol:g}"


def show_solution(program: Program, solution: Solution, tol: float) -> None:
    """The model, both bounds and what they prove."""
    relative = solution.rel_gap
    say(model_table(program, solution))
    labels = class_labels(program)
    if labels is not None:
        say(f"[dim]A positive sum means {escape(repr(labels[1]))}.[/]")
    say()
    table = bounds_table(program, solution.lower, solution.upper, relative)
    table.add_row("status", status_words(solution.status, tol))
    cost = f"{solution.stats.full_passes:.1f} passes over the data, {solution.stats.seconds:.2f} s"
    table.add_row("cost", cost)
    say(table)
    say()
    words = bounds_words(program, solution.lower, solution.upper, relative)
    say(f"{words} {features_words(program, solution)}".rstrip())


def scores_table(scores: Mapping[str, Mapping[str, float]], train: int, held: int) -> Table:
    """How well the model predicts, on the rows it was fitted to and on those held out."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("score", no_wrap=True)
    for title, count in (("training", train), ("held out", held)):
        table.add_column(f"{title} ({count} rows)", justify="right", no_wrap=True)
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
        "null": program.null,
        "problem": program.describe(),
        "message": bounds_words(program, lower, upper, relative),
    }


def _rivals(program: Program) -> str:
    """All the models that a lower bound speaks of."""
    if program.k is None:
        words = "model, whatever its number of features,"
    else:
        always = int(np.count_nonzero(program.always))
        extra = f" besides the {always} always in" if always else ""
        words = f"model with at most {program.k} feature{'s' * (program.k != 1)}{extra}"
    held = program.ball is not None or bool(program.positive.any() or program.never.any())
    return f"{words} that obeys the constraints" if held else words
