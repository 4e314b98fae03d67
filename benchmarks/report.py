"""The table, on the terminal and in Markdown, and the numbers in JSON."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.bars import Verdict
from benchmarks.competitors import COMPETITORS
from benchmarks.rows import Cell, Row

RESULTS = Path(__file__).resolve().parent / "results"
OURS = ("problem", "passes", "Newton", "ms", "set-up ms", "/ X^T a", "gap")
CAPTION = (
    "Ours: relax to a relative gap of 1e-8, certified; set-up is Program(...), validation and "
    "column norms, apart. Others: time over ours, at a gap of at most 1e-6 by our formulas "
    "(in brackets); above 1 ours is faster."
)


def show(
    rows: Sequence[Row], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> None:
    """Everything on the terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=190)
    table = Table(title="Relaxation", caption=CAPTION, header_style="bold")
    for heading in header():
        name = heading == "problem"
        table.add_column(heading, justify="left" if name else "right", no_wrap=name)
    for row in rows:
        table.add_row(*line(row))
    console.print(table)
    marks = {True: "[green]pass[/]", False: "[red]MISS[/]", None: "[yellow]open[/]"}
    for verdict in verdicts:
        text = f"{verdict.problem}: {verdict.bar}: {verdict.measured}"
        console.print(marks[verdict.passed], text, highlight=False)
    console.print("\nNot run:", highlight=False)
    for text in absences(rows, missing):
        console.print(f"  {text}", highlight=False, markup=False)
    console.print(f"\n{machine_line(machine)}", highlight=False, markup=False)


def save(
    rows: Sequence[Row], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> tuple[Path, Path]:
    """results/relaxation.json and .md."""
    RESULTS.mkdir(exist_ok=True)
    data = {
        "machine": machine,
        "rows": [asdict(row) | {"products": row.products} for row in rows],
        "bars": [asdict(verdict) for verdict in verdicts],
        "missing": missing,
    }
    as_json, as_text = RESULTS / "relaxation.json", RESULTS / "relaxation.md"
    as_json.write_text(json.dumps(_plain(data), indent=1) + "\n")
    as_text.write_text(markdown(rows, verdicts, missing, machine))
    return as_json, as_text


def markdown(
    rows: Sequence[Row], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> str:
    """The same as a page."""
    head = header()
    lines = [f"# Relaxation\n\n{CAPTION}\n\n{machine_line(machine)}\n"]
    lines += [_cells(head), _cells(["---"] + ["---:"] * (len(head) - 1))]
    lines += [_cells(line(row)) for row in rows]
    lines += ["\n| bar | asked | measured | |", "|---|---|---|---|"]
    words = {True: "pass", False: "**miss**", None: "open"}
    lines += [_cells([v.problem, v.bar, v.measured, words[v.passed]]) for v in verdicts]
    lines += ["\nNot run:\n", *(f"- {text}" for text in absences(rows, missing))]
    return "\n".join(lines) + "\n"


def header() -> list[str]:
    """Column headings."""
    return [*OURS, *(competitor.name for competitor in COMPETITORS)]


def line(row: Row) -> list[str]:
    """A row as text."""
    return [
        row.problem,
        f"{row.passes:.2f}",
        str(row.newton_steps),
        _three(1e3 * row.seconds),
        _three(1e3 * row.setup),
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


def machine_line(machine: dict[str, Any]) -> str:
    """Processor and versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    cores = f"{machine['cores']} cores, {machine['threads used']} thread used"
    return f"{machine['processor']}, {cores}; Python {machine['python']}; {versions}"


def _cell(cell: Cell | None, row: Row) -> str:
    if cell is None or (cell.reason and math.isnan(cell.gap)):
        return "-"
    if not cell.reached:
        return f"- ({cell.gap:.0e})"
    return f"{_three(cell.seconds / row.seconds)}x ({cell.gap:.0e})"


def _three(number: float) -> str:
    """Three digits, never in powers of ten."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _cells(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _plain(data: Any) -> Any:
    """JSON has no NaN: null instead."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data.item() if hasattr(data, "item") else data
