"""Robust losses: search trees over features, rows and cuts of the intercept."""

import math
from functools import lru_cache
from itertools import pairwise
from operator import mul

from exact_numbers import INF, Q, exact_fractions, need, root, short, slices, unpacked
from loss_functions import DIPS, RESIDUAL, Loss
from quadratics import Quadratic, factor
from robust_boxes import boxed
from search_trees import split_of


def rows_bound(program, record, level, duals):
    """The smallest bound of the leaves of a tree over rows."""
    known = program.loss.name in RESIDUAL and not program.grouped
    need(known, "a tree over rows is for robust losses without groups")
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
    switch, scope = array("switch", "<i4", splits), array("scope", "<i4", size)
    place, counts = array("points", "<i4", size), array("counts", "<i4", points)
    fits = all(-1 <= p < points for p in place) and all(0 <= i < size for i in scope)
    need(fits and min(counts) >= 0, "a node names what is not there")
    support, values = parts("support", "<i4", counts), parts("values", "<f8", counts)
    intercept, lent = array("intercept", "<f8", points), array("lent", "<i4", points)
    theta, shares = array("theta", "<f4", lents * n), array("shares", "<f4", lents * count)
    theta, shares = (list(slices(x, [len(x) // lents] * lents)) for x in (theta, shares))
    etas, middles = array("etas", "<f8", lents), array("middles", "<f8", lents)
    bounds = RowBounds(reduced, cuts, outer, eta)
    states, named = {0: [*reduced.state, *[0] * (2 * n + len(cuts))]}, {}
    scopes, lower = {scope[i] for i in range(size) if split[i] is None}, ceiling
    for node in range(size):
        state = states.pop(node)
        if node in scopes:
            named[node] = state
        if split[node] is None:
            at, p = named.get(scope[node]), place[node]
            part = at is not None and all(a in (0, b) for a, b in zip(at, state))
            need(part, "a leaf is bounded at a node that it is no part of")
            need(p >= 0 and 0 <= lent[p] < lents, "a leaf has no bound")
            need(all(0 <= j < count for j in support[p]), "a tree names a feature it has not")
            w, i = {j: Q(x) for j, x in zip(support[p], values[p])}, lent[p]
            lends = i, theta[i], shares[i], Q(etas[i]), Q(middles[i])
            lower = min(lower, max(bounds.bound(at, w, Q(intercept[p]), lends), 0))
            continue
        j = switch[split[node]]
        need(0 <= j < len(state) and state[j] == 0, "a node is split on what is decided already")
        for side in (0, 1):
            child = list(state)
            child[j] = 2 * side - 1
            states[1 + 2 * split[node] + side] = child
    return lower


def granted(theta):
    """The curvature theta/(1 - theta) that a row in doubt may lack, rounded up."""
    return Q(math.ceil(Q(theta) / (1 - Q(theta)) * (1 << 90)), 1 << 90)


def halved(holds, low, high, steps):
    """Where a condition begins to hold."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(None)
def touching(loss, kappa):
    """Where a line touches g(r) = loss + kappa r^2/2 twice, its slope s, and g*(s) from above.

    The points and the slope are guesses, made in floats: g* is that of whatever they are. None
    where they are not on the two convex parts of g, or where there are none.
    """
    unit, c, dip, own = Loss(loss.name, {"c": 1.0}), loss.c, DIPS[loss.name], float(kappa)

    def value(r):
        return unit.value(0.0, r) + own * r * r / 2

    def slope(r):
        return unit.slope(0.0, r) + own * r

    def bend(r):
        return unit.bend(r * r) + own

    def ends(s):
        return halved(lambda r: slope(r) > s, 0.0, first, 20), halved(
            lambda r: slope(r) > s, second, s / own + second, 20
        )

    def above(s):
        a, b = ends(s)
        return value(b) - value(a) < s * (b - a)

    if not 1e-9 < own < -unit.bend(float(dip)):
        return None
    first = halved(lambda r: bend(r) < 0, 0.0, math.sqrt(dip), 50)
    second = halved(lambda r: bend(r) > 0, math.sqrt(dip), 4 / own, 50)
    a, b = ends(halved(above, slope(second), slope(first), 12))
    for _ in range(6):
        s = (value(b) - value(a)) / (b - a)
        a, b = (r - (slope(r) - s) / bend(r) if bend(r) > 0 else r for r in (a, b))
    squares = Q(a) ** 2, Q(b) ** 2
    convex = all(loss.bend(q) + kappa >= 0 for q in squares)
    if not (convex and squares[0] <= dip <= squares[1] and min(a, b, s) >= 0):
        return None
    near, far, s = Q(a) * c, Q(b) * c, Q(s) * c
    low, high = (root(dip * c * c, up) for up in (False, True))
    inner = loss.tangent(Q(0), s, near, Q(0), high, kappa)
    return near, far, s, max(inner, loss.tangent(Q(0), s, far, low, max(far, s / kappa), kappa))


def below_smooth(loss, r, kappa):
    """v and t with v + t (s - r) - kappa (s - r)^2/2 below a smooth loss, for all residuals s.

    With g = loss + kappa r^2/2 and tau = t + kappa r, v = tau r - kappa r^2/2 - g*(tau).
    """
    size, nothing, convex = abs(r), (Q(0), Q(0)), loss.bend(DIPS[loss.name]) + kappa >= 0
    touch = None if convex or not kappa else touching(loss, kappa)
    if not convex and touch is None:
        return nothing
    near, far, s, top = touch or (INF, INF, INF, -INF)
    tau = loss.slope(Q(0), size, 0) + kappa * size
    tau = min(tau, s) if size <= near else max(tau, s) if size >= far else s
    grid = Q(2) ** (loss.c.numerator.bit_length() - loss.c.denominator.bit_length() - 120)
    t = math.floor((tau - kappa * size) / grid) * grid
    tau = t + kappa * size
    if tau < 0:
        return nothing
    # Beyond size and tau/kappa h(s) = tau s - g(s) falls; it is concave on either convex part of g.
    fall = max(size, tau / kappa)
    if convex:
        top = loss.tangent(Q(0), tau, size, Q(0), fall, kappa)
    elif size <= near:
        top = max(loss.tangent(Q(0), tau, size, Q(0), near, kappa), top - (s - tau) * near)
    elif size >= far:
        top += max(tau - s, 0) * far
        top = max(loss.tangent(Q(0), tau, size, far, fall, kappa), top)
    value = short(tau * size - kappa * size * size / 2 - top, False)
    return value, t if r > 0 else -t


class RowBounds:
    STEEP = 100

    def __init__(self, program, cuts, outer, eta):
        self.program, self.cuts, self.outer, self.known = program, cuts, outer, {}
        self.own = [eta] * program.m if program.ridge is None else program.ridge
        self.ball = eta * program.ball / 2 if program.ball is not None else Q(0)

    def bound(self, state, w, b, lent):
        """The bound over the models of a node, at a point; 0 where convexity is not proved."""
        program, (key, theta, shares, eta, middle) = self.program, lent
        n, m, own = program.n, program.m, self.own
        above, below, kept = state[m : m + n], state[m + n : m + 2 * n], state[:m]
        known = list(zip(self.cuts, state[m + 2 * n :]))
        low = max([self.outer[0], *(cut for cut, s in known if s > 0)])
        high = min([self.outer[1], *(cut for cut, s in known if s < 0)])
        taken = sum(s > 0 and f for s, f in zip(kept, program.free))
        room = kept.count(0) if program.k is None else min(kept.count(0), program.k - taken)
        if room < 0 or low > high or any(a > 0 and s > 0 for a, s in zip(above, below)):
            return INF
        sound = all(0 <= x < 1 for x in theta) and all(x <= 63 / 64 for x in shares) and eta >= 0
        need(program.intercept or b == 0, "a point has an intercept that the problem has not")
        live = [j for j, s in enumerate(kept) if s > 0 or (s == 0 and room > 0)]
        lends = [Q(x) * r for x, r in zip(shares, own)]
        span = sorted({*live, *(j for j in w if w[j])})
        if not sound or not self.convex(state, theta, span, lends, eta, key):
            return 0
        values, t, fits = [], [], program.predictions(w, Q(0))
        for z, y, o, a, s, x in zip(fits, program.y, program.o, above, below, theta):
            value, slope = self.row(z + b - y, a, s, granted(x))
            values.append(value - slope * (z - o))
            t.append(slope)
        T, grid = exact_fractions(t)
        weighted, over = list(map(mul, program.S, T)), Q(1, grid) / program.M
        total = program.mean(values) - self.ball
        total -= sum((lends[j] * x * x for j, x in w.items()), Q(0)) / 2
        gains = []
        for j in live:
            score = sum(map(mul, program.columns[j], weighted)) * program.units[j] * over
            score += lends[j] * w.get(j, 0)
            score = Q(0) if program.positive[j] and score > 0 else score
            gain = score * score / (2 * (own[j] - lends[j])) - program.price[j]
            if kept[j] > 0:
                total -= gain
            else:
                gains.append(max(gain, 0))
        total -= sum(sorted(gains, reverse=True)[:room])
        if program.intercept:
            slope = sum(weighted) * over + eta * (b - middle)
            far = max(abs(low - middle), abs(high - middle))
            total += min(slope * (low - b), slope * (high - b))
            total -= eta * (far * far - (b - middle) ** 2) / 2
        return total

    def row(self, r, above, below, kappa):
        """v and t with v + t (s - r) - kappa (s - r)^2/2 below the row's loss at s, for all s."""
        loss, c, size = self.program.loss, self.program.loss.c, abs(r)
        if loss.name != "truncated":
            return below_smooth(loss, r, kappa)
        top = -c if below > 0 else c if above < 0 else INF
        bottom = c if above > 0 else -c if below < 0 else -INF
        outside = r - (top if r > top else bottom if r < bottom else r)
        if above > 0 or below > 0:
            value, slope = c * c / 2, Q(0)
        elif above < 0 and below < 0:
            value, slope = r * r / 2, r
        else:  # psi, with theta = kappa/(1 + kappa) rounded down to the square of a short number
            small = Q(math.isqrt(int(kappa / (1 + kappa) * (1 << 120))), 1 << 60)
            bent = max(size - c * small, 0) / (1 - small * small)
            flat = size * small >= c
            value = c * c / 2 if flat else (r * r - (1 - small * small) * bent * bent) / 2
            slope = Q(0) if flat else (size - bent) * (1 if r > 0 else -1)
        # A line through the end of what is known: it is below 0 for the node's residuals.
        return value + self.STEEP * outside**2, slope + self.STEEP * outside

    def convex(self, state, theta, span, lends, eta, key):
        """Whether the loss of a node and what is lent to it are proved convex."""
        program, (n, m) = self.program, (self.program.n, self.program.m)
        rows = state[m : m + 2 * n]
        if key in self.known:
            before, wider = self.known[key]
            if wider.issuperset(span) and all(a in (0, b) for a, b in zip(before, rows)):
                return True
        least = [-granted(x) for x in theta]
        if program.loss.name == "truncated":
            for i, (a, s) in enumerate(zip(rows[:n], rows[n:])):
                least[i] = Q(0) if a > 0 or s > 0 else Q(1) if a < 0 and s < 0 else least[i]
        W = [s * int(x * (1 << 90)) for s, x in zip(program.S, least)]
        columns, units = ([part[j] for j in span] for part in (program.columns, program.units))
        d = [-lends[j] for j in span]
        if program.intercept:
            columns, units, d = [*columns, [1] * n], [*units, Q(1)], [*d, -eta]
        matrix, _ = Quadratic(columns, units, W, program.M << 90).less(range(len(d)), d)
        if factor(matrix) is None:
            return False
        self.known[key] = rows, set(span)
        return True
