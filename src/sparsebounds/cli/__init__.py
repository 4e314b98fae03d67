"""The command line: one command per file."""

from __future__ import annotations

from typing import Annotated

import typer

from sparsebounds._version import __version__
from sparsebounds.cli._commands import Command, Commands
from sparsebounds.cli.certify import certify
from sparsebounds.cli.demo import demo
from sparsebounds.cli.near import near
from sparsebounds.cli.path import path
from sparsebounds.cli.predict import predict
from sparsebounds.cli.rank import rank
from sparsebounds.cli.reproduce import reproduce
from sparsebounds.cli.solve import solve
from sparsebounds.cli.verify import verify

app = typer.Typer(
    name="sparsebounds",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
for command in (demo, solve, path, near, predict, certify, verify, rank, reproduce):
    app.command(cls=Command)(command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"sparsebounds {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    """Sparse models with a proof: both bounds on the best possible model, and a certificate."""
