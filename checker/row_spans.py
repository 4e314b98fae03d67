"""Robust losses: spans, which hold the residuals of every model up to a level.

They are proved in rounds, each from the spans before it: where objective - tilt (x_i.w + b) is at
least phi, a model up to the level U has tilt (x_i.w + b) <= U - phi.
"""

import math

from exact_numbers import INF, Q, need, short, slices, unpacked
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
        self.spans = self.guides = [(-INF, INF)] * n
        rounds, ends = record["rounds"], record["ends"]
        lent = unpacked(record, "lent", "<i4", rounds)
        counts = unpacked(record, "counts", "<i4", rounds)
        fits = all(0 <= i < len(lends) for i in lent) and all(x >= 0 for x in counts)
        need(fits and sum(counts) == ends, "a round of spans names what is not there")
        row, tilt = unpacked(record, "row", "<i4", ends), unpacked(record, "tilt", "<f8", ends)
        known = all(0 <= i < n + program.intercept for i in row) and all(tilt)
        need(known, "a span is of no row, or has no side")
        intercept = unpacked(record, "intercept", "<f8", ends)
        values = unpacked(record, "values", "<f4", ends * program.m)
        points = slices(values, [program.m] * ends)
        made = slices(list(zip(row, tilt, intercept, points)), counts)
        for i, some in zip(lent, made):
            self.cut(lends[i], some)

    def cut(self, lent, ends):
        """One round."""
        bounds, program = self.bounds, self.bounds.program
        node = self.within(Node(program, program.state, self.spans, self.spans, *self.outer))
        spans = list(map(list, self.spans))
        for i, tilt, b, values in ends:
            w, tilt = {j: Q(x) for j, x in enumerate(values) if x}, Q(tilt)
            found = bounds.bound(node, w, Q(b), lent, i, tilt)
            if abs(found) == INF:
                continue  # no model, or nothing is proved
            end, side = (self.level - found) / tilt, int(tilt > 0)
            if i < program.n:
                end = end * (1 << bounds.rows.bits) - bounds.rows.target[i]
                end = math.ceil(end) if side else math.floor(end)
                spans[i][side] = min(spans[i][side], end) if side else max(spans[i][side], end)
            elif side:
                self.high = min(self.high, short(end, up=True))
            else:
                self.low = max(self.low, short(end, up=False))
        self.spans = list(map(tuple, spans))
        self.guides = [(self.moved(low, -1), self.moved(high, 1)) for low, high in spans]

    def within(self, node):
        """A node with what spans add to it, if they speak of all its intercepts."""
        if node.low < self.outer[0] or node.high > self.outer[1]:
            return node
        spans, guides = (
            [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(node.spans, known)]
            for known in (self.spans, self.guides)
        )
        low, high = max(node.low, self.low), min(node.high, self.high)
        return Node(self.bounds.program, node.features, spans, guides, low, high)

    def moved(self, end, side):
        """An end moved outward by 2^-36 of itself and c, as where files are made."""
        return end if abs(end) == INF else end + side * (abs(end) + self.bounds.rows.c >> 36)
