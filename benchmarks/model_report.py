"""The page of the models."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bars import Verdict
from benchmarks.model_rows import Attempt, ModelRow
from benchmarks.model_tools import MODEL_TOOLS
from benchmarks.page import Page, three

OURS = ("problem", "objective", "lower", "gap", "ms", "against the best")
PACKAGES = (
    "sparsebounds",
    "numpy",
    "scipy",
    "abess",
    "fastsparsegams",
    "okridge",
    "celer",
    "scikit-learn",
)
EQUAL = 1e-6
CAPTION = (
    "Ours: solve, timed in full. gap: (objective - lower)/max(|objective|, |F(0)|), proved; "
    "against the best: our objective less the best of all others, relative to that. Others: their "
    "objective less ours, relative to ours (= where equal to 1e-6), as returned -> after our refit "
    "(untimed), or once where both are equal or a tool names supports only; time over ours; the "
    "gap that certify proves for their refitted model."
)


def page(
    rows: Sequence[ModelRow], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> Page:
    """The table and what belongs to it."""
    return Page(
        title="Models",
        caption=CAPTION,
        header=[*OURS, *(tool.name for tool in MODEL_TOOLS)],
        lines=[line(row) for row in rows],
        verdicts=verdicts,
        absences=absences(rows, missing),
        machine=machine,
        width=250,
    )


def save(
    rows: Sequence[ModelRow], verdicts: Sequence[Verdict], missing: dict[str, str], machine: Any
) -> tuple[Path, Path]:
    """results/models.json and .md."""
    data = {
        "machine": machine,
        "rows": [asdict(row) | {"excess": row.excess} for row in rows],
        "bars": [asdict(verdict) for verdict in verdicts],
        "missing": missing,
    }
    return page(rows, verdicts, missing, machine).save("models", data)


def line(row: ModelRow) -> list[str]:
    """A row as text."""
    return [
        row.problem,
        f"{row.value:.6g}",
        f"{row.lower:.6g}",
        f"{row.rel_gap:.2%}",
        three(1e3 * row.seconds),
        _signed(row.excess),
        *(_cell(row.cell(tool.name), row) for tool in MODEL_TOOLS),
    ]


def absences(rows: Iterable[ModelRow], missing: dict[str, str]) -> list[str]:
    """Who did not run, how often and why; equal reasons together."""
    reasons = [
        (f"{each.tool} ({each.variant})" if each.variant else each.tool, each.reason, row.problem)
        for row in rows
        for cell in row.cells.values()
        for each in cell
        if each.reason
    ]
    return grouped_reasons(reasons) + [f"{name}: {reason}" for name, reason in missing.items()]


def grouped_reasons(reasons: Iterable[tuple[str, str, str]]) -> list[str]:
    """(who, why, problem) as sentences, equal reasons together."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for who, why, problem in reasons:
        grouped[who, why].append(problem)
    texts = []
    for (who, why), where in grouped.items():
        places = ", ".join(where) if len(where) <= 6 else _families(where)
        texts.append(f"{who} on {places}: {why}")
    return texts


def _families(names: Sequence[str]) -> str:
    """Many problems as counts, by the head of their names."""
    counts = Counter(name.partition("-")[0] for name in names)
    return ", ".join(f"{count} of {head}" for head, count in counts.items())


def _cell(attempt: Attempt, row: ModelRow) -> str:
    if math.isnan(attempt.value):
        return "-"
    worth = _signed((attempt.value - row.value) / abs(row.value))
    if not math.isnan(attempt.returned):
        before = _signed((attempt.returned - row.value) / abs(row.value))
        worth = worth if before == worth else f"{before} -> {worth}"
    return f"{worth}, {three(attempt.seconds / row.seconds)}x, {attempt.rel_gap:.2%}"


def _signed(relative: float) -> str:
    if math.isnan(relative):
        return "-"
    return "=" if abs(relative) <= EQUAL else f"{relative:+.1e}"
