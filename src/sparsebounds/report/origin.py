"""Where a result came from: the data, the command and the versions."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.decimals import readable
from sparsebounds._version import __version__
from sparsebounds.program import Program
from sparsebounds.report.page import Block, Cell, Code, Section, Table, Text, count, named, number
from sparsebounds.report.scores import Held, coded

PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "plotly")
STATISTICS: dict[str, Callable[[Vector], Any]] = {
    "mean": np.mean,
    "standard deviation": np.std,
    "least": np.min,
    "median": np.median,
    "largest": np.max,
}


@dataclass(frozen=True)
class Origin:
    """What is known of where the data came from; all of it may be missing."""

    command: str | None = None
    source: str | None = None
    target: str = "y"
    notes: tuple[str, ...] = ()
    columns: Sequence[Mapping[str, Any]] = ()
    """Columns of the table: name, categories (or None) and fill (or None)."""

    rows: Index | None = None
    """The numbers of the training rows, those of weight 0 too; None: 0, 1, 2, ..."""

    check: str | None = None
    """The command that verifies the certificate, where one was saved."""


def data_section(
    program: Program | None, held: Held | None, origin: Origin, *, counts: bool = True
) -> Section:
    """The rows, the response and how columns became features; `counts` of two classes, or not."""
    blocks: list[Block] = []
    if program is not None:
        source = f"{origin.source}: " if origin.source else ""
        rows = f"{program.n} training rows"
        if held is not None:
            rows += f" and {len(held.y)} held out"
        features = f"{program.m} feature{'s' * (program.m != 1)}"
        blocks.append(Text(f"{source}{rows}, {features}, and the response {origin.target!r}."))
    blocks += [Text(note) for note in origin.notes]
    if program is not None and counts:
        blocks.append(_response(program, held, origin.target))
    changed = [one for one in origin.columns if one["categories"] or one["fill"] is not None]
    if changed:
        titles = "column", "became", "a gap is filled with"
        cells = [
            (named(str(one["name"])), Cell(_became(one)), Cell(_filled(one["fill"])))
            for one in changed
        ]
        note = "How columns are encoded, and what would fill a gap."
        blocks.append(Table(titles, cells, note=note))
    return Section("data", "The data", tuple(blocks))


def repeat_section(program: Program | None, origin: Origin, spent: str) -> Section:
    """The command, the versions and the fingerprint of the data."""
    found = {"sparsebounds": __version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    blocks: list[Block] = [] if origin.command is None else [Code(origin.command)]
    found |= {"system": platform.platform(terse=True), "cost": spent}
    if program is not None:
        found["fingerprint of the training data"] = program.fingerprint
    rows = [(Cell(name), Cell(value, mark="code")) for name, value in found.items()]
    blocks.append(Table(("", ""), rows))
    return Section("repeat", "To repeat it", tuple(blocks))


def _became(column: Mapping[str, Any]) -> str:
    values = column["categories"]
    if not values:
        return "a number"
    return f"text of {len(values)} values: {', '.join(map(str, values))}"


def _filled(fill: Any) -> str:
    if fill is None:
        return "–"
    return fill if isinstance(fill, str) else readable(fill)


def _response(program: Program, held: Held | None, target: str) -> Table:
    """Counts of two classes, or the spread of a number."""
    sides = {"training": program.response}
    if held is not None:
        sides["held out"] = coded(program, held.y)
    if program.classes is None:
        head, note = list(STATISTICS), f"The response {target!r}."
        cells = [[number(float(f(y))) for f in STATISTICS.values()] for y in sides.values()]
    else:
        head, note = [f"{target} = {label}" for label in program.classes], ""
        cells = [[_share(y == code) for code in (-1.0, 1.0)] for y in sides.values()]
    sizes = [(Cell(side), count(len(y))) for side, y in sides.items()]
    rows = [(*size, *rest) for size, rest in zip(sizes, cells, strict=True)]
    return Table(("rows", "number", *head), rows, note=note)


def _share(chosen: Mask) -> Cell:
    """How many rows, and what share of all."""
    return Cell(f"{chosen.sum():,} ({np.mean(chosen):.0%})", key=float(chosen.sum()))
