"""The bars of the relaxation: what was promised before anything was measured.

"no slower than the fastest" is a factor of 1 against the best of all peers that reached the
accuracy. A bar whose peers did not run is not passed, it is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.common.bars import Verdict
from benchmarks.relaxation.rows import Row

BEST_CONIC, AS_WRITTEN, FIRST_ORDER = "CVXPY, best", "CVXPY, as written", "Liu-Shafiee-Lodi (ours)"


@dataclass(frozen=True)
class Bar:
    """A promise about one problem."""

    problem: str
    text: str
    check: Callable[[Row], tuple[str, bool | None]]

    def judge(self, row: Row) -> Verdict:
        measured, passed = self.check(row)
        return Verdict(self.problem, self.text, measured, passed)


def faster(problem: str, factor: float, than: str | None = None, *, setup: bool = False) -> Bar:
    """At least `factor` times faster than one peer, or than the fastest; with our set-up or not."""
    whom = than or "the fastest"

    def check(row: Row) -> tuple[str, bool | None]:
        rivals = [
            cell for cell in row.cells.values() if cell.reached and than in (None, cell.competitor)
        ]
        if not rivals:
            return f"{whom} did not run", None
        rival = min(rivals, key=lambda cell: cell.seconds)
        ratio = rival.seconds / row.seconds
        text = f"{ratio:.2f}x against {rival.competitor}"
        whole = rival.seconds / (row.seconds + row.setup)
        text += f" ({whole:.2f}x with our set-up)"
        best = row.cells.get(BEST_CONIC)
        if than == AS_WRITTEN and best is not None and best.reached:
            text += f"; {best.seconds / row.seconds:.1f}x against the best formulation"
        return text, (whole if setup else ratio) >= factor

    words = f"no slower than {whom}" if factor == 1 else f"{factor:g}x faster than {whom}"
    return Bar(problem, words, check)


def cheap(
    problem: str, passes: float, products: float | None = None, *, strict: bool = False
) -> Bar:
    """At most (strict: fewer than) so many passes over X, and so many times one X^T a."""

    def check(row: Row) -> tuple[str, bool | None]:
        kept = row.passes < passes if strict else row.passes <= passes
        text = f"{row.passes:.2f} passes"
        if products is not None:
            kept = kept and row.products <= products
            text += f", {row.products:.1f} X^T a"
        return text, kept

    words = f"{'fewer than' if strict else 'at most'} {passes:g} passes"
    return Bar(problem, words + (f" and {products:g} X^T a" if products else ""), check)


def quick(problem: str, seconds: float) -> Bar:
    """Less than so many seconds, set-up included."""
    return Bar(
        problem,
        f"less than {seconds:g} s",
        lambda row: (f"{row.seconds + row.setup:.3f} s", row.seconds + row.setup < seconds),
    )


BARS: tuple[Bar, ...] = (
    faster("500x1000-ar0.5", 1),
    faster("500x1000-ar0.9", 1),
    faster("500x10000", 2),
    faster("1000x100000-rank20", 10),
    faster("100000x500", 2),
    faster("500x10000-k", 100, BEST_CONIC),
    faster("500x10000-k", 5, FIRST_ORDER),
    faster("500x1000-logistic", 1),
    faster("500x10000-logistic", 1),
    cheap("1000x50000-0.1", 6, 15),
    cheap("1000x50000-0.02", 6, 15),
    cheap("1000x50000-logistic-0.1", 8, 50),
    cheap("1000x50000-logistic-0.02", 8, 50),
    cheap("20000x200000-sparse", 10, strict=True),
    quick("leukemia", 0.5),
    faster("exp1-l0", 50, AS_WRITTEN),
    faster("exp1-k-logistic", 50, AS_WRITTEN),
)


def judge(rows: Iterable[Row], bars: Iterable[Bar]) -> list[Verdict]:
    """Every bar whose problem was run."""
    found = {row.problem: row for row in rows}
    return [bar.judge(found[bar.problem]) for bar in bars if bar.problem in found]
