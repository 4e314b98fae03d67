"""sparsebounds reproduce: the paper's experiments, their tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sparsebounds._support.errors import InputError
from sparsebounds._support.printable import printable
from sparsebounds.cli import _options as options
from sparsebounds.cli._output import BAD_INPUT, bar, errors, say, sentences

if TYPE_CHECKING:
    from sparsebounds.experiments import Done, Experiment

INTERRUPTED = 130
"""As shells report Ctrl-C."""


class Which(StrEnum):
    """Experiments by the paper's numbers."""

    FIRST, SECOND, THIRD, FOURTH, ALL = "1", "2", "3", "4", "all"


def reproduce(
    which: Annotated[
        Which, typer.Argument(help="The paper's number; 4 is its remark on the ridge.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the results; made where it is not there.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small made data: a test of the machinery.")
    ] = False,
    force: options.Force = False,
) -> None:
    """Run the paper's experiments: a table, findings and figures for each, in a folder of its own.

    Needs matplotlib (the extra `plot`). Experiment 3 reads the leukemia data: leukemia.npz from the
    folder that SPARSEBOUNDS_DATA names, or else downloaded once. Ctrl-C keeps what is finished.

    Example: sparsebounds reproduce all --out results
    """
    with sentences():
        from sparsebounds.experiments import (
            EXPERIMENTS,
            check_folder,
            interruptible,
            require_matplotlib,
        )

        require_matplotlib()
        if out.exists() and not out.is_dir():
            raise InputError(f"--out {out} is a file; name a folder.")
        numbers = list(EXPERIMENTS) if which is Which.ALL else [which.value]
        chosen = [EXPERIMENTS[number](quick) for number in numbers]
        for experiment in chosen:
            if not force:
                _refuse_strangers_folder(out / experiment.folder)
            check_folder(experiment, out)
    failed = False
    with interruptible() as check:
        for experiment in chosen:
            try:
                _one(experiment, out, check)
            except typer.Exit:
                failed = True  # said in a sentence; the others do not depend on this one
            except KeyboardInterrupt:
                errors.print(
                    f"Interrupted: experiment {experiment.number} wrote nothing; what was finished "
                    "is kept."
                )
                raise typer.Exit(INTERRUPTED) from None
    if failed:
        raise typer.Exit(BAD_INPUT)


def _refuse_strangers_folder(folder: Path) -> None:
    """InputError for a folder of other files than those that `reproduce` leaves in it."""
    ours = all((folder / name).is_file() for name in ("results.csv", "findings.txt"))
    if folder.is_dir() and any(folder.iterdir()) and not ours:
        raise InputError(
            f"--out: the folder {folder} holds files, and sparsebounds did not write them; name "
            "another folder, or pass --force to write into this one."
        )


def _one(experiment: Experiment, out: Path, check: Callable[[], None]) -> None:
    """Run, save and tell."""
    from sparsebounds.experiments import reproduce as run

    name = f"Experiment {experiment.number}: {experiment.title}"
    with sentences(), bar(name, experiment.steps) as advance:

        def tick() -> None:
            check()
            advance()

        done = run(experiment, out, tick)
    _tell(name, done)


def _tell(name: str, done: Done) -> None:
    spent = f"{done.seconds:.1f} s, {done.cpu_seconds:.1f} s of processor time"
    say(Text.assemble((name, "bold"), "  ", (spent, "dim")))
    for finding in done.findings:
        say(f"- {finding}")
    say(f"{printable(', '.join(map(str, done.files)))}\n", style="dim")
