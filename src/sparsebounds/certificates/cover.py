"""Do these nodes cover every support? Checked by splitting on features, as a tree was built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sparsebounds.bounds import Node

WORK = 50_000_000
"""Most fixings looked at before the check gives up (and refuses)."""


@dataclass(frozen=True)
class _Box:
    """A node within a subcube: what it still fixes, and its cardinality range."""

    inside: frozenset[int]
    outside: frozenset[int]
    low: int
    high: int


def uncovered(nodes: Sequence[Node], free: int, most: int) -> str | None:
    """None where every support of at most `most` of `free` features is in some node.

    Otherwise a clause that says what is missing.
    """
    boxes = [
        _Box(
            frozenset(node.inside.tolist()),
            frozenset(node.outside.tolist()),
            node.low,
            most if node.high is None else node.high,
        )
        for node in nodes
    ]
    work = 0
    # (boxes that meet the subcube, features put in so far, features still open)
    stack: list[tuple[list[_Box], list[int], int]] = [(boxes, [], free)]
    while stack:
        meeting, taken, still_open = stack.pop()
        least, top = len(taken), min(most, len(taken) + still_open)
        if least > top:
            continue
        whole = [box for box in meeting if not box.inside and not box.outside]
        missing = _first_gap(whole, least, top)
        if missing is None:
            continue
        partial = [box for box in meeting if box.inside or box.outside]
        fixings = Counter(i for box in partial for i in box.inside | box.outside)
        if not fixings:
            held = f" that hold {sorted(taken)[:5]}" if taken else ""
            return f"supports of {missing} features{held} are in no leaf"
        work += fixings.total()
        if work > WORK:
            return "the leaves do not form a tree that can be checked in reasonable time"
        feature = max(fixings, key=lambda i: (fixings[i], -i))
        drop = frozenset((feature,))
        inner = [
            _Box(box.inside - drop, box.outside, box.low, box.high)
            for box in meeting
            if feature not in box.outside
        ]
        outer = [
            _Box(box.inside, box.outside - drop, box.low, box.high)
            for box in meeting
            if feature not in box.inside
        ]
        stack.append((inner, [*taken, feature], still_open - 1))
        stack.append((outer, taken, still_open - 1))
    return None


def _first_gap(boxes: list[_Box], least: int, top: int) -> int | None:
    """The smallest cardinality in [least, top] that no range covers."""
    need = least
    for low, high in sorted((box.low, box.high) for box in boxes):
        if low > need:
            break
        need = max(need, high + 1)
    return need if need <= top else None
