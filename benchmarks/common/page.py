"""A page of results: one table, the bars, what did not run and the machine; text and Markdown."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.common.bars import Verdict

RESULTS = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class Page:
    """What a benchmark says."""

    title: str
    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    verdicts: Sequence[Verdict]
    absences: Sequence[str]
    machine: dict[str, Any]
    width: int = 190
    """Characters per line where the output is not a terminal."""

    def show(self) -> None:
        """Everything on the terminal."""
        console = Console()
        if not console.is_terminal:
            console = Console(width=self.width)
        table = Table(title=self.title, caption=self.caption, header_style="bold")
        for heading in self.header:
            name = heading == self.header[0]
            table.add_column(heading, justify="left" if name else "right", no_wrap=name)
        for line in self.lines:
            table.add_row(*line)
        console.print(table)
        marks = {True: "[green]pass[/]", False: "[red]MISS[/]", None: "[yellow]open[/]"}
        for verdict in self.verdicts:
            text = f"{verdict.problem}: {verdict.bar}: {verdict.measured}"
            console.print(marks[verdict.passed], text, highlight=False)
        if self.absences:
            console.print("\nNot run:", highlight=False)
        for text in self.absences:
            console.print(f"  {text}", highlight=False, markup=False)
        console.print(f"\n{machine_line(self.machine)}", highlight=False, markup=False)

    def markdown(self) -> str:
        """The same as a page."""
        lines = [f"# {self.title}\n\n{self.caption}\n\n{machine_line(self.machine)}\n"]
        lines += [_cells(self.header), _cells(["---"] + ["---:"] * (len(self.header) - 1))]
        lines += [_cells(line) for line in self.lines]
        lines += ["\n| bar | asked | measured | |", "|---|---|---|---|"]
        words = {True: "pass", False: "**miss**", None: "open"}
        lines += [_cells([v.problem, v.bar, v.measured, words[v.passed]]) for v in self.verdicts]
        if self.absences:
            lines += ["\nNot run:\n", *(f"- {text}" for text in self.absences)]
        return "\n".join(lines) + "\n"

    def save(self, name: str, data: Any) -> tuple[Path, Path]:
        """results/NAME.json, the numbers, and .md."""
        RESULTS.mkdir(exist_ok=True)
        as_json, as_text = RESULTS / f"{name}.json", RESULTS / f"{name}.md"
        write_json(as_json, data)
        as_text.write_text(self.markdown())
        return as_json, as_text


def write_json(path: Path, data: Any) -> None:
    """Numbers as a file; NaN and infinity become null."""
    path.write_text(json.dumps(_plain(data), indent=1) + "\n")


def machine_line(machine: dict[str, Any]) -> str:
    """Processor and versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    cores = f"{machine['cores']} cores, {machine['threads used']} thread used"
    return f"{machine['processor']}, {cores}; Python {machine['python']}; {versions}"


def three(number: float) -> str:
    """Three digits, never in powers of ten."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def signed(relative: float, equal: float = 1e-6) -> str:
    """A relative difference; "=" where it is too small to matter."""
    if math.isnan(relative):
        return "-"
    return "=" if abs(relative) <= equal else f"{relative:+.1e}"


def caption_of(doc: str | None) -> str:
    """The second paragraph of a module's docstring, in one line."""
    return " ".join((doc or "").split("\n\n")[1].split())


def grouped_reasons(reasons: Iterable[tuple[str, str, str]], most: int = 6) -> list[str]:
    """(who, why, problem) as sentences, equal reasons together; more than `most` are counted."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for who, why, problem in reasons:
        grouped[who, why].append(problem)
    texts = []
    for (who, why), where in grouped.items():
        families = Counter(name.partition("-")[0] for name in where)
        counts = [f"{count} of {head}" for head, count in families.items()]
        texts.append(f"{who} on {', '.join(where if len(where) <= most else counts)}: {why}")
    return texts


def _cells(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _plain(data: Any) -> Any:
    """The same with the types of JSON, which has no NaN."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data.item() if hasattr(data, "item") else data
