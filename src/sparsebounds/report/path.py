"""The report of a path."""

from __future__ import annotations

import os

import numpy as np

from sparsebounds._support.decimals import percent_up
from sparsebounds.paths import MOST_NAMES, Path, changes, printed
from sparsebounds.program import Program
from sparsebounds.report.band import MEANING, path_band
from sparsebounds.report.charts import (
    band_chart,
    coefficients_chart,
    members_chart,
    scores_chart,
)
from sparsebounds.report.origin import Origin, data_section, repeat_section
from sparsebounds.report.page import write
from sparsebounds.report.parts import Block, Card, Cell, Chart, Page, Section, Table, Text, number
from sparsebounds.report.scores import Held, fitted


def report_path(
    file: str | os.PathLike[str],
    path: Path,
    *,
    program: Program | None = None,
    held: Held | None = None,
    origin: Origin | None = None,
) -> None:
    """Write the report of a path; with its program, how its models predict too."""
    origin = origin or Origin()
    held = held.checked(program) if held is not None and program is not None else None
    spent = f"{path.full_passes:.0f} passes over the data, {path.seconds:.2f} s"
    page = Page(
        title=f"Sparse models of {origin.target}",
        subtitle=path.problem,
        cards=_cards(path),
        sections=(
            _proved(path),
            _predictions(path, program, held),
            _coefficients(path),
            Section("points", "The models", (_points(path),)),
            Section("features", "Features of these models", (_features(path),)),
            data_section(program, held, origin),
            repeat_section(program, origin, spent),
        ),
    )
    write(file, page)


def _cards(path: Path) -> tuple[Card, ...]:
    optimal = sum(point.status == "optimal" for point in path)
    first, last = path[0], path[-1]
    return (
        Card("models", str(len(path)), f"{path.kind} from {first.place:g} to {last.place:g}"),
        Card("proved optimal", str(optimal), f"of {len(path)}", "good" if optimal else "open"),
        Card("widest gap", percent_up(float(np.max(path.rel_gap)))),
        Card("narrowest gap", percent_up(float(np.min(path.rel_gap)))),
        Card("without features", f"{path.null:.5g}", "objective"),
    )


def _proved(path: Path) -> Section:
    return Section(
        "proved",
        "What is proved",
        (
            Text(MEANING, strong=True),
            Chart("band", "The certified band", band_chart(path_band(path))),
            Text(path.message),
        ),
    )


def _predictions(path: Path, program: Program | None, held: Held | None) -> Section:
    """The first score of every model, training beside held out."""
    title = "How they predict"
    if program is None:
        return Section("predictions", title, ())
    own = [fitted(program, point).scores for point in path]
    score = next(iter(own[0]))
    sides = {f"training ({program.n} rows)": np.array([one[score] for one in own])}
    blocks: list[Block] = []
    if held is None:
        blocks.append(
            Text("No rows were held out: this is on the rows that the models were fitted to.")
        )
    else:
        new = [held.seen_by(program, point).scores for point in path]
        values = np.array([one.get(score, np.nan) for one in new])
        sides[f"held out ({len(held.y)} rows)"] = values
    blocks.append(Chart("scores", f"{score} of each model", scores_chart(path, score, sides)))
    return Section("predictions", title, tuple(blocks))


def _coefficients(path: Path) -> Section:
    """Sizes, then who is in."""
    if not any(len(point.support) for point in path):
        return Section("coefficients", "Coefficients", ())
    many = len(set(np.concatenate([point.support for point in path]).tolist()))
    note = f"The {MOST_NAMES} features in most models, of {many}." if many > MOST_NAMES else ""
    return Section(
        "coefficients",
        "Coefficients",
        (
            Chart("coefficients", "Coefficients along the path", coefficients_chart(path), note),
            Chart("members", "Who is in", members_chart(path), note),
        ),
    )


def _points(path: Path) -> Table:
    rows = []
    for point, changed in zip(path, changes(path, "−"), strict=True):
        *cells, gap = printed(point)
        keys = point.place, float(len(point.support)), point.lower, point.upper
        rows.append(
            (
                *map(Cell, cells, keys),
                Cell(gap, point.rel_gap, mark="good" if point.status == "optimal" else ""),
                Cell("  ".join(changed)),
            )
        )
    heads = ((path.kind, True), ("used", True), ("proved bound", True), ("objective", True))
    return Table(
        (*heads, ("gap", True), ("comes in, goes", False)),
        rows,
        name="points",
        note="Bounds are rounded to the safe side; green gaps are proved optimal.",
    )


def _features(path: Path) -> Table:
    """Those that are in some model: in how many, where first, where proved."""
    places: dict[int, list[float]] = {}
    proved: dict[int, int] = {}
    for point in path:
        for i in point.support.tolist():
            places.setdefault(i, []).append(point.place)
        for i in point.fixed_in.tolist():
            proved[i] = proved.get(i, 0) + 1
    last = path[-1].coef
    rows = [
        (
            Cell(path.label(i)),
            Cell(str(len(at)), float(len(at))),
            Cell(f"{at[0]:g}", at[0]),
            Cell(str(proved.get(i, 0)), float(proved.get(i, 0))),
            number(float(last[i])) if last[i] else Cell("–", 0.0, mark="faint"),
        )
        for i, at in sorted(places.items(), key=lambda item: -len(item[1]))
    ]
    return Table(
        (
            ("feature", False),
            ("models with it", True),
            (f"first at {path.kind}", True),
            ("times proved in", True),
            (f"coefficient at {path.kind} = {path[-1].place:g}", True),
        ),
        rows,
        name="features",
    )
