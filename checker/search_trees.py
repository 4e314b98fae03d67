"""Search trees over features."""

from itertools import pairwise

from exact_numbers import INF, Q, need, slices, unpacked
from loss_functions import CONVEX
from programs import Gains
from quadratics import minorant_of, shifted_bound, squared_parts, tried_bound


def split_of(parent, count):
    """The split of each node; refused unless each is made before it is split, and once."""
    need(len(set(parent)) == len(parent), "a node is split twice")
    need(all(0 <= p <= 2 * i for i, p in enumerate(parent)), "a node is split before it is made")
    split = [None] * (1 + 2 * count)
    for i, p in enumerate(parent):
        split[p] = i
    return split


def tree_bound(program, tree):
    """The smallest bound of a tree's leaves, of what its nodes fix and of what it leaves out."""
    need(program.loss.name in CONVEX, "a search tree proves nothing about this loss")
    splits, count = tree["splits"], tree["kept_count"]
    size = 1 + 2 * splits
    kept = unpacked(tree, "kept", "<i8", count)
    chosen = set(kept)
    known = all(a < b for a, b in pairwise(kept)) and kept[0] >= 0 and kept[-1] < program.m
    known = known and not any(program.never[j] for j in kept)
    known = known and all(j in chosen for j in range(program.m) if program.always[j])
    need(known, "the features the tree decides about are not those of the problem")
    whole = all(j in chosen or head not in chosen for j, head in enumerate(program.leader))
    whole = whole and all(program.leader[j] in chosen for j in kept)
    need(whole, "the tree decides about a part of a group")
    lower, removal = INF, unpacked(tree, "removal", "<f8", program.n)
    removed = [j for j in range(program.m) if program.free[j] and j not in chosen]
    minorant = tree.get("minorant")
    if removed:
        gains = Gains(program, program.point(removal), program.state)
        lower = min(gains.forced(j, True) for j in removed)
    reduced, base = program.part(kept), Q(0)
    if minorant is not None:
        reduced, base, level = minorant_of(reduced, minorant, removal)
        lower = min(lower, level)
    return min(lower, nodes_bound(reduced, tree, splits, size) + base)


def nodes_bound(program, tree, splits, size):
    m = program.m
    split = split_of(unpacked(tree, "parent", "<i8", splits), splits)
    feature = unpacked(tree, "feature", "<i4", splits)
    counts = unpacked(tree, "counts", "<i4", size)
    need(min(counts) >= -1, "counts must be -1 or more")
    stored = sum(max(x, 0) for x in counts)
    support = slices(unpacked(tree, "support", "<i4", stored), counts)
    values = slices(unpacked(tree, "values", "<f8", stored), counts)
    intercept = unpacked(tree, "intercept", "<f8", size)
    fixed_counts = unpacked(tree, "fixed_counts", "<i4", size)
    fixed_parts = slices(unpacked(tree, "fixed", "<i4", sum(fixed_counts)), fixed_counts)
    shifts = {shift["node"]: shift for shift in tree["shifts"]}
    need(len(shifts) == len(tree["shifts"]), "a node has two shifts")
    tried = set(tree.get("exhausted", ()))
    quadratic = squared_parts(program) if shifts or tried else None
    states, lower = {0: program.state}, INF
    nodes = zip(range(size), support, values, intercept, fixed_parts)
    for node, places, numbers, b, fixed in nodes:
        state = states.pop(node)
        leaf, after = split[node] is None, state
        need(all(0 <= j < m for j in places), "a tree names a feature it does not decide about")
        if leaf or fixed:
            need(counts[node] >= 0, "a node that needs a bound has no dual vector")
            point = program.point_at({j: Q(x) for j, x in zip(places, numbers)}, Q(b))
            gains = Gains(program, point, state)
            special = node in shifts or node in tried
            for code in fixed:
                j, inside = (code, False) if code >= 0 else (-1 - code, True)
                need(j < m and after[j] == 0, "a node fixes a feature that is decided already")
                after = program.decided(after, j, -1 if inside else 1)
                if not leaf or special:
                    lower = min(lower, gains.forced(j, inside))
        if leaf:
            bounds = [gains.bound()]
            if node in shifts:
                bounds.append(shift_at(program, quadratic, after, shifts[node]))
            elif node in tried:
                bounds.append(tried_bound(program, quadratic, after))
            lower = min(lower, max(x for x in bounds if x is not None))
            continue
        j = feature[split[node]]
        need(0 <= j < m and after[j] == 0, "a node is split on a feature that is decided already")
        for side in (0, 1):
            states[1 + 2 * split[node] + side] = program.decided(after, j, 2 * side - 1)
    return lower


def shift_at(program, quadratic, state, shift):
    """The bound of a leaf that a stored shift closes."""
    coefs, opened = shift["coefs"], shift["open"]
    places = unpacked(shift, "support", "<i4", coefs), unpacked(shift, "shifted", "<i4", opened)
    numbers = unpacked(shift, "values", "<f8", coefs), unpacked(shift, "diagonal", "<f8", opened)
    w, d = ({j: Q(x) for j, x in zip(*pair)} for pair in zip(places, numbers))
    fits = all(0 <= j < program.m for j in (*w, *d))
    fits = fits and not any(state[j] < 0 and w[j] for j in w)
    fits = fits and not any((state[j] != 0 and d[j]) or d[j] < 0 for j in d)
    need(fits, "a shifted leaf does not fit its node")
    return shifted_bound(program, quadratic, state, w, d)
