"""sparsebounds near: every model nearly as good as the best, and the proof that none is missing."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from sparsebounds._support.decimals import counted, percent_up, rounded_down, rounded_up
from sparsebounds._support.printable import printable
from sparsebounds.cli import _options as options
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._model_files import class_labels, feature, group_names
from sparsebounds.cli._options import ProblemOptions, SizeOptions, TableOptions
from sparsebounds.cli._output import (
    OK,
    in_options,
    plain_table,
    print_json,
    say,
    sentences,
    spinner,
)
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.cli._run import command_line, origin
from sparsebounds.exact import NearOptimal, near_optimal
from sparsebounds.program import Program
from sparsebounds.report import report_near, require_report, worse

SHOWN = 20
"""Features and models that are printed; --json and --report have all."""


@grouped
def near(
    context: typer.Context,
    data: options.Data,
    table: TableOptions,
    size: SizeOptions,
    problem: ProblemOptions,
    eps: Annotated[
        float,
        typer.Option(
            help="How much worse than the best, as a share of the objective without features (of "
            "the best one's, if larger)."
        ),
    ] = 0.01,
    max_supports: Annotated[int, typer.Option(help="End at more models than these.")] = 1000,
    time_limit: options.TimeLimit = None,
    report: options.ReportFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """List every model that is nearly as good as the best, and prove that none is missing.

    A model here is a set of features with its best coefficients; smaller sets count too. Where many
    are nearly as good, the choice of features says little.

    Exit code 0: a list, with a sentence that says whether it is complete. 2: bad input.

    Example: sparsebounds near patients.csv --target survival -k 3 --eps 0.02
    """
    with sentences():
        check_outputs([("--report", report)], {"DATA": data}, force=force)
        if report is not None:
            require_report()
        problem.check()
        size.check()
        reading = table.read(data, likeness=problem.likeness)
        program = problem.parameters(reading, size).program(reading.train)
        with spinner("Listing") as callback:
            found = near_optimal(
                program,
                eps,
                max_supports=max_supports,
                time_limit=time_limit,
                callback=callback,
            )
    if as_json:
        print_json(_record(program, found))
    else:
        _show(program, found)
    with sentences():
        if report is not None:
            report_near(report, program, found, origin(reading, command_line(context)))
    raise typer.Exit(OK)


def _show(program: Program, found: NearOptimal) -> None:
    say(f"{program.describe()}\n", style="bold")
    say(f"{in_options(found.message)}\n")
    share, many = found.frequency, len(found)
    used = plain_table("feature", "models", "share", text="feature")
    used.add_column("used by", style="green", no_wrap=True)
    order = [i for i in np.argsort(-share, kind="stable").tolist() if share[i] > 0]
    for i in order[:SHOWN]:
        name = printable(str(feature(program, i)))
        every = "every one" if share[i] == 1.0 else ""
        used.add_row(name, str(round(share[i] * many)), f"{share[i]:.0%}", every)
    say(used)
    if len(order) > SHOWN:
        say(f"and {len(order) - SHOWN} features that fewer of them use.", style="dim")
    kind = "features" if program.groups.single else "groups"
    models = plain_table("objective", "worse by", kind, text=kind)
    for support, value in list(zip(found.supports, found.values.tolist(), strict=True))[:SHOWN]:
        units = program.problem.groups_of(np.array(support, int), program.feature_names)
        names = ", ".join(printable(str(unit)) for unit in units) or "none"
        models.add_row(rounded_up(value), percent_up(worse(program, found, value)), names)
    say()
    say(models)
    if many > SHOWN:
        say(f"and {many - SHOWN} more, which --json and --report list.", style="dim")
    say(
        f"\nThe best possible objective is between {rounded_down(found.lower)} and "
        f"{rounded_up(found.upper)}; without features it is {program.null:.7g}. "
        f"{counted(found.nodes, 'node')}, {found.seconds:.2f} s."
    )


def _record(program: Program, found: NearOptimal) -> dict[str, Any]:
    names = [feature(program, i) for i in range(program.m)]
    return {
        "problem": program.describe(),
        "message": in_options(found.message),
        "eps": found.eps,
        "complete": found.complete,
        "complete_to": found.complete_to,
        "lower": found.lower,
        "upper": found.upper,
        "null": program.null,
        "classes": class_labels(program),
        "models": [
            {
                "objective": value,
                "features": [names[i] for i in support],
                "groups": group_names(program, np.array(support, int)),
                "coef": coef.tolist(),
                "intercept": intercept,
            }
            for support, value, coef, intercept in zip(
                found.supports,
                found.values.tolist(),
                found.coefficients,
                found.intercepts.tolist(),
                strict=True,
            )
        ],
        "in_every_model": [names[i] for i in found.core.tolist()],
        "nodes": found.nodes,
        "seconds": found.seconds,
    }
