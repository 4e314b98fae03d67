"""Robust losses: spans, which hold the residuals of every model up to a level.

They are proved in rounds, each from the spans before it: where objective - tilt (x_i.w + b) is at
least phi, a model up to the level U has tilt (x_i.w + b) <= U - phi.
"""

import math

from exact_numbers import INF, Q, need, slices, unpacked
from row_bounds import Node


class Spans:
    """Spans of the rows' residuals, on the grid of `Rows`, and of the intercept."""

    def __init__(self, bounds, record, lends, outer, level):
        program, n = bounds.program, bounds.program.n
        need(program.loss.name == "truncated", "spans are for the truncated loss")
        self.bounds, self.level = bounds, level
        start, stop = map(Q, unpacked(record, "range", "<f8", 2))
        need(program.intercept or start == stop == 0, "spans are of intercepts that are not there")
        self.outer = self.low, self.high = max(start, outer[0]), min(stop, outer[1])
        self.spans = [(-INF, INF)] * n
        rounds, ends = record["rounds"], record["ends"]
        lent = unpacked(record, "lent", "<i4", rounds)
        counts = unpacked(record, "counts", "<i4", rounds)
        fits = all(0 <= i < len(lends) for i in lent) and all(x >= 0 for x in counts)
        need(fits and sum(counts) == ends, "a round of spans names what is not there")
        row, tilt = unpacked(record, "row", "<i4", ends), unpacked(record, "tilt", "<f8", ends)
        known = all(0 <= i < n + program.intercept for i in row) and all(tilt)
        need(known, "a span is of no row, or has no side")
        intercept = unpacked(record, "intercept", "<f8", ends)
        values = slices(unpacked(record, "values", "<f4", ends * program.m), [program.m] * ends)
        claims = unpacked(record, "end", "<f8", ends)
        for i, some in zip(lent, slices([*zip(row, tilt, claims, intercept, values)], counts)):
            self.cut(lends[i], some)

    def cut(self, lent, ends):
        """One round."""
        bounds, rows, program = self.bounds, self.bounds.rows, self.bounds.program
        node = Node(program, program.state, self.spans, self.low, self.high)
        spans = list(map(list, self.spans))
        for i, tilt, end, b, values in ends:
            w, tilt, end = {j: Q(x) for j, x in enumerate(values) if x}, Q(tilt), Q(end)
            target = program.y[i] - program.o[i] if i < program.n else 0
            found = bounds.bound(node, w, Q(b), lent, i, tilt)
            known = found == INF or found >= self.level - tilt * (end + target)
            need(known, "the end of a span is not proved")
            if i == program.n:
                self.low, self.high = (
                    (self.low, min(self.high, end)) if tilt > 0 else (max(self.low, end), self.high)
                )
            elif tilt > 0:
                spans[i][1] = min(spans[i][1], math.ceil(end * (1 << rows.bits)))
            else:
                spans[i][0] = max(spans[i][0], math.floor(end * (1 << rows.bits)))
        self.spans = list(map(tuple, spans))

    def within(self, node):
        """A node with what spans add to it, if they speak of all its intercepts."""
        if node.low < self.outer[0] or node.high > self.outer[1]:
            return node
        spans = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(node.spans, self.spans)]
        low, high = max(node.low, self.low), min(node.high, self.high)
        return Node(self.bounds.program, node.features, spans, low, high)
