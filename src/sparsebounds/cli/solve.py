"""sparsebounds solve: a sparse model, both bounds on the best possible, and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparsebounds._support.deadline import Deadline
from sparsebounds._support.errors import InputError
from sparsebounds.cli import _options as options
from sparsebounds.cli._folds import chosen_by_folds
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._model_files import save_model
from sparsebounds.cli._options import FoldOptions, ProblemOptions, SizeOptions, TableOptions
from sparsebounds.cli._output import finish, print_json, say, sentences, spinner
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.cli._run import Run, command_line, save_proof
from sparsebounds.cli._show import scores_table, show_solution
from sparsebounds.report import require_report
from sparsebounds.solving import solve_program


@grouped
def solve(
    context: typer.Context,
    data: options.Data,
    table: TableOptions,
    size: SizeOptions,
    folds: FoldOptions,
    problem: ProblemOptions,
    tol: options.Tolerance = 1e-4,
    require_optimal: options.RequireOptimal = False,
    exact: options.Search = None,
    time_limit: options.TimeLimit = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the exact search here, and go on from it (.npz)."),
    ] = None,
    certificate: options.CertificateFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Save the model here, for predict (JSON).")
    ] = None,
    report: options.ReportFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find a sparse model and prove how close to the best possible it is.

    Exit code 0: a model with valid bounds, whatever the gap. 2: bad input. 3: --require-optimal was
    given, and the gap is wider than --tol.

    Example: sparsebounds solve patients.csv --target survival -k 5 --out model.json

    Example: sparsebounds solve patients.csv --target relapse --loss logistic -k 3 --one-hot
    --impute median --test 0.2 --report report.html
    """
    with sentences():
        outputs = [
            ("--checkpoint", checkpoint),
            ("--certificate", certificate),
            ("--out", out),
            ("--report", report),
        ]
        check_outputs(outputs, {"DATA": data}, force=force)
        if report is not None:
            require_report()
        if checkpoint is not None and not exact:
            raise InputError(f"--checkpoint {checkpoint} is for the exact search: add --exact.")
        problem.check()
        folds.check(size)
        reading = table.read(data)
        parameters = problem.parameters(reading, size)
        deadline, chosen = Deadline.of(time_limit), None
        if folds.cv is not None:
            seed = reading.choice.seed
            with spinner("Cross-validating"):
                chosen = chosen_by_folds(
                    parameters, reading.train, folds, size, problem, seed, time_limit
                )
            parameters = chosen.parameters
        program = parameters.program(reading.train)
        with spinner("Solving", to_the_end=exact is True) as callback:
            solution = solve_program(
                program,
                tol,
                exact="auto" if exact is None else exact,
                time_limit=deadline,
                checkpoint=checkpoint,
                callback=callback,
            )
        with spinner("Advice"):
            advice = solution.advice(time_limit=deadline)
        given = command_line(context)
        run = Run(given, reading, parameters, program, solution, chosen, advice)
    if as_json:
        print_json(run.record())
    else:
        say(f"{program.describe()}\n", style="bold")
        if chosen is not None:
            say(f"{chosen.tried.words}\n")
        show_solution(program, solution, tol)
        if run.marked is not None:
            say(f"\n{run.marked.sentences}")
        if advice:
            say(f"\n{' '.join(advice)}")
        if reading.held is not None:
            say()
            say(scores_table(run.scores, len(reading.train.y), len(reading.held.y)))
    with sentences():
        if out is not None:
            save_model(out, run.model(), parameters)
        if certificate is not None:
            save_proof(certificate, solution.certificate, reading)
        if report is not None:
            with spinner("Report"):
                run.report(report, certificate)
    finish([solution.status], require_optimal=require_optimal)
