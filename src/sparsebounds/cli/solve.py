"""sparsebounds solve: a sparse model, both bounds on the best possible, and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sparsebounds._errors import InputError
from sparsebounds.cli import _options as options
from sparsebounds.cli._data import read_table
from sparsebounds.cli._model import SavedModel, class_labels, feature, save_model
from sparsebounds.cli._options import Parameters, listed
from sparsebounds.cli._output import (
    BOUNDED,
    OK,
    check_writable,
    print_json,
    progress,
    say,
    sentences,
)
from sparsebounds.cli._show import bounds_record, show_solution

if TYPE_CHECKING:
    from sparsebounds._solution import Solution
    from sparsebounds.program import Program


def solve(
    data: options.Data,
    target: options.Target = None,
    k: options.K = None,
    l0: options.L0 = None,
    ridge: options.Ridge = None,
    ball: options.Ball = None,
    loss: options.LossName = None,
    intercept: options.Intercept = None,
    standardize: options.Standardize = None,
    weights: options.Weights = None,
    offset: options.Offset = None,
    always: options.Always = None,
    never: options.Never = None,
    positive: options.Positive = None,
    tol: options.Tolerance = 1e-4,
    exact: options.Exact = False,
    time_limit: options.TimeLimit = None,
    checkpoint: options.CheckpointFile = None,
    certificate: options.CertificateFile = None,
    out: Annotated[Path | None, typer.Option(help="Save the model here (JSON).")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Find a sparse model and prove how close to the best possible it is.

    Exit code 0: optimal to --tol, proved. 3: a model whose proved gap is wider. 2: bad input.

    Example: sparsebounds solve patients.csv --target survival -k 5 --out model.json
    """
    from sparsebounds._solve import solve_program

    with sentences():
        check_writable(checkpoint=checkpoint, certificate=certificate, out=out)
        if checkpoint is not None and not exact:
            raise InputError(f"--checkpoint {checkpoint} is for the exact search: add --exact.")
        table = read_table(data, target, weights, offset)
        parameters = Parameters().changed(
            loss=loss,
            k=k,
            l0=l0,
            ridge=ridge,
            ball=ball,
            fit_intercept=intercept,
            standardize=standardize,
            positive=positive,
            always=listed("--always", always, table),
            never=listed("--never", never, table),
        )
        program = parameters.program(table)
        with progress("Solving") as callback:
            solution = solve_program(
                program,
                tol,
                exact=exact,
                time_limit=time_limit,
                checkpoint=checkpoint,
                callback=callback,
            )
    if as_json:
        print_json(_record(program, solution))
    else:
        say(f"[bold]{escape(program.describe())}[/]\n")
        show_solution(program, solution, tol)
    with sentences():
        if out is not None:
            save_model(out, _saved(program, solution), parameters)
        if certificate is not None:
            solution.certificate.save(certificate)
    raise typer.Exit(OK if solution.status == "optimal" else BOUNDED)


def _saved(program: Program, solution: Solution) -> SavedModel:
    return SavedModel(
        features=tuple(feature(program, column) for column in solution.support.tolist()),
        coef=tuple(solution.coef[solution.support].tolist()),
        intercept=float(solution.intercept),
        classes=class_labels(program),
        lower=solution.lower,
        upper=solution.upper,
    )


def _record(program: Program, solution: Solution) -> dict[str, Any]:
    model = _saved(program, solution)
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
        "nodes": solution.stats.nodes,
        "passes": float(solution.stats.full_passes),
        "seconds": solution.stats.seconds,
    }
