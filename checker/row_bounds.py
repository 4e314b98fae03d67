"""Robust losses: the bound over the models of a node, whose residuals are in spans."""

from operator import mul

from exact_numbers import INF, Q, need, short
from quadratics import Quadratic, factor
from row_lending import Lending
from row_losses import FINE, Rows, granted


class Lent:
    """What makes the loss of a node convex: curvature of rows in doubt, and what pays for it."""

    def __init__(self, theta, shares, eta, middle, sparse):
        self.sound = all(0 <= x < 1 for x in theta) and eta >= 0 and max(shares) <= 63 / 64
        self.kappa = [granted(x) for x in theta] if self.sound else None
        self.shares, self.eta, self.middle = [Q(x) for x in shares], Q(eta), Q(middle)
        self.sparse = bool(sparse)  # whether open features lend by supports
        self.proved = None  # curvatures of rows and the features for which that is convex
        self.curvature, self.lending = None, {}  # by supports: of all rows, and at nodes


class Node:
    """What is known of the models of a node: features, spans of residuals, a range of b."""

    def __init__(self, program, features, spans, low, high):
        self.features, self.spans, self.low, self.high = features, spans, low, high
        taken = sum(s > 0 and f for s, f in zip(features, program.free))
        left = features.count(0)
        self.room = left if program.k is None else min(left, program.k - taken)
        self.empty = self.room < 0 or low > high or any(a > b for a, b in spans)
        self.live = [j for j, s in enumerate(features) if s > 0 or (s == 0 and self.room > 0)]


class RowBounds:
    """Bounds for the nodes of a program; eta is the multiplier of a ball."""

    def __init__(self, program, eta):
        self.program, self.rows = program, Rows(program)
        self.own = [eta] * program.m if program.ridge is None else program.ridge
        self.ball = eta * program.ball / 2 if program.ball is not None else Q(0)

    def node(self, state, cuts, outer):
        """The node where switches of features, rows and cuts are as a state says."""
        n, m, c = self.program.n, self.program.m, self.rows.c
        spans = [
            (c if a > 0 else -c if b < 0 else -INF, -c if b > 0 else c if a < 0 else INF)
            for a, b in zip(state[m : m + n], state[m + n : m + 2 * n])
        ]
        known = list(zip(cuts, state[m + 2 * n :]))
        low = max([outer[0], *(cut for cut, s in known if s > 0)])
        high = min([outer[1], *(cut for cut, s in known if s < 0)])
        return Node(self.program, state[:m], spans, low, high)

    def bound(self, node, w, b, lent, row=None, tilt=0, leaf=None):
        """The bound over the models of a node, at a point, or over those of a leaf below it.

        It is one of objective - tilt (x_row.w + b), or of objective - tilt b where row is n; -INF
        where it proves nothing.
        """
        program, rows, leaf = self.program, self.rows, leaf or node
        need(program.intercept or b == 0, "a point has an intercept that the problem has not")
        if leaf.empty:
            return INF
        if not lent.sound:
            return -INF
        w, b, fits, residuals = rows.point(w, b)
        paid = (self.by_supports if lent.sparse else self.by_shares)(node, w, lent)
        if paid is None:
            return -INF
        lends, pulls, square = paid
        below = rows.below(residuals, node.spans, rows.least(node.spans, lent.kappa))
        if below is None:
            return -INF
        slopes, values = below
        weighted, one = list(map(mul, program.S, slopes)), 1 << rows.bits
        total = sum(map(mul, program.S, values)) - 2 * FINE * sum(map(mul, weighted, fits))
        total = Q(total, 2 * FINE * one * one * program.M) - self.ball - square / 2
        gains, over = [], Q(1, one * program.M)
        for j in leaf.live:
            column, unit = program.columns[j], program.units[j]
            score = sum(map(mul, column, weighted)) * unit * over + pulls.get(j, 0)
            if tilt and row < program.n:
                score -= tilt * column[row] * unit
            score = Q(0) if program.positive[j] and score > 0 else score
            gain = short(score * score / (2 * (self.own[j] - lends[j])), True) - program.price[j]
            if leaf.features[j] > 0:
                total -= gain
            else:
                gains.append(max(gain, 0))
        total -= sum(sorted(gains, reverse=True)[: leaf.room])
        if program.intercept:
            eta, middle = lent.eta, lent.middle
            slope = sum(weighted) * over + eta * (b - middle) - tilt
            far = max(abs(node.low - middle), abs(node.high - middle))
            total += min(slope * (node.low - b), slope * (node.high - b)) - tilt * b
            total -= eta * (far * far - (b - middle) ** 2) / 2
        return total

    def by_shares(self, node, w, lent):
        """What features lend, by a diagonal L: it, L w and w.L w; None if that is not enough."""
        lends = [x * r for x, r in zip(lent.shares, self.own)]
        if not self.convex(node, w, lent, lends):
            return None
        pulls = {j: lends[j] * x for j, x in w.items()}
        return lends, pulls, sum((pulls[j] * x for j, x in w.items()), Q(0))

    def by_supports(self, node, w, lent):
        """The same where open features lend the matrix K: then it is what they pay for it."""
        program, rows, key = self.program, self.rows, tuple(node.features)
        inside = {j: lent.shares[j] * self.own[j] for j, s in enumerate(key) if s > 0}
        if lent.curvature is None:
            columns, units = [*program.columns, [1] * program.n], [*program.units, Q(1)]
            W = [-s * x for s, x in zip(program.S, lent.kappa)]
            lent.curvature = Quadratic(columns, units, W, program.M * FINE)
        if key not in lent.lending:
            given = inside | ({program.m: lent.eta} if program.intercept else {})
            opened = [j for j in node.live if j not in inside]
            lent.lending[key] = Lending(lent.curvature, self.own, given, opened, node.room)
        lending = lent.lending[key]
        if lending.paid is None:
            return None
        _, _, fits, _ = rows.point({j: x for j, x in w.items() if j not in inside}, Q(0))
        found, square = lending.pull(fits)
        over = lending.over << rows.bits
        pulls = {j: Q(x, over) * program.units[j] for j, x in found.items()}
        pulls |= {j: inside[j] * w.get(j, 0) for j in inside}
        square = Q(square, over << rows.bits)
        square += sum((pulls[j] * x for j, x in w.items() if j in inside), Q(0))
        return inside | lending.paid, pulls, square

    def convex(self, node, w, lent, lends):
        """Whether the loss of a node and what is lent to it are proved convex.

        Along the features of its models and of w. A proof serves where no curvature is smaller.
        """
        program, features = self.program, {*node.live, *(j for j in w if w[j])}
        least = self.rows.least(node.spans, lent.kappa)
        if lent.proved is not None:
            before, wider = lent.proved
            if features <= wider and all(a <= b for a, b in zip(before, least)):
                return True
        some = sorted(features)
        columns, units = ([part[j] for j in some] for part in (program.columns, program.units))
        d = [-lends[j] for j in some]
        if program.intercept:
            columns, units, d = [*columns, [1] * program.n], [*units, Q(1)], [*d, -lent.eta]
        W = list(map(mul, program.S, least))
        matrix, _ = Quadratic(columns, units, W, program.M * FINE).less(range(len(d)), d)
        if factor(matrix) is None:
            return False
        lent.proved = least, features
        return True
