"""Do these nodes cover every support? Checked by splitting on features, as a tree was built.

Whether any sets of supports cover all is as hard as satisfiability, so that the work is limited.
The leaves of a tree need little: with S the number of features that they fix in all, a split on a
feature that every leaf fixes leaves each of them with one less, so that leaves are looked at S
times in all. One of the leaves at hand is at most log2(their number) splits away, and no more
features are tried as the next one to split on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sparsebounds.bounds import Node

WORK, SHARE = 2_000_000, 6
"""Steps before the check gives up and refuses: so many, and for each feature that a leaf fixes."""

TRIED = 4
"""Features tried in one step of a tree's check."""


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
    """Whether some support is in no node.

    Parameters
    ----------
    nodes : list of Node
        Sets of supports.
    free : int
        How many features there are to choose from.
    most : int
        How many of them a support may have.

    Returns
    -------
    str or None
        None where every such support is in some node; otherwise a clause that says what is missing.

    Examples
    --------
    >>> node = sb.bounds.Node(inside=np.array([0]))
    >>> sb.certificates.uncovered([node], free=3, most=2)
    'supports of 0 features are in no leaf'
    >>> sb.certificates.uncovered([node, sb.bounds.Node(outside=np.array([0]))], free=3, most=2)
    """
    boxes: _Meeting = []
    for node in nodes:
        inside, outside = frozenset(node.inside.tolist()), frozenset(node.outside.tolist())
        high = most if node.high is None else node.high
        boxes.append(
            (_Box(inside, outside, inside | outside, node.low, high), len(inside | outside))
        )
    room = WORK + SHARE * sum(count for _, count in boxes)
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
        feature, steps = _split(partial, decided)
        room -= steps + len(meeting) + len(decided) // TRIED
        if room < 0:
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
    """A feature to split on, and the steps it took to find it.

    Leaves of a tree all fix the feature of its root, so one that all have is taken; failing
    that, of the features of the smallest box, the one that most boxes fix.
    """
    smallest = min(partial, key=lambda item: item[1])[0]
    candidates = smallest.fixed - decided
    common, tried = candidates, len(smallest.fixed)
    for box, _ in partial:
        tried += len(common)
        common = common & box.fixed
        if not common:
            break
    else:
        return min(common), tried // TRIED
    count = Counter(i for box, _ in partial for i in candidates & box.fixed)
    steps = tried // TRIED + 2 * len(candidates) * len(partial)
    return max(count, key=lambda i: (count[i], -i)), steps


def _first_gap(boxes: list[_Box], least: int, top: int) -> int | None:
    """The smallest cardinality in [least, top] that no range covers."""
    need = least
    for low, high in sorted((box.low, box.high) for box in boxes):
        if low > need:
            break
        need = max(need, high + 1)
    return need if need <= top else None
