"""The page of the exact searches."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bars import Verdict
from benchmarks.exact_rows import ExactRow, Outcome
from benchmarks.exact_tools import EXACT_TOOLS, OURS
from benchmarks.model_report import grouped_reasons
from benchmarks.page import Page, three

PACKAGES = ("sparsebounds", "numpy", "scipy", "el0ps", "l0bnb", "okridge", "pyscipopt")
EQUAL = 1e-6
HEADER = ("program", "objective", "bound")
CAPTION = (
    "Every cell: seconds (of the processor) to a proved gap of 1e-4 of the objective, nodes, "
    "nodes a second, MB at the peak above the data. objective and bound are ours. A tool that did "
    "not finish in {limit:g} s shows the gap it claims instead of its time. worse: its model, "
    "refitted by us, less the best known, relative to that. FALSE: it claims a bound that a known "
    "model lies below, by so much."
)


def page(
    rows: Sequence[ExactRow],
    verdicts: Sequence[Verdict],
    missing: dict[str, str],
    machine: Any,
    limit: float,
) -> Page:
    """The table and what belongs to it."""
    return Page(
        title="Proved optima",
        caption=CAPTION.format(limit=limit),
        header=[*HEADER, *(tool.name for tool in EXACT_TOOLS)],
        lines=[line(row) for row in rows],
        verdicts=verdicts,
        absences=absences(rows, missing),
        machine=machine,
        width=250,
    )


def save(
    rows: Sequence[ExactRow],
    verdicts: Sequence[Verdict],
    missing: dict[str, str],
    machine: Any,
    limit: float,
) -> tuple[Path, Path]:
    """results/exact.json and .md."""
    data = {
        "machine": machine,
        "limit": limit,
        "rows": [asdict(row) for row in rows],
        "bars": [asdict(verdict) for verdict in verdicts],
        "missing": missing,
    }
    return page(rows, verdicts, missing, machine, limit).save("exact", data)


def line(row: ExactRow) -> list[str]:
    """A row as text."""
    mine = row.cells[OURS.name]
    cells = [row.cells[tool.name] for tool in EXACT_TOOLS]
    return [
        row.problem,
        f"{mine.value:.6g}",
        f"{mine.lower:.6g}",
        *(words(cell, row.best) for cell in cells),
    ]


def words(cell: Outcome, best: float = math.nan) -> str:
    """An outcome in a few words."""
    if cell.reason:
        return "-" if not math.isnan(best) else cell.reason
    gap = "no bound" if math.isnan(cell.gap) else f"gap {cell.gap:.2%}"
    head = f"{three(cell.seconds)} s ({three(cell.processor)})" if cell.finished else gap
    if cell.finished and not (cell.solved or cell.false):
        head += f" but {gap}"
    text = f"{head}, {cell.nodes}, {three(cell.rate)}/s, {three(cell.memory / 1e6)} MB"
    if cell.value > best + EQUAL * abs(best):
        text += f", worse {(cell.value - best) / abs(best):.1e}"
    if cell.false:
        text += ", FALSE" if math.isnan(best) else f", FALSE {(cell.lower - best) / abs(best):.1e}"
    return text


def absences(rows: Iterable[ExactRow], missing: dict[str, str]) -> list[str]:
    """Who did not run, how often and why."""
    reasons = [
        (cell.tool, cell.reason, row.problem)
        for row in rows
        for cell in row.cells.values()
        if cell.reason
    ]
    texts = grouped_reasons(reasons)
    here = importlib.util.find_spec("gurobipy") is not None
    why = "its bundled licence stops near 66 features" if here else "gurobipy is not installed"
    return [*texts, f"Gurobi: {why}", *(f"{name}: {reason}" for name, reason in missing.items())]
