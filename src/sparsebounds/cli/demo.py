"""sparsebounds demo: the relaxation on the paper's first experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.progress import track
from rich.table import Table

from sparsebounds.cli._output import console

if TYPE_CHECKING:
    from sparsebounds.program import Program
    from sparsebounds.relaxation import Relaxation


def demo() -> None:
    """Relax Experiment 1 of the paper: 1000 x 100 data of rank 10, two losses, ridge 0.01.

    Squared loss with a price l0 per feature, logistic loss with at most k features. Each row is
    a convex relaxation solved to a relative gap of 1e-8, with a lower bound that is proved to
    hold for every sparse model.
    """
    from sparsebounds.datasets import make_low_rank
    from sparsebounds.program import Program
    from sparsebounds.relaxation import relax

    regression, classes = make_low_rank(), make_low_rank(classes=True)
    prices, sizes = [10.0**-power for power in range(6, 0, -1)], [1, 2, 5, 10, 20, 50]
    squared = [Program(regression.X, regression.y, l0=l0, ridge=0.01) for l0 in prices]
    logistic = [Program(classes.X, classes.y, k=k, ridge=0.01, loss="logistic") for k in sizes]
    programs = [*squared, *logistic]
    relaxed = [relax(p) for p in track(programs, "Relaxing", console=console, transient=True)]

    half = len(squared)
    console.print("[bold]Experiment 1: 1000 x 100 data of rank 10, ridge 0.01[/]\n")
    console.print(_table("squared loss", "l0", prices, squared, relaxed[:half]))
    console.print(_table("logistic loss", "k", sizes, logistic, relaxed[half:]))
    console.print(
        f"For example: no logistic model with at most {sizes[2]} features, however it was found,\n"
        f"has an objective below {relaxed[half + 2].lower:.6f}. The bound holds in floating point."
    )


def _table(
    title: str,
    parameter: str,
    values: Sequence[float],
    programs: Sequence[Program],
    relaxed: Sequence[Relaxation],
) -> Table:
    table = Table(title=f"{title}; without features {programs[0].null:.6f}", title_justify="left")
    for name in (parameter, "relaxed value", "proved lower", "gap", "sum u"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("passes", "steps", "ms"):
        table.add_column(name, justify="right", style="dim", no_wrap=True)
    for value, program, result in zip(values, programs, relaxed, strict=True):
        table.add_row(
            f"{value:g}",
            f"{result.value:.9f}",
            f"{result.lower:.9f}",
            f"{result.gap / max(abs(result.value), program.null):.0e}",
            f"{result.u.sum():.2f}",
            f"{result.stats.full_passes:.1f}",
            str(result.stats.newton_steps),
            f"{1e3 * result.stats.seconds:.1f}",
        )
    return table
