"""What a command hands to a report: rows held out, cross-validation, and where all came from."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path as File
from shlex import quote

from sparsebounds.cli._run import Run
from sparsebounds.paths import Path, path_around
from sparsebounds.report import Origin, Tried, report_solution
from sparsebounds.tables import Choice, Reading


def report_run(file: File, run: Run, certificate: File | None) -> None:
    """Write the report of a `solve`."""
    tried, parameters = None, run.parameters
    if run.folds is not None:
        chosen = {name: parameters[name] for name in ("k", "l0", "ridge")}
        score = "accuracy" if run.program.classes is not None else "R2"
        tried = Tried(run.folds.words, run.folds.results, score, chosen)
        path: Path | None = run.folds.path
    else:
        path = path_around(run.program, run.solution.stats.seconds)
    report_solution(
        file,
        run.program,
        run.solution,
        held=run.held,
        seen=run.seen,
        path=path,
        folds=tried,
        origin=origin(run.reading, run.command, certificate),
        advice=run.advice,
    )


def origin(reading: Reading, command: str, certificate: File | None = None) -> Origin:
    """The file, what became of its columns, and the commands."""
    check = None
    if certificate is not None:
        words = ["sparsebounds verify", quote(str(certificate)), quote(str(reading.path))]
        check = " ".join([*words, *_options(reading.choice)])
    return Origin(
        command=command,
        source=reading.path.name,
        target=reading.train.target,
        notes=reading.notes,
        columns=[] if reading.recipe is None else reading.recipe.document(),
        check=check,
    )


def _options(choice: Choice) -> list[str]:
    """The options that read a table this way."""
    given = []
    for field in fields(Choice):
        value, option = getattr(choice, field.name), f"--{field.name.replace('_', '-')}"
        if value == field.default:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            given.append(option if one is True else f"{option} {quote(str(one))}")
    return given
