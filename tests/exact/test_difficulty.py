"""The outlook of a search: what it measures, what it says, where it is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparsebounds.datasets import make_correlated
from sparsebounds.exact import ExactSearch, Outlook, SearchProgress
from sparsebounds.exact.difficulty import FEW
from sparsebounds.models import Search
from sparsebounds.program import Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.solve import solve_program

DATA = make_correlated(80, 60, 0.5, random_state=3)


@pytest.mark.parametrize("terms", [{"l0": 0.1}, {"k": 5}], ids=["l0", "k"])
def test_slacks_are_prices_left_to_prove(terms: dict[str, float]) -> None:
    program = Program(DATA.X, DATA.y, ridge=0.05, **terms)  # type: ignore[arg-type]
    relaxed = relax(program)
    model = Search(program, relaxed).run()
    exact = ExactSearch(program, relaxed, model, 1e-4)
    search, small, base = exact.search, exact.reduction.program, exact.reduction.base
    found, price = search.outlook, search.bounder.price
    assert price == pytest.approx(terms.get("l0", relaxed.l0_multiplier))
    # A node that stays open is bounded to a tenth of a price.
    root = relax(small).lower + base
    assert root > relaxed.lower
    assert found.root == pytest.approx((model.value - root) / price, abs=0.1)
    if program.k is not None:
        assert math.isnan(found.inside)
        assert found.supports == sum(math.comb(search.program.m, size) for size in range(6))
        return
    places = np.searchsorted(exact.reduction.kept, model.support)
    posed = {"ridge": small.ridge, "always": places, **terms}
    inside = relax(Program(small.matrix.columns(np.arange(small.m)), small.y, **posed))
    paid = 0.1 * len(model.support) + base
    assert found.inside == pytest.approx((model.value - inside.value - paid) / price, abs=0.1)
    assert found.inside <= found.root + 0.1
    assert found.supports == 2.0**search.program.m


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Outlook(3.5, 1.4, np.inf), "in seconds"),
        (Outlook(6.7, 3.0, np.inf), "may take minutes or more"),
        (Outlook(6.7, 4.1, np.inf), "will hardly finish"),
        (Outlook(9.0, math.nan, np.inf), "in seconds"),
        (Outlook(12.0, math.nan, np.inf), "may take minutes or more"),
        (Outlook(30.0, math.nan, np.inf), "will hardly finish"),
        (Outlook(30.0, 30.0, FEW), "in seconds"),
    ],
)
def test_words(found: Outlook, words: str) -> None:
    assert words in found.words
    assert "As a rule of thumb" in found.words
    assert found.hard == ("in seconds" not in words)
    assert ("At the root" in found.words) == math.isnan(found.inside)


def test_a_search_says_what_to_expect() -> None:
    program = Program(DATA.X, DATA.y, k=8, ridge=0.001)
    seen: list[SearchProgress] = []

    def note(now: object) -> None:
        if isinstance(now, SearchProgress):
            seen.append(now)

    solution = solve_program(program, exact=True, node_limit=20, callback=note)
    assert seen[0].outlook is not None
    assert seen[0].outlook.words in solution.message
