"""sparsebounds path: models of many sizes, each with both bounds on the best possible."""

from __future__ import annotations

import io
from pathlib import Path as File
from typing import Annotated, Any

import typer
from rich.text import Text

from sparsebounds._support.errors import InputError
from sparsebounds._support.extras import library
from sparsebounds._support.files import write_atomically
from sparsebounds._support.printable import printable
from sparsebounds._version import __version__
from sparsebounds.cli import _options as options
from sparsebounds.cli._grids import prices, sizes
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._model_files import feature, group_names
from sparsebounds.cli._options import ProblemOptions, TableOptions
from sparsebounds.cli._output import finish, plain_table, print_json, say, sentences, spinner
from sparsebounds.cli._outputs import check_folder, check_outputs
from sparsebounds.cli._run import command_line, held_rows, origin, save_proof
from sparsebounds.paths import Path, changes, printed
from sparsebounds.paths import path as path_of
from sparsebounds.program import Program
from sparsebounds.relaxation import Progress
from sparsebounds.report import report_path, require_report

MADE_BY = {".png": "Software", ".pdf": "Creator", ".svg": "Creator"}
"""Pictures, and where they name the program that drew them."""


@grouped
def path(
    context: typer.Context,
    data: options.Data,
    table: TableOptions,
    problem: ProblemOptions,
    ks: Annotated[
        str | None,
        typer.Option(help="Numbers of features: 1:30, 0:50:5 or 1,2,5. Default 1:20."),
    ] = None,
    l0s: Annotated[
        str | None,
        typer.Option(
            "--l0s", help="Prices per feature, in place of --ks: 1:0.001:30 (geometric) or 1,0.1."
        ),
    ] = None,
    tol: options.Tolerance = 1e-4,
    require_optimal: options.RequireOptimal = False,
    stop: Annotated[
        float | None,
        typer.Option(help="End where the rest is proved to gain at most this share (0.01: 1%)."),
    ] = None,
    exact: options.Exact = False,
    time_limit: options.TimeLimit = None,
    checkpoint: Annotated[
        File | None,
        typer.Option(help="Save the path here after its points, and go on from it (.npz)."),
    ] = None,
    plot: Annotated[File | None, typer.Option(help="Save a picture here (PNG, PDF, SVG).")] = None,
    certificates: Annotated[
        File | None, typer.Option(help="Save the proof of every point into this folder.")
    ] = None,
    report_file: options.ReportFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find a sparse model of every size, each with a proof of how close to the best it is.

    Exit code 0: models with valid bounds, whatever the gaps. 2: bad input. 3: --require-optimal was
    given, and a gap is wider than --tol.

    Example: sparsebounds path patients.csv --target survival --ks 1:15 --plot path.png
    """
    with sentences():
        if ks is not None and l0s is not None:
            raise InputError("Both --ks and --l0s were given; pass only one of them.")
        problem.check()
        grid: dict[str, Any]
        grid = {"ks": sizes("--ks", ks or "1:20")} if l0s is None else {"l0s": prices("--l0s", l0s)}
        ((kind, places),) = grid.items()
        outputs = [("--checkpoint", checkpoint), ("--plot", plot), ("--report", report_file)]
        if certificates is not None:
            check_folder("--certificates", certificates)
            files = {_proof_file(certificates, kind, place) for place in places}
            if certificates.exists():
                outputs += [("--certificates", file) for file in sorted(files)]
        check_outputs(outputs, {"DATA": data}, force=force)
        if plot is not None:
            library("matplotlib", "plot", "The figures need matplotlib")
            if plot.suffix.lower() not in MADE_BY:
                raise InputError(f"--plot {plot}: the name must end in .png, .pdf or .svg.")
        if report_file is not None:
            require_report()
        reading = table.read(data, likeness=problem.likeness)
        program = problem.parameters(reading).program(reading.train)
        if ks is None and l0s is None:
            grid = {"ks": [k for k in grid["ks"] if k <= program.units]}
        with spinner("Path", to_the_end=exact is True) as report:

            def callback(now: Any) -> None:
                if not isinstance(now, Progress):  # points and searches, not every round
                    report(now)

            found = path_of(
                program,
                **grid,
                tol=tol,
                stop=stop,
                exact=exact,
                time_limit=time_limit,
                checkpoint=checkpoint,
                callback=callback,
            )
    if as_json:
        print_json(_record(program, found) | {"notes": reading.notes})
    else:
        _show(found)
    with sentences():
        if plot is not None:
            _draw(found, plot)
        if certificates is not None:
            certificates.mkdir(parents=True, exist_ok=True)
            for point in found:
                file = _proof_file(certificates, found.kind, point.place)
                save_proof(file, point.certificate, reading)
        if report_file is not None:
            source = origin(reading, command_line(context))
            held = held_rows(reading)
            report_path(report_file, found, program=program, held=held, origin=source)
    finish((point.status for point in found), require_optimal=require_optimal)


def _proof_file(folder: File, kind: str, place: float) -> File:
    """Where the proof of a point is kept; `kind` is k or l0, or the name of a grid of them."""
    short = f"{place:g}"
    # Two places have two names, however near they are.
    shown = short if float(short) == place else repr(float(place))
    return folder / f"{kind.removesuffix('s')}={shown}.json"


def _show(found: Path) -> None:
    say(f"{found.problem}\n", style="bold")
    last = "comes in, goes"
    table = plain_table(found.kind, "used", "proved bound", "objective", "gap", last, text=last)
    for point, changed in zip(found, changes(found, "-"), strict=True):
        *cells, gap = printed(point)
        shown = Text(gap, style="green" if point.status == "optimal" else "")
        table.add_row(*cells, shown, printable(" ".join(changed)))
    say(table)
    optimal = sum(point.status == "optimal" for point in found)
    many = len(found) != 1
    say(
        f"\n{found.message} At each point the best possible objective is proved to lie between "
        f"the two; of {len(found)} model{'s' * many} {optimal} "
        f"{'is' if optimal == 1 else 'are'} proved optimal. "
        f"{found.full_passes:.0f} passes over the data, {found.seconds:.2f} s."
    )


def _record(program: Program, found: Path) -> dict[str, Any]:
    return {
        "problem": found.problem,
        "null": found.null,
        "message": found.message,
        "complete": found.complete,
        "points": [
            {
                found.kind: getattr(point, found.kind),
                "status": point.status,
                "lower": point.lower,
                "upper": point.upper,
                "rel_gap": point.rel_gap,
                "null_gap": point.null_gap,
                "features": [feature(program, column) for column in point.support.tolist()],
                "groups": group_names(program, point.support),
                "coef": point.values.tolist(),
                "intercept": point.intercept,
                "fixed_in": [feature(program, column) for column in point.fixed_in.tolist()],
                "nodes": point.nodes,
                "seconds": point.seconds,
            }
            for point in found
        ],
        "passes": float(found.full_passes),
        "seconds": found.seconds,
    }


def _draw(found: Path, plot: File) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    drawn, suffix = io.BytesIO(), plot.suffix.lower()
    made = {MADE_BY[suffix]: f"sparsebounds {__version__}"}
    found.plot()[0].figure.savefig(drawn, format=suffix[1:], dpi=200, metadata=made)
    write_atomically(plot, drawn.getvalue())
