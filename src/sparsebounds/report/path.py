"""The report of a path."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np

from sparsebounds._support.decimals import counted, percent_up, readable
from sparsebounds.paths import MOST_NAMES, Path, changes, printed
from sparsebounds.program import Program
from sparsebounds.report.band import MEANING, path_band
from sparsebounds.report.charts import band_chart, coefficients_chart, members_chart, scores_chart
from sparsebounds.report.origin import Origin, data_section, repeat_section
from sparsebounds.report.page import (
    Block,
    Card,
    Cell,
    Chart,
    Page,
    Section,
    Table,
    Text,
    count,
    listed,
    named,
    number,
    write,
)
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
        Card("without features", readable(path.null, 5), "objective"),
    )


def _proved(path: Path) -> Section:
    chart = Chart("band", "The certified band", band_chart(path_band(path)))
    blocks = (Text(MEANING, strong=True), chart, Text(path.message))
    return Section("proved", "What is proved", blocks)


def _predictions(path: Path, program: Program | None, held: Held | None) -> Section:
    """The first score of every model, training beside held out."""
    blocks: list[Block] = []
    if program is not None:
        own = [fitted(program, point).scores for point in path]
        score = next(iter(own[0]))
        sides = {f"training ({counted(program.n, 'row')})": np.array([one[score] for one in own])}
        if held is None:
            words = "No rows were held out: this is on the rows that the models were fitted to."
            blocks.append(Text(words))
        else:
            new = [held.seen_by(program, point).scores for point in path]
            values = np.array([one.get(score, np.nan) for one in new])
            sides[f"held out ({counted(len(held.y), 'row')})"] = values
        blocks.append(Chart("scores", f"{score} of each model", scores_chart(path, score, sides)))
    return Section("predictions", "How they predict", tuple(blocks))


def _coefficients(path: Path) -> Section:
    """Sizes, then who is in."""
    charts: tuple[Chart, ...] = ()
    many = len(set(np.concatenate([point.support for point in path]).tolist()))
    note = f"The {MOST_NAMES} features in most models, of {many}." if many > MOST_NAMES else ""
    if many:
        charts = (
            Chart("coefficients", "Coefficients along the path", coefficients_chart(path), note),
            Chart("members", "Who is in", members_chart(path), note),
        )
    return Section("coefficients", "Coefficients", charts)


def _points(path: Path) -> Table:
    rows = []
    for point, changed in zip(path, changes(path, "−"), strict=True):
        *cells, gap = printed(point)
        keys = point.place, float(len(point.support)), point.lower, point.upper
        rows.append(
            (
                *(Cell(text, key=key) for text, key in zip(cells, keys, strict=True)),
                Cell(gap, key=point.rel_gap, mark="good" if point.status == "optimal" else ""),
                listed(changed, "  "),
            )
        )
    return Table(
        (path.kind, "used", "proved bound", "objective", "gap", "comes in, goes"),
        rows,
        name="points",
        note="Bounds are rounded to the safe side; green gaps are proved optimal.",
    )


def _features(path: Path) -> Table:
    """Those that are in some model: in how many, where first, where proved."""
    places: dict[int, list[float]] = {}
    for point in path:
        for i in point.support.tolist():
            places.setdefault(i, []).append(point.place)
    proved = Counter(i for point in path for i in point.fixed_in.tolist())
    last = path[-1].coef
    rows = [
        (
            named(path.label(i)),
            count(len(at)),
            Cell(f"{at[0]:g}", key=at[0]),
            count(proved[i]),
            number(float(last[i])) if last[i] else Cell("–", key=0.0, mark="faint"),
        )
        for i, at in sorted(places.items(), key=lambda item: -len(item[1]))
    ]
    first, end = f"first at {path.kind}", f"coefficient at {path.kind} = {path[-1].place:g}"
    titles = "feature", "models with it", first, "times proved in", end
    return Table(titles, rows, name="features")
