"""Open nodes: what goes in comes out, whatever goes out before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebounds._support.array import Index
from sparsebounds.exact.bounder import Bounded
from sparsebounds.exact.frontier import Frontier


def nodes(places: Index) -> Bounded:
    """Nodes whose numbers are all made from their place."""
    row = places.astype(np.float64)
    wide = np.outer(row, np.ones(3))
    return Bounded(wide.astype(np.int8), wide + 1, row + 2, row + 3, wide + 4)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30), st.randoms())
def test_a_frontier_is_a_set_of_nodes(steps: list[tuple[int, int]], random: object) -> None:
    start = np.arange(2)
    frontier, expected, made = Frontier(nodes(start), start), {0, 1}, 2
    for leave, join in steps:
        rows = random.sample(range(len(frontier)), min(leave, len(frontier)))  # type: ignore[attr-defined]
        fresh = np.arange(made, made + join)
        expected -= set(frontier.places[rows].tolist())
        expected |= set(fresh.tolist())
        frontier.replace(np.array(rows, dtype=np.int64), nodes(fresh), fresh)
        made += join
        assert sorted(frontier.places.tolist()) == sorted(expected)
        here = nodes(frontier.places)
        for name in ("state", "w", "b", "lower", "gradient"):
            np.testing.assert_array_equal(getattr(frontier.nodes, name), getattr(here, name))
    frontier.keep(frontier.places % 2 == 0)
    assert sorted(frontier.places.tolist()) == sorted(p for p in expected if p % 2 == 0)


def test_an_interrupt_changes_nothing() -> None:
    start = np.arange(6)
    frontier, fresh = Frontier(nodes(start), start), np.arange(6, 9)
    torn = replace(nodes(fresh), gradient=np.zeros((2, 3)))  # fails at the last array but one
    with pytest.raises(ValueError, match="broadcast"):
        frontier.replace(np.array([0, 2]), torn, fresh)
    assert frontier.places.tolist() == start.tolist()
    for name in ("state", "w", "b", "lower", "gradient"):
        np.testing.assert_array_equal(getattr(frontier.nodes, name), getattr(nodes(start), name))


class Torn(Frontier):
    """Ctrl-C comes right after the count is set."""

    armed = False

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "_count" and self.armed:
            self.armed = False
            raise KeyboardInterrupt


def test_a_late_interrupt_changes_nothing_either() -> None:
    start, fresh = np.arange(6), np.arange(6, 9)
    frontier = Torn(nodes(start), start)
    frontier.armed = True
    with pytest.raises(KeyboardInterrupt):
        frontier.replace(np.array([0, 2]), nodes(fresh), fresh)
    assert frontier.places.tolist() == start.tolist()
