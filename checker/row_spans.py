"""Robust losses: spans, which hold the residuals of every model of a node up to a level.

They are proved in rounds, each from the spans before it: where objective - tilt (x_i.w + b) is at
least phi, a model up to the level U has tilt (x_i.w + b) <= U - phi.
"""

import math

from exact_numbers import INF, Q, need, slices, unpacked
from row_bounds import Node


class Spans:
    """What is known of the nodes of a tree: by switches, and by spans of some nodes."""

    def __init__(self, bounds, cuts, outer):
        self.bounds, self.cuts, self.outer = bounds, cuts, outer
        self.parts = []  # for each: the switches of its node, and its spans

    def node(self, state):
        """A node, with the spans of the nodes that it is a part of."""
        node = self.bounds.node(state, self.cuts, self.outer)
        for scope, spans, (low, high) in self.parts:
            if all(state[j] == side for j, side in scope.items()):
                spans = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(node.spans, spans)]
                b_range = max(low, node.low), min(high, node.high)
                node = Node(self.bounds.program, node.features, spans, *b_range)
        return node

    def read(self, record, lends):
        """The spans of a file, each end proved; the level that they hold up to."""
        program, (n, m) = self.bounds.program, (self.bounds.program.n, self.bounds.program.m)
        need(program.loss.name == "truncated", "spans are for the truncated loss")
        self.level = Q(unpacked(record, "level", "<f8", 1)[0])
        parts, rounds, ends = (record[name] for name in ("parts", "rounds", "ends"))
        sizes, own = (unpacked(record, x, "<i4", parts) for x in ("scope_counts", "part_rounds"))
        lent, counts = (unpacked(record, x, "<i4", rounds) for x in ("lent", "counts"))
        fits = min(*sizes, *own, *lent, *counts, 0) == 0 and max(lent, default=0) < len(lends)
        need(fits and sum(own) == rounds and sum(counts) == ends, "spans do not add up")
        row, tilt = unpacked(record, "row", "<i4", ends), unpacked(record, "tilt", "<f8", ends)
        known = all(0 <= i < n + program.intercept for i in row) and all(tilt)
        need(known, "a span is of no row, or has no side")
        claims, intercept = (unpacked(record, x, "<f8", ends) for x in ("end", "intercept"))
        values = slices(unpacked(record, "values", "<f4", ends * m), [m] * ends)
        made = slices([*zip(row, tilt, claims, intercept, values)], counts)
        made = slices([*zip((lends[i] for i in lent), made)], own)
        switches, count = unpacked(record, "scope", "<i4", sum(sizes)), m + 2 * n + len(self.cuts)
        for signed, some in zip(slices(switches, sizes), made):
            scope = {abs(x) - 1: 1 if x > 0 else -1 for x in signed}
            there = len(scope) == len(signed) and all(0 <= j < count for j in scope)
            need(there, "spans are of a node that is none")
            state = [*program.state, *[0] * (2 * n + len(self.cuts))]
            kept = all(state[j] in (0, side) for j, side in scope.items())
            need(kept, "spans are of models without a feature that is always in")
            for j, side in scope.items():
                state[j] = side
            self.parts.append((scope, [(-INF, INF)] * n, (-INF, INF)))
            for lent, ends in some:
                self.cut(state, lent, ends)
        return self.level

    def cut(self, state, lent, ends):
        """One round of the last part."""
        bounds, program, node = self.bounds, self.bounds.program, self.node(state)
        scope, spans, (low, high) = self.parts.pop()
        spans, one = list(map(list, spans)), 1 << bounds.rows.bits
        for i, tilt, end, b, values in ends:
            w, tilt, end = {j: Q(x) for j, x in enumerate(values) if x}, Q(tilt), Q(end)
            target = program.y[i] - program.o[i] if i < program.n else 0
            found = bounds.bound(node, w, Q(b), lent, i, tilt)
            known = found == INF or found >= self.level - tilt * (end + target)
            need(known, "the end of a span is not proved")
            if i == program.n:
                low, high = (low, min(high, end)) if tilt > 0 else (max(low, end), high)
            elif tilt > 0:
                spans[i][1] = min(spans[i][1], math.ceil(end * one))
            else:
                spans[i][0] = max(spans[i][0], math.floor(end * one))
        self.parts.append((scope, list(map(tuple, spans)), (low, high)))
