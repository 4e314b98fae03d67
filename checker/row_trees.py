"""Robust losses: search trees over features, rows and cuts of the intercept."""

from itertools import pairwise

from exact_numbers import INF, Q, need, slices, unpacked
from loss_functions import RESIDUAL
from robust_boxes import boxed
from row_bounds import Lent, RowBounds
from row_spans import Spans
from search_trees import split_of


def rows_bound(program, record, level, duals):
    """The smallest bound of the leaves of a tree over rows."""
    known = program.loss.name in (*RESIDUAL, "ramp") and not program.grouped
    need(known, "a tree over rows is for robust losses and the ramp, without groups")
    count, splits, n = record["kept_count"], record["splits"], program.n
    points, lents = record["point_count"], record["lent_count"]
    size = 1 + 2 * splits
    kept = unpacked(record, "kept", "<i8", count)
    own = [j for j in range(program.m) if not program.never[j]]
    need(kept == own, "the features the tree decides about are not those of the problem")
    cuts = [Q(x) for x in unpacked(record, "cuts", "<f8", record["cut_count"])]
    eta = Q(unpacked(record, "eta", "<f8", 1)[0])
    need(all(a < b for a, b in pairwise(cuts)), "the cuts do not ascend")
    need(eta > 0 if program.ball is not None else eta == 0, "the multiplier is not that of a ball")
    outer, ceiling = (Q(0), Q(0)), INF
    if program.intercept:
        box = boxed(program, level, duals)
        outer, ceiling = box.range, box.ceiling

    def array(name, kind, length):
        return unpacked(record, name, kind, length)

    def parts(name, kind, lengths):
        return list(slices(array(name, kind, sum(lengths)), lengths))

    reduced, split = program.part(kept), split_of(array("parent", "<i8", splits), splits)
    switch, above = array("switch", "<i4", splits), array("scope", "<i4", size)
    place, counts = array("points", "<i4", size), array("counts", "<i4", points)
    fits = all(-1 <= p < points for p in place) and all(0 <= i < size for i in above)
    need(fits and min(counts) >= 0, "a node names what is not there")
    support, values = parts("support", "<i4", counts), parts("values", "<f8", counts)
    intercept, lent = array("intercept", "<f8", points), array("lent", "<i4", points)
    theta, shares = array("theta", "<f4", lents * n), array("shares", "<f4", lents * count)
    theta, shares = (list(slices(x, [len(x) // lents] * lents)) for x in (theta, shares))
    etas, middles = array("etas", "<f8", lents), array("middles", "<f8", lents)
    sparse = array("sparse", "<i4", lents) if "sparse" in record else [0] * lents
    need(all(x in (0, 1) for x in sparse), "a tree lends by something else")
    lends = [Lent(*some) for some in zip(theta, shares, etas, middles, sparse)]
    bounds = RowBounds(reduced, eta)
    known = Spans(bounds, cuts, outer)
    if "spans" in record:
        ceiling = min(ceiling, known.read(record["spans"], lends))
    states, named = {0: [*reduced.state, *[0] * (2 * n + len(cuts))]}, {}
    scopes, lower = {above[i] for i in range(size) if split[i] is None}, ceiling
    for node in range(size):
        state = states.pop(node)
        if node in scopes:
            named[node] = state
        if split[node] is None:
            at, p = named.get(above[node]), place[node]
            part = at is not None and all(a in (0, b) for a, b in zip(at, state))
            need(part, "a leaf is bounded at a node that it is no part of")
            need(p >= 0 and 0 <= lent[p] < lents, "a leaf has no bound")
            need(all(0 <= j < count for j in support[p]), "a tree names a feature it has not")
            w = {j: Q(x) for j, x in zip(support[p], values[p])}
            scope, leaf, aside = known.node(at), known.node(state), Q(intercept[p])
            found = bounds.bound(scope, w, aside, lends[lent[p]], leaf=leaf)
            lower = min(lower, max(found, 0))
            continue
        j = switch[split[node]]
        need(0 <= j < len(state) and state[j] == 0, "a node is split on what is decided already")
        for side in (0, 1):
            child = list(state)
            child[j] = 2 * side - 1
            states[1 + 2 * split[node] + side] = child
    return lower
