"""The page of the relaxation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bars import Verdict
from benchmarks.competitors import COMPETITORS
from benchmarks.page import Page, three
from benchmarks.rows import Cell, Row

OURS = ("problem", "passes", "Newton", "ms", "set-up ms", "/ X^T a", "gap")
CAPTION = (
    "Ours: relax to a relative gap of 1e-8, certified; set-up is Program(...), validation and "
    "column norms, apart. Others: time over ours, at a gap of at most 1e-6 by our formulas "
    "(in brackets); above 1 ours is faster."
)


def page(
    rows: Sequence[Row], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> Page:
    """The table and what belongs to it."""
    return Page(
        title="Relaxation",
        caption=CAPTION,
        header=[*OURS, *(competitor.name for competitor in COMPETITORS)],
        lines=[line(row) for row in rows],
        verdicts=verdicts,
        absences=absences(rows, missing),
        machine=machine,
    )


def save(
    rows: Sequence[Row], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> tuple[Path, Path]:
    """results/relaxation.json and .md."""
    data = {
        "machine": machine,
        "rows": [asdict(row) | {"products": row.products} for row in rows],
        "bars": [asdict(verdict) for verdict in verdicts],
        "missing": missing,
    }
    return page(rows, verdicts, missing, machine).save("relaxation", data)


def line(row: Row) -> list[str]:
    """A row as text."""
    return [
        row.problem,
        f"{row.passes:.2f}",
        str(row.newton_steps),
        three(1e3 * row.seconds),
        three(1e3 * row.setup),
        f"{row.products:.1f}",
        f"{row.gap:.0e}",
        *(_cell(row.cells.get(competitor.name), row) for competitor in COMPETITORS),
    ]


def absences(rows: Iterable[Row], missing: dict[str, str]) -> list[str]:
    """Who did not run where, and why; equal reasons together."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        for cell in row.cells.values():
            if cell.reason:
                grouped[cell.competitor, cell.reason].append(row.problem)
    texts = [f"{name} on {', '.join(where)}: {why}" for (name, why), where in grouped.items()]
    return texts + [f"{name}: {reason}" for name, reason in missing.items()]


def _cell(cell: Cell | None, row: Row) -> str:
    if cell is None or (cell.reason and math.isnan(cell.gap)):
        return "-"
    if not cell.reached:
        return f"- ({cell.gap:.0e})"
    return f"{three(cell.seconds / row.seconds)}x ({cell.gap:.0e})"
