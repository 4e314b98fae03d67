"""Do these nodes cover every support? Checked by splitting on features, as a tree was built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sparsebounds.bounds import Node

WORK = 50_000_000
"""Most comparisons of a node with a feature before the check gives up (and refuses)."""


@dataclass(frozen=True)
class _Box:
    """A node: what it fixes, and its cardinality range."""

    inside: frozenset[int]
    outside: frozenset[int]
    fixed: frozenset[int]
    low: int
    high: int


_Meeting = list[tuple[_Box, int]]
"""Boxes that meet a subcube, each with how many features it fixes that the subcube does not."""


def uncovered(nodes: Sequence[Node], free: int, most: int) -> str | None:
    """None where every support of at most `most` of `free` features is in some node.

    Otherwise a clause that says what is missing.
    """
    boxes: _Meeting = []
    for node in nodes:
        inside, outside = frozenset(node.inside.tolist()), frozenset(node.outside.tolist())
        high = most if node.high is None else node.high
        boxes.append(
            (_Box(inside, outside, inside | outside, node.low, high), len(inside | outside))
        )
    work = 0
    # (boxes that meet the subcube, features put in so far, features put in or out so far)
    stack: list[tuple[_Meeting, list[int], frozenset[int]]] = [(boxes, [], frozenset())]
    while stack:
        meeting, taken, decided = stack.pop()
        least, top = len(taken), min(most, len(taken) + free - len(decided))
        if least > top:
            continue
        missing = _first_gap([box for box, left in meeting if left == 0], least, top)
        if missing is None:
            continue
        partial = [(box, left) for box, left in meeting if left > 0]
        if not partial:
            held = f" that hold {sorted(taken)[:5]}" if taken else ""
            return f"supports of {missing} features{held} are in no leaf"
        feature, tried = _split(partial, decided)
        work += tried + len(meeting)
        if work > WORK:
            return "the leaves do not form a tree that can be checked in reasonable time"
        inner = [
            (box, left - (feature in box.inside))
            for box, left in meeting
            if feature not in box.outside
        ]
        outer = [
            (box, left - (feature in box.outside))
            for box, left in meeting
            if feature not in box.inside
        ]
        stack.append((inner, [*taken, feature], decided | {feature}))
        stack.append((outer, taken, decided | {feature}))
    return None


def _split(partial: _Meeting, decided: frozenset[int]) -> tuple[int, int]:
    """A feature to split on, and the comparisons it took to find it.

    Leaves of a tree all fix the feature of its root, so one that all have is taken; failing
    that, of the features of the smallest box, the one that most boxes fix.
    """
    smallest = min(partial, key=lambda item: item[1])[0]
    candidates = smallest.fixed - decided
    common, tried = candidates, 0
    for box, _ in partial:
        tried += len(common)
        common = common & box.fixed
        if not common:
            break
    else:
        return min(common), tried
    count = Counter(i for box, _ in partial for i in candidates & box.fixed)
    tried += len(candidates) * len(partial)
    return max(count, key=lambda i: (count[i], -i)), tried


def _first_gap(boxes: list[_Box], least: int, top: int) -> int | None:
    """The smallest cardinality in [least, top] that no range covers."""
    need = least
    for low, high in sorted((box.low, box.high) for box in boxes):
        if low > need:
            break
        need = max(need, high + 1)
    return need if need <= top else None
