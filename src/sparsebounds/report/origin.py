"""Where a result came from: the data, the command and the versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from sparsebounds._version import __version__
from sparsebounds.program import Program
from sparsebounds.report.parts import Block, Cell, Code, Section, Table, Text, number
from sparsebounds.report.scores import Held

PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "plotly")


@dataclass(frozen=True)
class Origin:
    """What is known of where the data came from; all of it may be missing."""

    command: str | None = None
    source: str | None = None
    target: str = "y"
    notes: tuple[str, ...] = ()
    columns: Sequence[Mapping[str, Any]] = ()
    """Columns of the table: name, categories (or None) and fill (or None)."""

    check: str | None = None
    """The command that verifies the certificate, where one was saved."""


def data_section(program: Program | None, held: Held | None, origin: Origin) -> Section:
    """The rows, the response and how columns became features."""
    blocks: list[Block] = []
    if program is not None:
        source = f"{origin.source}: " if origin.source else ""
        rows = f"{program.n} training rows"
        if held is not None:
            rows += f" and {len(held.y)} held out"
        features = f"{program.m} feature{'s' * (program.m != 1)}"
        blocks.append(Text(f"{source}{rows}, {features}, and the response {origin.target!r}."))
    blocks += [Text(note) for note in origin.notes]
    if program is not None:
        blocks.append(_response(program, held, origin.target))
    changed = [one for one in origin.columns if one["categories"] or one["fill"] is not None]
    if changed:
        kinds = (("column", False), ("became", False), ("a gap is filled with", False))
        cells = [
            (Cell(str(one["name"])), Cell(_became(one)), Cell(_filled(one["fill"])))
            for one in changed
        ]
        blocks.append(
            Table(kinds, cells, note="How columns are encoded, and what would fill a gap.")
        )
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
    rows = [(Cell(name), Cell(value)) for name, value in found.items()]
    rows.append((Cell("system"), Cell(platform.platform(terse=True))))
    rows.append((Cell("cost"), Cell(spent)))
    if program is not None:
        rows.append((Cell("fingerprint of the training data"), Cell(program.fingerprint)))
    blocks.append(Table((("", False), ("", False)), rows))
    return Section("repeat", "To repeat it", tuple(blocks))


def _became(column: Mapping[str, Any]) -> str:
    values = column["categories"]
    if not values:
        return "a number"
    return f"text of {len(values)} values: {', '.join(map(str, values))}"


def _filled(fill: Any) -> str:
    if fill is None:
        return "–"
    return fill if isinstance(fill, str) else f"{fill:.6g}"


def _response(program: Program, held: Held | None, target: str) -> Table:
    """Counts of two classes, or the spread of a number."""
    sides = [("training", program.response)]
    if program.classes is None:
        if held is not None:
            sides.append(("held out", np.asarray(held.y, np.float64)))
        names = ("mean", "standard deviation", "least", "median", "largest")
        rows = [
            (
                Cell(side),
                Cell(str(len(y)), float(len(y))),
                *(number(float(f(y))) for f in (np.mean, np.std, np.min, np.median, np.max)),
            )
            for side, y in sides
        ]
        head = (("rows", False), ("number", True), *((name, True) for name in names))
        return Table(head, rows, note=f"The response {target!r}.")
    if held is not None:
        sides.append(("held out", np.where(held.y == program.classes[1], 1.0, -1.0)))
    counts = [
        (
            Cell(side),
            Cell(str(len(y)), float(len(y))),
            *(
                Cell(f"{(y == code).sum()} ({np.mean(y == code):.0%})", float((y == code).sum()))
                for code in (-1.0, 1.0)
            ),
        )
        for side, y in sides
    ]
    first, second = (f"{target} = {label}" for label in program.classes)
    head = (("rows", False), ("number", True), (first, True), (second, True))
    return Table(head, counts)
