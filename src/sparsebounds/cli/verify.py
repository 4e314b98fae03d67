"""sparsebounds verify: does this certificate hold for this data?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparsebounds._support.documents import Document
from sparsebounds.certificates import Certificate, Verdict
from sparsebounds.cli import _options as options
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._options import TableOptions
from sparsebounds.cli._output import OK, REFUSED, console, print_json, sentences, tell
from sparsebounds.tables import USUAL, Choice, Rows, is_archive


@grouped
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate, as saved (JSON).")],
    data: options.Data,
    table: TableOptions,
    as_json: options.AsJson = False,
) -> None:
    """Recompute both bounds of a certificate from the data, trusting nothing else.

    The certificate knows how solve read the table: the columns, their encoding and the rows held
    out. That is printed, so that you know what the proof is about; options change it.

    Exit code 0: verified. 1: refused, with the check that failed. 2: a file cannot be read.

    Example: sparsebounds verify certificate.json patients.csv
    """
    with sentences():
        loaded = Certificate.load(certificate)
        reading = table.read(data, _stated(loaded, data), likeness=USUAL, quiet=True)
        verdict = _verdict(loaded, reading.train)
        if reading.left_out and not verdict.ok:  # it may be older than the choice to leave them out
            older = _verdict(loaded, table.read(data, likeness=None).train)
            verdict = older if older.ok else verdict
    if as_json:
        names = ("ok", "lower", "upper", "message")
        print_json({name: getattr(verdict, name) for name in names})
    else:
        console.print(verdict.message, style=f"bold {'green' if verdict.ok else 'red'}")
    raise typer.Exit(OK if verdict.ok else REFUSED)


def _verdict(certificate: Certificate, rows: Rows) -> Verdict:
    return certificate.verify(rows.X, rows.response, rows.mass, rows.offset)


def _stated(certificate: Certificate, data: Path) -> Choice | None:
    """How the table was read, if the certificate says so; what a table had, arrays do not have."""
    if certificate.table is None:
        return None
    choice = Choice.of(Document(certificate.table, "table").record("choice"))
    if choice.features and is_archive(data):
        return None
    if words := choice.words():
        tell(f"Read as the certificate says: {words}.")
    return choice
