"""`uncovered` against the enumeration of all supports."""

from __future__ import annotations

import re
import time
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsebounds.bounds import ROOT, Node
from sparsebounds.certificates import cover, uncovered

MANY = settings(max_examples=10 * settings().max_examples)


def node(inside: Any = (), outside: Any = (), low: int = 0, high: int | None = None) -> Node:
    return Node(
        np.array(sorted(inside), dtype=np.int64),
        np.array(sorted(outside), dtype=np.int64),
        low,
        high,
    )


def supports(free: int, most: int) -> list[frozenset[int]]:
    sizes = range(min(free, most) + 1)
    return [*map(frozenset, chain.from_iterable(combinations(range(free), j) for j in sizes))]


def holds(item: Node, support: frozenset[int]) -> bool:
    return (
        set(item.inside.tolist()) <= support
        and not support & set(item.outside.tolist())
        and item.low <= len(support)
        and (item.high is None or len(support) <= item.high)
    )


def missing(nodes: list[Node], free: int, most: int) -> list[frozenset[int]]:
    return [s for s in supports(free, most) if not any(holds(item, s) for item in nodes)]


def agree(nodes: list[Node], free: int, most: int) -> None:
    """The same answer as enumeration, and a clause that is true."""
    left_out, clause = missing(nodes, free, most), uncovered(nodes, free, most)
    assert (clause is None) == (not left_out)
    if clause is not None:
        match = re.fullmatch(
            r"supports of (\d+) features(?: that hold \[([\d, ]*)\])? are in no leaf", clause
        )
        assert match
        size = int(match[1])
        held = {int(i) for i in (match[2] or "").split(",") if i}
        assert any(len(s) == size and held <= s for s in left_out)


@st.composite
def node_lists(draw: st.DrawFn) -> tuple[list[Node], int, int]:
    free = draw(st.integers(0, 5))
    nodes = []
    for _ in range(draw(st.integers(0, 8))):
        roles = draw(st.lists(st.sampled_from("iooo..."), min_size=free, max_size=free))
        low = draw(st.integers(0, free + 1)) if draw(st.booleans()) else 0
        high = draw(st.none() | st.integers(0, free + 2))
        inside = [j for j in range(free) if roles[j] == "i"]
        nodes.append(node(inside, [j for j in range(free) if roles[j] == "o"], low, high))
    return nodes, free, draw(st.integers(0, free))


@MANY
@given(node_lists())
def test_any_nodes(drawn: tuple[list[Node], int, int]) -> None:
    agree(*drawn)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Node], int, int]:
    """Leaves of a random tree that splits on features and on cardinality, in random order."""
    free = draw(st.integers(1, 5))
    most = draw(st.integers(0, free))
    leaves = []
    stack: list[tuple[frozenset[int], frozenset[int], int, int | None]] = [
        (frozenset(), frozenset(), 0, None)
    ]
    while stack:
        inside, outside, low, high = stack.pop()
        undecided = sorted(set(range(free)) - inside - outside)
        kind = draw(st.sampled_from(["leaf", "feature", "feature", "cardinality"]))
        if kind == "feature" and undecided:
            i = draw(st.sampled_from(undecided))
            stack += [(inside | {i}, outside, low, high), (inside, outside | {i}, low, high)]
        elif kind == "cardinality" and low < (free if high is None else high):
            cut = draw(st.integers(low, (free if high is None else high) - 1))
            stack += [(inside, outside, low, cut), (inside, outside, cut + 1, high)]
        else:
            leaves.append(node(inside, outside, low, high))
    return draw(st.permutations(leaves)), free, most


@MANY
@given(trees(), st.data())
def test_trees_cover_until_a_leaf_is_lost(
    drawn: tuple[list[Node], int, int], data: st.DataObject
) -> None:
    leaves, free, most = drawn
    assert uncovered(leaves, free, most) is None
    lost = data.draw(st.integers(0, len(leaves) - 1))
    agree([leaf for i, leaf in enumerate(leaves) if i != lost], free, most)
    shrunk = leaves[lost]
    agree([*leaves[:lost], node(shrunk.inside, shrunk.outside, shrunk.low + 1, shrunk.high),
           *leaves[lost + 1 :]], free, most)  # fmt: skip


def test_features_need_not_be_numbered_from_zero() -> None:
    """Only how many features are free is told, not which: the nodes name those they split on."""
    leaves = [node([70]), node([], [70])]
    assert uncovered(leaves, 100, 3) is None
    assert uncovered(leaves[:1], 100, 3) == "supports of 0 features are in no leaf"
    assert uncovered(leaves[1:], 100, 3) == "supports of 1 features that hold [70] are in no leaf"


def test_the_whole_set_and_nothing() -> None:
    assert uncovered([ROOT], 1000, 1000) is None
    assert uncovered([], 3, 2) == "supports of 0 features are in no leaf"
    assert uncovered([ROOT], 0, 0) is None
    # A range that ends at the budget covers all that may be chosen.
    assert uncovered([node(high=2)], 10, 2) is None
    assert uncovered([node(high=2)], 10, 3) == "supports of 3 features are in no leaf"
    # More than the budget inside: nothing to cover there.
    assert uncovered([node([0], [1]), node([], [0])], 5, 1) is None


def test_a_large_tree_is_checked_quickly() -> None:
    """A path of a thousand splits: each leaf differs from the last in one feature."""
    depth = 1000
    leaves = [node(range(i), [i]) for i in range(depth)] + [node(range(depth))]
    assert uncovered(leaves, 2 * depth, depth) is None
    assert uncovered(leaves[:-1], 2 * depth, depth) == (
        "supports of 1000 features that hold [0, 1, 2, 3, 4] are in no leaf"
    )


def test_a_bushy_tree_is_checked_quickly() -> None:
    """Four thousand leaves, each level with features of its own."""
    leaves = [
        node(
            [2 * i + (word >> (i + 1)) % 2 for i in range(12) if word >> i & 1],
            [2 * i + (word >> (i + 1)) % 2 for i in range(12) if not word >> i & 1],
        )
        for word in range(1 << 12)
    ]
    assert uncovered(leaves, 100, 100) is None
    del leaves[1234]
    assert "are in no leaf" in str(uncovered(leaves, 100, 100))


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover, "WORK", 10)
    monkeypatch.setattr(cover, "SHARE", 0)
    pairs = [node([i], [(i + 1) % 5]) for i in range(5)]
    assert uncovered([*pairs, node([], range(5)), node(range(5))], 5, 5) == (
        "the leaves do not form a tree that can be checked in reasonable time"
    )
    monkeypatch.undo()
    # Going round a circle, somewhere a feature is in and the next is not: covered.
    assert uncovered([*pairs, node([], range(5)), node(range(5))], 5, 5) is None


def test_leaves_that_are_no_tree_are_refused_soon() -> None:
    """Random leaves that cover everything, but are no tree: the check gives up."""
    rng = np.random.default_rng(0)
    leaves = []
    for _ in range(3000):
        fixed = rng.choice(40, rng.integers(5, 8), replace=False)
        inside = rng.random(len(fixed)) < 0.5
        leaves.append(node(fixed[inside], fixed[~inside]))
    started = time.process_time()
    assert uncovered(leaves, 40, 40) is not None
    assert time.process_time() - started < 3.0
    # One leaf as large as the data, which splits do not make smaller.
    assert uncovered([node([], range(100_000))], 100_001, 0) is not None
    assert time.process_time() - started < 5.0
