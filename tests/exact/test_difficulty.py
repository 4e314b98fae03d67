"""The outlook of a search: what it measures, what it says, where it is shown."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from sparsebounds.datasets import make_correlated
from sparsebounds.exact import ExactSearch, Outlook, SearchProgress
from sparsebounds.exact.difficulty import ENOUGH, GROWTH_K, GROWTH_L0
from sparsebounds.models import Search
from sparsebounds.program import Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.solve import solve_program

DATA = make_correlated(80, 60, 0.5, random_state=3)
HARD = Program(DATA.X, DATA.y, k=8, ridge=0.001)


@pytest.mark.parametrize("terms", [{"l0": 0.1}, {"k": 5}], ids=["l0", "k"])
def test_it_measures_the_gap_at_the_root(terms: dict[str, float]) -> None:
    program = Program(DATA.X, DATA.y, ridge=0.05, **terms)  # type: ignore[arg-type]
    relaxed = relax(program)
    model = Search(program, relaxed).run()
    exact = ExactSearch(program, relaxed, model, 1e-4)
    first, price = exact.search.outlook, exact.search.bounder.price
    assert price == pytest.approx(terms.get("l0", relaxed.l0_multiplier))
    # A node that stays open is bounded to a tenth of a price.
    root = relax(exact.reduction.program).lower + exact.reduction.base
    assert root > relaxed.lower
    assert first.root_gap == pytest.approx(model.value - root, abs=0.1 * price)
    assert (first.nodes, first.open, first.closed) == (1, 1, 0.0)
    assert first.total == math.inf
    assert first.sized == ("k" in terms)
    exact.run()
    last = exact.search.outlook
    assert last.open == 0
    assert last.total == last.seconds
    # At most tol of the objective is left.
    assert last.gap <= 1e-4 * program.size(model.value)
    assert last.closed > 0.99


def test_the_rest_follows_from_the_share_that_is_closed() -> None:
    half = Outlook(nodes=1001, open=501, gap=1.0, root_gap=2.0, seconds=3.0, sized=True)
    # N nodes for a half of the gap: N^2 in all, less a factor in the exponent.
    assert half.closed == 0.5
    assert half.total == pytest.approx(3.0 * 1001**GROWTH_K)
    priced = replace(half, sized=False)
    assert priced.total == pytest.approx(3.0 * 1001**GROWTH_L0)
    assert replace(priced, open=167).total == pytest.approx(3.0 * 1001 ** (GROWTH_L0 / 3))
    assert replace(half, gap=0.5).total < half.total < replace(half, gap=1.5).total
    assert replace(half, gap=2.5).total == replace(half, gap=1.99999).total == math.inf
    assert replace(half, open=0).total == 3.0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.3, "seconds"), (1.0, "minutes"), (15.0, "minutes"), (20.0, "hours")],
)
def test_words(seconds: float, expected: str) -> None:
    found = Outlook(1001, 501, 1.0, 2.0, seconds, sized=True)
    assert f"exact search takes {expected}" in found.words
    assert "As a rule of thumb" in found.words
    assert "1001 nodes closed 50% of the gap at its root" in found.words
    assert found.hard == (expected != "seconds")
    assert not replace(found, seconds=0.9 * ENOUGH, gap=2.0).hard


def test_few_nodes_say_nothing_unless_they_took_long() -> None:
    few = Outlook(7, 4, 1.9, 2.0, 0.5, sized=True)
    assert few.words.startswith("It is too early to tell how long exact search takes here: 7 nodes")
    assert not replace(few, seconds=2.0).hard
    assert "hours or more" in replace(few, seconds=20.0).words
    assert "hours or more" in replace(few, nodes=50).words


def test_a_search_says_what_to_expect() -> None:
    seen: list[SearchProgress] = []

    def note(now: object) -> None:
        if isinstance(now, SearchProgress):
            seen.append(now)

    solution = solve_program(HARD, exact=True, node_limit=20, callback=note)
    last = seen[-1].outlook
    assert last is not None
    assert last == solution.outlook
    assert last.words in solution.message
    assert last.gap == pytest.approx(seen[-1].upper - seen[-1].lower)


def test_a_saved_search_remembers_its_root(tmp_path: Path) -> None:
    file = tmp_path / "search.npz"
    early = solve_program(HARD, exact=True, node_limit=20, checkpoint=file).outlook
    later = solve_program(HARD, exact=True, node_limit=60, checkpoint=file).outlook
    assert early is not None
    assert later is not None
    assert later.root_gap == pytest.approx(early.root_gap, rel=1e-12)
    assert later.closed >= early.closed
    # No node more: what the file says is told.
    again = solve_program(HARD, exact=True, node_limit=60, checkpoint=file).outlook
    assert again is not None
    assert again.nodes == later.nodes
    assert again.gap == pytest.approx(later.gap, rel=1e-9)
