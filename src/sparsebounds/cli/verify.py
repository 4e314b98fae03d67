"""sparsebounds verify: does this certificate hold for this data?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sparsebounds.cli._data import read_table
from sparsebounds.cli._output import OK, REFUSED, console, sentences


def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate, as saved (JSON).")],
    data: Annotated[Path, typer.Argument(help="The data: .npz, .npy or CSV.")],
    target: Annotated[str | None, typer.Option(help="The response's column (or array).")] = None,
    weights: Annotated[str | None, typer.Option(help="The sample weights' column.")] = None,
    offset: Annotated[str | None, typer.Option(help="The offset's column.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recompute both bounds of a certificate from the data, trusting nothing else.

    Exit code 0: verified. 1: refused, with the check that failed. 2: a file cannot be read.

    Example: sparsebounds verify model.json patients.csv --target survival
    """
    from sparsebounds.certificates import Certificate

    with sentences():
        loaded = Certificate.load(certificate)
        table = read_table(data, target, weights, offset)
        verdict = loaded.verify(table.X, table.y, table.weights, table.offset)
    if as_json:
        numbers = {
            name: value if math.isfinite(value) else None
            for name, value in (("lower", verdict.lower), ("upper", verdict.upper))
        }
        print(json.dumps({"ok": verdict.ok, **numbers, "message": verdict.message}))
    else:
        console.print(f"[bold {'green' if verdict.ok else 'red'}]{escape(verdict.message)}[/]")
    raise typer.Exit(OK if verdict.ok else REFUSED)
