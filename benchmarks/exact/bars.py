"""The bars of the exact search: what was promised before anything was measured.

Times are geometric means over the seeds of a family. A rival that did not finish counts with the
time limit, which favours it. El0ps counts with its screening on or off, whichever is faster; a
false certificate counts as finished here, and as not solved among the 40.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean

from benchmarks.common.bars import Verdict
from benchmarks.exact.measure import OURS
from benchmarks.exact.rows import ExactRow, Outcome

EL0PS, OKRIDGE = ("El0ps", "El0ps, no screening"), ("OKRidge",)
FASTER: dict[str, tuple[float, tuple[str, ...]]] = {
    "500x1000-ar0.5-l0": (3.0, EL0PS),
    "500x1000-ar0.9-l0": (3.0, EL0PS),
    "exp1-l0": (2.0, EL0PS),
    "exp1-logistic-l0": (5.0, EL0PS),
    "500x1000-ar0.5-k": (20.0, OKRIDGE),
    "exp1-k": (20.0, OKRIDGE),
}
CLOSER = "500x1000-logistic-l0"
COUNTED, ALL = "40-", 40


def judge(rows: Sequence[ExactRow], limit: float) -> list[Verdict]:
    """Every bar whose programs were run."""
    families: dict[str, list[ExactRow]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    verdicts = [
        _faster(name, families[name], *FASTER[name], limit) for name in FASTER if name in families
    ]
    if CLOSER in families:
        verdicts.append(_closer(families[CLOSER], limit))
    counted = [row for row in rows if row.problem.startswith(COUNTED)]
    if counted:
        verdicts.append(_more(counted, limit))
    return [*verdicts, _true(rows)]


def _faster(
    name: str, rows: Sequence[ExactRow], factor: float, rivals: Sequence[str], limit: float
) -> Verdict:
    bar = f"{factor:g}x faster than {rivals[0]}"
    mine = [row.cells[OURS.name] for row in rows]
    if not all(cell.solved for cell in mine):
        return Verdict(name, bar, f"ours did not finish in {limit:g} s", False)
    ratios, texts = [], []
    for rival in rivals:
        cells = [row.cells[rival] for row in rows]
        if not all(cell.ran for cell in cells):
            continue
        late = sum(not cell.finished for cell in cells)
        false = sum(cell.false for cell in cells)
        wall, processor = _ratios(mine, cells, limit)
        ratios.append(wall)
        notes = [f"{processor:.2f}x of the processor's time"]
        notes += [f"{late} of {len(cells)} unfinished"] if late else []
        notes += [f"{false} of its {len(cells)} bounds false"] if false else []
        least = "at least " if late else ""
        texts.append(f"{least}{wall:.2f}x against {rival} ({', '.join(notes)})")
    if not ratios:
        return Verdict(name, bar, f"{rivals[0]} did not run", None)
    return Verdict(name, bar, "; ".join(texts), min(ratios) >= factor)


def _ratios(
    mine: Sequence[Outcome], theirs: Sequence[Outcome], limit: float
) -> tuple[float, float]:
    """Their time over ours, by the clock and by the processor."""
    wall = [each.seconds if each.finished else max(limit, each.seconds) for each in theirs]
    processor = [each.processor if each.finished else max(limit, each.processor) for each in theirs]
    return (
        geometric_mean(wall) / geometric_mean(each.seconds for each in mine),
        geometric_mean(processor) / geometric_mean(each.processor for each in mine),
    )


def _closer(rows: Sequence[ExactRow], limit: float) -> Verdict:
    bar = f"a smaller gap than {EL0PS[0]} after {limit:g} s"
    texts, kept = [], []
    for row in rows:
        gaps = [row.cells[name].gap for name in EL0PS if row.cells[name].ran]
        gaps = [gap for gap in gaps if not math.isnan(gap)]
        if not gaps:
            continue
        mine = row.cells[OURS.name].gap
        texts.append(f"{mine:.2%} against {min(gaps):.2%}")
        kept.append(mine < min(gaps))
    if not kept:
        return Verdict(CLOSER, bar, f"{EL0PS[0]} did not run", None)
    return Verdict(CLOSER, bar, "; ".join(texts), all(kept))


def _more(rows: Sequence[ExactRow], limit: float) -> Verdict:
    bar = f"more of {ALL} solved in {limit:g} s than any other"
    counts = {name: sum(row.cells[name].solved for row in rows) for name in rows[0].cells}
    mine = counts.pop(OURS.name)
    text = f"{mine} of {len(rows)}; " + ", ".join(f"{n}: {count}" for n, count in counts.items())
    return Verdict("the 40", bar, text, mine > max(counts.values()))


def _true(rows: Sequence[ExactRow]) -> Verdict:
    """Nobody's model is better than our bound."""
    false = [row.problem for row in rows if row.cells[OURS.name].false]
    text = f"{len(rows) - len(false)} of {len(rows)} bounds hold"
    text += f"; REFUTED on {', '.join(false)}" if false else ""
    return Verdict("all", "no model of anybody is better than our bound", text, not false)
