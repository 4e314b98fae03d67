"""sparsebounds verify: does this certificate hold for this data?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sparsebounds.cli import _options as options
from sparsebounds.cli._data import read_table
from sparsebounds.cli._output import OK, REFUSED, console, print_json, sentences


def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate, as saved (JSON).")],
    data: options.Data,
    target: options.Target = None,
    weights: options.Weights = None,
    offset: options.Offset = None,
    as_json: options.AsJson = False,
) -> None:
    """Recompute both bounds of a certificate from the data, trusting nothing else.

    Exit code 0: verified. 1: refused, with the check that failed. 2: a file cannot be read.

    Example: sparsebounds verify certificate.json patients.csv --target survival
    """
    from sparsebounds.certificates import Certificate

    with sentences():
        loaded = Certificate.load(certificate)
        table = read_table(data, target, weights, offset)
        verdict = loaded.verify(table.X, table.y, table.weights, table.offset)
    if as_json:
        names = ("ok", "lower", "upper", "message")
        print_json({name: getattr(verdict, name) for name in names})
    else:
        console.print(f"[bold {'green' if verdict.ok else 'red'}]{escape(verdict.message)}[/]")
    raise typer.Exit(OK if verdict.ok else REFUSED)
