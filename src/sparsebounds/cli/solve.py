"""sparsebounds solve: a sparse model, both bounds on the best possible, and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsebounds._support.deadline import Deadline
from sparsebounds._support.errors import InputError
from sparsebounds.cli import _options as options
from sparsebounds.cli._classes import ClassRuns, class_file
from sparsebounds.cli._folds import chosen_by_folds
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._model_files import save_models
from sparsebounds.cli._options import FoldOptions, ProblemOptions, SizeOptions, TableOptions
from sparsebounds.cli._output import finish, print_json, say, sentences, spinner
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._run import Run, command_line, save_proof
from sparsebounds.cli._show import scores_table, show_solution
from sparsebounds.report import require_report
from sparsebounds.solving import reach_sentence, solve_program
from sparsebounds.tables import MOST_CLASSES, Reading, labels_of

LAST = 0.25
"""The part of a time limit that is kept for the problem that folds chose."""


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
        size.check()
        folds.check(size)
        reading = table.read(data, likeness=problem.likeness)
        parameters = problem.parameters(reading, size)
        labels = _labels(reading, parameters)
        proofs = [certificate]
        if labels:
            if checkpoint is not None:
                raise InputError(
                    f"--checkpoint keeps one search, but there are {len(labels)} classes: name "
                    f"one of them with --positive, such as {labels[0]}."
                )
            proofs = [class_file(certificate, labels, i) for i in range(len(labels))]
            check_outputs([("--certificate", file) for file in proofs], {}, force=force)
        deadline, chosen = Deadline.of(time_limit), None
        if folds.cv is not None:
            with spinner("Cross-validating") as callback:
                chosen = chosen_by_folds(
                    parameters, reading, labels, folds, size, problem, time_limit, callback
                )
            parameters = chosen.parameters
            if time_limit is not None:
                left = time_limit - deadline.seconds
                deadline = Deadline.of(max(left, LAST * time_limit))
        given, runs = command_line(context), list[Run]()
        for i, one in enumerate(map(reading.against_the_rest, labels) if labels else [reading]):
            program = parameters.program(one.train)
            what = f"Solving {labels[i]} ({i + 1} of {len(labels)})" if labels else "Solving"
            until = deadline.anew(1.0 / (len(labels) - i if labels else 1))
            with spinner(what, to_the_end=exact is True) as callback:
                solution = solve_program(
                    program,
                    tol,
                    exact="auto" if exact is None else exact,
                    time_limit=until,
                    checkpoint=checkpoint,
                    callback=callback,
                )
            with spinner("Advice"):
                reach = reach_sentence(program, solution, until)
                advice = solution.advice(time_limit=until)
            runs.append(Run(given, one, parameters, program, solution, chosen, advice, reach))
        run, classes = runs[0], ClassRuns(labels, runs, chosen)
    scores = classes.scores if labels else run.scores
    if as_json:
        print_json(classes.record() if labels else run.record())
    elif labels:
        classes.show()
    else:
        _show(run, tol)
    if reading.held is not None and not as_json:
        say()
        say(scores_table(scores, len(reading.train.y), len(reading.held.y)))
    with sentences():
        if out is not None:
            save_models(out, [done.model() for done in runs], labels)
        for done, file in zip(runs, proofs, strict=True):
            if file is not None:
                save_proof(file, done.solution.certificate, done.reading)
        if report is not None:
            with spinner("Report"):
                classes.report(report, proofs) if labels else run.report(report, certificate)
    finish(classes.statuses, require_optimal=require_optimal)


def _labels(reading: Reading, parameters: Parameters) -> list[Any]:
    """The classes of the target, if there are more than two and none was named."""
    rows = reading.train
    if not parameters.loss.two_class or rows.positive is not None or rows.y.ndim != 1:
        return []
    labels = labels_of(rows.y, rows.weights)
    # Numbers with a fraction are no classes; what is wrong with them is said by the program.
    whole = rows.y.dtype.kind != "f" or all(label == round(label) for label in labels)
    return labels if 2 < len(labels) <= MOST_CLASSES and whole else []


def _show(run: Run, tol: float) -> None:
    """The model, what is proved, and advice."""
    say(f"{run.program.describe()}\n", style="bold")
    if run.folds is not None:
        say(f"{run.folds.tried.words}\n")
    turnable = run.reading.train.positive is None
    show_solution(run.program, run.solution, tol, turnable=turnable)
    marked = "" if run.marked is None else run.marked.sentences
    for sentence in (run.reach, marked, " ".join(run.advice)):
        if sentence:
            say(f"\n{sentence}")
