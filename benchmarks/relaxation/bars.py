"""The bars of the relaxation: what was promised before anything was measured.

"no slower than the fastest" is a factor of 1 against the best of all peers that reached the
accuracy. A bar whose peers did not run is not passed, it is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.common.bars import Verdict
from benchmarks.relaxation.measure import Row

BEST_CONIC, AS_WRITTEN, FIRST_ORDER = "CVXPY, best", "CVXPY, as written", "Liu-Shafiee-Lodi (ours)"


def faster(row: Row, factor: float, than: str | None = None, *, setup: bool = False) -> Verdict:
    """At least `factor` times faster than one peer, or than the fastest; with our set-up or not."""
    whom = than or "the fastest"
    bar = f"no slower than {whom}" if factor == 1 else f"{factor:g}x faster than {whom}"
    rivals = [cell for cell in row.cells.values() if cell.reached and than in (None, cell.tool)]
    if not rivals:
        return Verdict(row.problem, bar, f"{whom} did not run", None)
    rival = min(rivals, key=lambda cell: cell.seconds)
    ratio, whole = rival.seconds / row.seconds, rival.seconds / (row.seconds + row.setup)
    text = f"{ratio:.2f}x against {rival.tool} ({whole:.2f}x with our set-up)"
    best = row.cells.get(BEST_CONIC)
    if than == AS_WRITTEN and best is not None and best.reached:
        text += f"; {best.seconds / row.seconds:.1f}x against the best formulation"
    return Verdict(row.problem, bar, text, (whole if setup else ratio) >= factor)


def cheap(row: Row, passes: float, products: float) -> Verdict:
    """At most so many passes over X, and so many times one X^T a."""
    kept = row.passes <= passes and row.products <= products
    text = f"{row.passes:.2f} passes, {row.products:.1f} X^T a"
    return Verdict(row.problem, f"at most {passes:g} passes and {products:g} X^T a", text, kept)


def few_passes(row: Row, passes: float) -> Verdict:
    """Fewer than so many passes over X."""
    text = f"{row.passes:.2f} passes"
    return Verdict(row.problem, f"fewer than {passes:g} passes", text, row.passes < passes)


def quick(row: Row, most: float) -> Verdict:
    """Less than so many seconds, set-up included."""
    seconds = row.seconds + row.setup
    return Verdict(row.problem, f"less than {most:g} s", f"{seconds:.3f} s", seconds < most)


Bars = Iterable[tuple[str, Callable[[Row], Verdict]]]
BARS: Bars = (
    ("500x1000-ar0.5", partial(faster, factor=1)),
    ("500x1000-ar0.9", partial(faster, factor=1)),
    ("500x10000", partial(faster, factor=2)),
    ("1000x100000-rank20", partial(faster, factor=10)),
    ("100000x500", partial(faster, factor=2)),
    ("500x10000-k", partial(faster, factor=100, than=BEST_CONIC)),
    ("500x10000-k", partial(faster, factor=5, than=FIRST_ORDER)),
    ("500x1000-logistic", partial(faster, factor=1)),
    ("500x10000-logistic", partial(faster, factor=1)),
    ("1000x50000-0.1", partial(cheap, passes=6, products=15)),
    ("1000x50000-0.02", partial(cheap, passes=6, products=15)),
    ("1000x50000-logistic-0.1", partial(cheap, passes=8, products=50)),
    ("1000x50000-logistic-0.02", partial(cheap, passes=8, products=50)),
    ("20000x200000-sparse", partial(few_passes, passes=10)),
    ("leukemia", partial(quick, most=0.5)),
    ("exp1-l0", partial(faster, factor=50, than=AS_WRITTEN)),
    ("exp1-k-logistic", partial(faster, factor=50, than=AS_WRITTEN)),
)


def judge(rows: Iterable[Row], bars: Bars) -> list[Verdict]:
    """Every bar whose problem was run."""
    found = {row.problem: row for row in rows}
    return [bar(found[name]) for name, bar in bars if name in found]
