"""Quadratic losses: matrices proved positive semidefinite, and the bounds that follow."""

import math
from itertools import accumulate
from operator import mul

from exact_numbers import BITS, INF, SPARE, Q, exact, exact_fractions, need, root, slices, unpacked
from loss_functions import Loss
from programs import Gains, Point


def factor(A):
    """L with A - L L^T positive semidefinite, for a lower triangle in units of 4^-BITS; or None.

    Remainders of the divisions are below max L, and what rounding of A adds is below 2: SPARE,
    taken off the diagonal, outweighs a row of them.
    """
    L = []
    for row in A:
        found = []
        for j in range(len(row) - 1):
            found.append((row[j] - sum(map(mul, found, L[j]))) // L[j][j])
        left = row[-1] - SPARE - sum(x * x for x in found)
        if left <= 0:
            return None
        L.append([*found, math.isqrt(left)])
    return L if len(L) * (max((row[-1] for row in L), default=0) + 2) <= SPARE else None


class Quadratic:
    """w.Q w/2 - c.w + kappa: the least over b of sum_i W_i (x_i.w + b - target_i)^2/(2 over)."""

    def __init__(self, columns, units, W, over, target=(), intercept=False):
        self.columns, self.units, self.known = columns, units, {}
        self.weighted = [list(map(mul, W, column)) for column in columns]
        whole = sum(W) if intercept else 0
        self.sums = [sum(column) if whole else 0 for column in self.weighted]
        self.share, self.over = (whole or 1), (whole or 1) * over
        below = math.lcm(*(value.denominator for value in target)) * (whole or 1)
        Y = [int(value * below) for value in target]
        mean = sum(map(mul, W, Y)) // whole if whole else 0
        rest = [value - mean for value in Y]
        self.kappa = Q(sum(w * r * r for w, r in zip(W, rest)), 2 * over * below**2)
        self.c = [
            sum(map(mul, one, rest)) * unit / (over * below)
            for one, unit in zip(self.weighted, units)
        ]

    def gram(self, i, j):
        """Q_ij over the units of both columns, times `over`."""
        if (i, j) not in self.known:
            inner = sum(map(mul, self.weighted[i], self.columns[j]))
            self.known[i, j] = self.share * inner - self.sums[i] * self.sums[j]
        return self.known[i, j]

    def sizes(self, live, d):
        """What the diagonals of Q and d add up to, and powers of 2 that scale it to about 1."""
        sizes = [
            float(self.gram(j, j) * self.units[j] ** 2 / self.over + abs(x))
            for j, x in zip(live, d)
        ]
        return sizes, [Q(2) ** -round(math.log2(max(size, 0.0) or 1.0) / 2) for size in sizes]

    def less(self, live, d, R=None, spare=0):
        """The lower triangle of Q - diag(d) - R^T R/rows - spare, scaled, rounded; the scales."""
        scales = self.sizes(live, d)[1]
        ways = [(self.units[j] * scale).as_integer_ratio() for j, scale in zip(live, scales)]
        if R is not None:
            others = [(unit * scale).as_integer_ratio() for unit, scale in zip(R.units, scales)]
        rows = []
        for i, (a, b) in enumerate(ways):
            row = [
                (self.gram(live[i], live[j]) * a * x << 2 * BITS) // (b * y * self.over)
                for j, (x, y) in enumerate(ways[: i + 1])
            ]
            if R is not None:
                (a, b), one = others[i], R.columns[i]
                for j, (x, y) in enumerate(others[: i + 1]):
                    inner = sum(map(mul, R.columns[j], one))
                    row[j] -= (inner * a * x << 2 * BITS) // (b * y * R.n)
            row[i] -= math.ceil((d[i] * scales[i] ** 2 + spare) * 4**BITS) + 2
            rows.append(row)
        return rows, scales

    def room(self, n, d):
        """What a minorant leaves for its linear part, in scaled units: any number would do."""
        trace = total = 0.0
        for j, (size, scale) in enumerate(zip(*self.sizes(range(len(d)), d))):
            power = sum(map(mul, self.weighted[j], self.columns[j])) * self.share
            trace += float(power * (self.units[j] * scale) ** 2 / self.over)
            total += float(scale) ** 2 * size
        return Q(2.0**-53 * (4 * (n + 32) * trace + 8 * (len(d) + 32) * (total + trace)))


def squared_parts(program):
    """The squared loss as such a function."""
    target = [y - o for y, o in zip(program.y, program.o)]
    S, M = program.S, program.M
    return Quadratic(program.columns, program.units, S, M, target, program.intercept)


def shifted_bound(program, quadratic, state, w, shift):
    """The bound of a leaf with curvature moved into its ridge; None where there is none."""
    if program.loss.name != "squared" or program.ball is not None:
        return None
    live = [j for j, s in enumerate(state) if s >= 0]
    d = [shift.get(j, Q(0)) if state[j] == 0 else Q(-9, 10) * program.ridge[j] for j in live]
    if factor(quadratic.less(live, d)[0]) is None:
        return None
    # The tangent plane is that at w: nothing of the slopes is rounded.
    T, over = exact_fractions(program.slopes_at(w, Q(0)))
    point = Point(program, T, Q(1, over))
    point.squares = [Q(0)] * program.m
    ridge = list(program.ridge)
    for j, x in zip(live, d):
        pull = point.scores[j] - x * w.get(j, 0)
        point.squares[j] = Q(0) if program.positive[j] and pull > 0 else pull**2
        ridge[j] += x
    moved = sum((x * w.get(j, 0) ** 2 / 2 for j, x in zip(live, d)), Q(0))
    point.conjugate -= moved
    return Gains(program.part(range(program.m), ridge=ridge), point, state).bound()


def tried_bound(program, quadratic, state):
    """The least value on all supports of a leaf, each tried; None where that is not possible."""
    signed = any(program.positive)
    if program.loss.name != "squared" or program.ridge is None or program.k is None or signed:
        return None
    inside = [j for j, s in enumerate(state) if s > 0]
    groups = {}
    for j, s in enumerate(state):
        if s == 0:
            groups.setdefault(program.leader[j], []).append(j)
    size = min(program.k - sum(program.free[j] for j in inside), len(groups))
    if size < 0:
        return INF
    need(size <= 3, "a leaf has too many supports to try them all")
    live = inside + [j for group in groups.values() for j in group]
    rows, scales = quadratic.less(live, [-program.ridge[j] for j in live])
    A = [[rows[max(i, j)][min(i, j)] for j in range(len(live))] for i in range(len(live))]
    pull = [quadratic.c[j] * scale for j, scale in zip(live, scales)]
    most = max(map(abs, pull), default=Q(0)) or Q(1)
    unit = Q(2) ** (most.numerator.bit_length() - most.denominator.bit_length())
    pull, gain = [math.floor(x / unit * 4**BITS) for x in pull], 0
    for i in range(len(A)):
        A[i][i] -= SPARE
    for _ in inside:
        step = eliminated(A, pull)
        if step is None:
            return None
        A, pull, gain = step[0], step[1], gain + step[2]
    ends = accumulate(map(len, groups.values()))
    places = [range(end - len(group), end) for end, group in zip(ends, groups.values())]
    best = best_choice(A, pull, size, places)
    # Rounding of the linear part, at most 1 in each of so many steps, costs less than `lost`.
    lost = Q((len(live) + 4) ** 3, 1 << BITS)
    return (
        None if best is None else quadratic.kappa - (Q(gain + best, 4**BITS) + lost) * unit**2 / 2
    )


def eliminated(A, pull):
    """A and what pulls after the first feature is taken, and its gain; None without a pivot."""
    pivot, first = A[0][0], A[0]
    if pivot <= 0:
        return None
    rest = [
        [x - first[i] * first[j] // pivot for j, x in enumerate(row) if j]
        for i, row in enumerate(A)
        if i
    ]
    for i, row in enumerate(rest):
        row[i] -= SPARE
    left = [x - first[j] * pull[0] // pivot for j, x in enumerate(pull) if j]
    return rest, left, pull[0] ** 2 // pivot + 1


def gain_of(A, pull, *groups):
    """The gain of each of some groups after those before it; what they leave of the last block.

    The gain is rounded up; None without a pivot.
    """
    order = [i for group in groups for i in group]
    A, pull = [[A[i][j] for j in order] for i in order], [pull[i] for i in order]
    gains, last = [], A
    for group in groups:
        gains.append(0)
        last = A
        for _ in group:
            step = eliminated(A, pull)
            if step is None:
                return None
            A, pull = step[:2]
            gains[-1] += step[2]
    return gains, last


def coherence(A, group, left):
    """Nearly the least c with left >= (1 - c^2) A on a group; 1: none is proved."""
    for part in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 60, 62, 63):
        rows = [
            [64 * left[x][y] - (64 - part) * A[i][j] for y, j in enumerate(group[: x + 1])]
            for x, i in enumerate(group)
        ]
        if factor(rows) is not None:
            return math.sqrt(part / 64) * (1 + 1e-12)
    return 1.0


def best_choice(A, pull, size, groups):
    """The largest gain of so many groups (up to 3), rounded up; None without a pivot."""
    if size == 0 or not groups:
        return 0
    alone = [gain_of(A, pull, group) for group in groups]
    if any(one is None for one in alone):
        return None
    order = sorted(range(len(groups)), key=lambda g: -alone[g][0][0])
    groups, single = [groups[g] for g in order], [alone[g][0][0] for g in order]
    if size == 1:
        return single[0]
    after, norm, best = [], [], 0
    for g, group in enumerate(groups):
        after.append([0] * len(groups))
        norm.append([row[g] for row in norm] + [0.0] * (len(groups) - g))
        for h in range(g + 1, len(groups)):
            if size == 2 and len(group) == len(groups[h]) == 1:
                best = more_of_two(A, pull, group[0], groups[h][0], best)
                if best is None:
                    return None
                continue
            found = gain_of(A, pull, group, groups[h])
            if found is None:
                return None
            after[g][h], best = found[0][1], max(best, sum(found[0]))
            if size == 3:
                norm[g][h] = coherence(A, groups[h], found[1])
    return best if size == 2 else best_triple(A, pull, groups, single, after, norm)


def more_of_two(A, pull, i, j, best):
    """The gain of two single features, rounded up, if it is above the best; None without pivots."""
    a, b, c, x, y = A[i][i], A[j][j], A[i][j], pull[i], pull[j]
    above, below = x * (x * b - 2 * y * c) + y * y * a, a * b - c * c
    if below <= 0:
        return None
    return above // below + 1 if above > best * below else best


def best_triple(A, pull, groups, single, after, norm):
    """The same for three groups: only those are tried that may have more, by a bound.

    h and j after g add at most (after_h + after_j)/(1 - e), where e is
    (c_hj + c_gh c_gj)/root((1 - c_gh^2) (1 - c_gj^2)). Floats, with room to spare.
    """
    count, unit = len(groups), 4**BITS
    norm = [[max(a, b) for a, b in zip(row, column)] for row, column in zip(norm, zip(*norm))]
    pairs = ((single[g] + after[g][h], g, h) for g in range(count) for h in range(g + 1, count))
    pair, best = max(pairs)[1:], 0
    for i in set(range(count)) - set(pair):
        found = gain_of(A, pull, *(groups[j] for j in sorted((*pair, i))))
        if found is None:
            return None
        best = max(best, sum(found[0]))
    for g in range(count - 2):
        add = [x / unit * (1 + 1e-9) for x in after[g]]
        root = [(1 + 1e-9) / math.sqrt(1 - c * c) if c < 1 else math.inf for c in norm[g]]
        for h in range(g + 1, count - 1):
            near, own, row = norm[g][h] * root[h], root[h], norm[h]
            for j in range(h + 1, count):
                left = 1 - 1e-9 - (row[j] * own + near * norm[g][j]) * root[j]
                if left > 0 and single[g] / unit + (add[h] + add[j]) / left < best / unit:
                    continue
                found = gain_of(A, pull, groups[g], groups[h], groups[j])
                if found is None:
                    return None
                best = max(best, sum(found[0]))
    return best


def minorant_of(program, record, removal):
    """The smaller program, what is to be added to its values, and up to which level it counts."""
    m = program.m
    half = unpacked(record, "factor", "<f8", m * (m + 1) // 2)
    target = [Q(x) for x in unpacked(record, "target", "<f8", m)]
    ridge = [Q(x) for x in unpacked(record, "ridge", "<f8", m)]
    eta = Q(unpacked(record, "eta", "<f8", 1)[0])
    need(all(x > 0 for x in ridge) and eta >= 0, "the ridge of a minorant must be above 0")
    upper = list(slices(half, range(m, 0, -1)))  # row i holds its columns i, i + 1, ...
    columns = [exact([upper[i][j - i] for i in range(j + 1)]) for j in range(m)]
    small = program.part(
        range(m),
        loss=Loss("squared", {}),
        columns=[column for column, _ in columns],
        units=[Q(1, over) for _, over in columns],
        y=target,
        S=[1] * m,
        o=[Q(0)] * m,
        intercept=False,
        ridge=ridge,
        ball=None,
    )
    level, lost, own = INF, Q(0), [eta] * m if program.ridge is None else program.ridge
    if "region" in record:
        level, quadratic, lost = region_of(program, record["region"], removal)
    else:
        need(program.loss.name == "squared", "a minorant of this loss needs a region")
        quadratic = squared_parts(program)
    d = [x - y for x, y in zip(ridge, own)]
    spare = quadratic.room(program.n, d)
    rows, scales = quadratic.less(range(m), d, small, spare)
    need(factor(rows) is not None, "the minorant is not proved to lie below the problem")
    inner = [
        sum((x * y for x, y in zip(column, target)), Q(0)) * unit / m
        for column, unit in zip(small.columns, small.units)
    ]
    missed = sum(((c - x) * scale) ** 2 for c, x, scale in zip(quadratic.c, inner, scales))
    base = quadratic.kappa - sum(y * y for y in target) / (2 * m) - missed / (2 * spare) - lost
    return small, base - (eta * program.ball / 2 if program.ball is not None else 0), level


def region_of(program, record, removal):
    """The level up to which models are near a center, a quadratic below the loss, its error."""
    loss, n, m, S, M = program.loss, program.n, program.m, program.S, program.M
    known = loss.name in ("logistic", "poisson") and program.ball is None
    need(known, "a region is known for the logistic and the Poisson loss with a ridge")
    level, b = (Q(unpacked(record, name, "<f8", 1)[0]) for name in ("level", "intercept"))
    center, share = (
        [Q(x) for x in unpacked(record, name, "<f8", m)] for name in ("center", "share")
    )
    bend, over = exact(unpacked(record, "bend", "<f8", n))
    fits = all(0 <= s <= 0.99 for s in share) and min(bend) >= 0 and (program.intercept or b == 0)
    need(fits, "the shares, curvatures or the intercept of a region are out of range")
    point = program.point(removal)
    total, gains = level + point.conjugate, []
    for j, (g, r, w, s) in enumerate(zip(point.scores, program.ridge, center, share)):
        v = max(-g / r, 0) if program.positive[j] else -g / r
        into = point.squares[j] / (2 * r) - program.price[j] + r * s / (1 - s) * (v - w) ** 2 / 2
        out = r * s * w * w / 2
        total += into if program.always[j] else out
        gains.append(into - out)
    gains = program.gathered(gains)
    chosen = [max(gains[j], 0) for j in range(m) if program.free[j]]
    total += sum(sorted(chosen, reverse=True)[: m if program.k is None else program.k])
    total = max(total, (abs(level) + abs(point.conjugate)) / (1 << 60), Q(1, 10**290))
    W = list(map(mul, S, bend))
    z = program.predictions(dict(enumerate(center)), b)
    fits, parts = [at - o for at, o in zip(z, program.o)], (program.columns, program.units)
    quadratic = Quadratic(*parts, W, M * over, fits, program.intercept)
    spare = Q(1, 1 << 60)
    rows, scales = quadratic.less(
        range(m), [-s * r for s, r in zip(share, program.ridge)], None, spare
    )
    L = factor(rows)
    need(L is not None and (sum(W) > 0 or not program.intercept), "a region is not bounded")
    reach = leverages(program, quadratic, L, scales, sum(W) if program.intercept else 0, M * over)
    slopes = [[loss.slope(y, at, side) for side in (0, 1)] for y, at in zip(program.y, z)]
    off = [max(abs(t - a), abs(t - b)) for t, (a, b) in zip(point.t, slopes)]
    first = program.mean(map(mul, off, reach)) * root(2 * total)
    larger = total * (1 + Q(1, 1 << 30)) + 2 * first
    need(larger <= 4 * total, "the dual vector of a region is too far from its center")
    scale = root(2 * larger)
    rho = [Q(math.ceil(x * scale * (1 << 160)), 1 << 160) for x in reach]
    for y, at, x, own, c in zip(program.y, z, rho, slopes, bend):
        enough = Q(c, over) <= loss.curvature(y, at)
        for way in (-x, x):
            rise = loss.value(y, at + way, 0) - loss.value(y, at) - max(s * way for s in own)
            enough = enough and rise >= Q(c, over) * x * x / 2
        need(enough, "the loss has less curvature than its region says")
    quadratic.kappa -= point.conjugate
    quadratic.c = [c - score for c, score in zip(quadratic.c, point.scores)]
    return level, quadratic, program.mean(map(mul, off, rho))


def leverages(program, quadratic, L, scales, whole, over):
    """Roots of the rows' leverages, rounded up: |v| and the length of what x - L v leaves."""
    found, ways = [], [unit * scale for unit, scale in zip(program.units, scales)]
    means = [Q(x, whole) if whole else Q(0) for x in quadratic.sums]
    # Remainders are at most max L and a rounding, and 2^-60 is to spare on the diagonal.
    left = root(Q(len(L) * (max(row[-1] for row in L) + 1) ** 2 << 60, 16**BITS))
    for i in range(program.n):
        v = []
        for column, mean, way, row in zip(program.columns, means, ways, L):
            x = math.floor((column[i] - mean) * way * 4**BITS)
            v.append((x - sum(map(mul, row, v))) // row[-1])
        size = root(Q(sum(x * x for x in v), 4**BITS)) + left
        found.append(root(size * size + Q(over, whole)) if whole else size)
    return found
