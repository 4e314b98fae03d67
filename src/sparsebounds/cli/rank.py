"""sparsebounds rank: bounds from low-rank approximations of the data, one row per rank."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sparsebounds._support.decimals import rounded_down, rounded_up
from sparsebounds.cli import _options as options
from sparsebounds.cli._grids import sizes
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._options import ProblemOptions, SizeOptions, TableOptions
from sparsebounds.cli._output import OK, bar, plain_table, print_json, say, sentences
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.cli._run import save_proof
from sparsebounds.ranks import RankBounds, chosen_ranks, rank_bounds


@grouped
def rank(
    data: options.Data,
    table: TableOptions,
    size: SizeOptions,
    problem: ProblemOptions,
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Such as 1:20, 5:50:5 or 1,2,10. Default: all, or 50 of them spread evenly."
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    certificate: options.CertificateFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Show how much of the data a bound rests on: bounds by the rank of an approximation of X.

    Each row solves the problem on an approximation of that rank and proves its bounds on the full
    data, so all rows bound the same optimum.

    Example: sparsebounds rank patients.csv --target survival -k 5 --ranks 1:10
    """
    with sentences():
        check_outputs([("--certificate", certificate)], {"DATA": data}, force=force)
        problem.check()
        size.check()
        wanted = None if ranks is None else sizes("--ranks", ranks)
        reading = table.read(data, likeness=problem.likeness)
        program = problem.parameters(reading, size).program(reading.train)
        wanted = chosen_ranks(program, wanted, min(program.n, program.m))
        with bar("Ranks", len(wanted)) as advance:
            bounds = rank_bounds(
                program, wanted, time_limit=time_limit, callback=lambda _row: advance()
            )
        if certificate is not None:
            save_proof(certificate, bounds.certificate, reading)
    if as_json:
        print_json(
            {
                "problem": program.describe(),
                "lower": bounds.lower,
                "upper": bounds.upper,
                "best_rank": bounds.best.rank,
                "rows": [asdict(row) | {"gap": row.gap} for row in bounds.rows],
                "notes": bounds.notes,
                "message": _words(bounds),
                "seconds": bounds.seconds,
            }
        )
    else:
        say(f"{program.describe()}\n", style="bold")
        say(_shown(bounds))
        say(f"\n{_words(bounds)}")
        for note in bounds.notes:
            if note.startswith(("Interrupted", "The time limit")):
                say(note)
    raise typer.Exit(OK)


def _shown(bounds: RankBounds) -> Table:
    """One row per rank; numbers rounded to the safe side."""
    table = plain_table("rank", "variance kept", "proved lower bound", "objective", "gap")
    best = bounds.best.rank
    for row in bounds.rows:
        table.add_row(
            str(row.rank),
            f"{row.explained:.2%}",
            rounded_down(row.lower),
            rounded_up(row.upper),
            rounded_up(row.gap, 3),
            style="green" if row.rank == best else None,
        )
    return table


def _words(bounds: RankBounds) -> str:
    """What all rows prove together, in a sentence."""
    best, count = bounds.best, len(bounds.rows)
    where = f"Of {count} ranks the interval is narrowest at rank {best.rank}"
    return (
        f"{where if count > 1 else f'At rank {best.rank}'}, with {best.explained:.2%} of the "
        f"variance. The optimum lies between {rounded_down(bounds.lower)} and "
        f"{rounded_up(bounds.upper)}."
    )
