"""Non-convex losses: boxes that hold the predictions of every model worth considering."""

from exact_numbers import INF, Q, root, short
from loss_functions import CONVEX
from programs import Gains, multiplier

STEPS = [Q(x) for x in ("1.02", "1.1", "1.25", "1.5", "2", "3", "5", "10", "30", "100")]


def boxed(program, level, duals):
    """The program on the last of its boxes; `range` are the intercepts of models up to `level`."""
    if program.loss.name in CONVEX:
        return program
    m, price = program.m, program.price
    opened = [j for j in range(m) if program.free[j]]
    ridge = program.ridge or [Q(1)] * m
    budget = program.ball or 2 * max(level - program.least, 0)
    most = most_features(program, level, program.least, [-price[j] for j in opened])
    found = copied(program)
    finish(found, rows_of(program, [Q(0)] * m, ridge, opened, most, budget), level)
    for t in duals:
        point = found.point(t)
        added = Q(0)
        if program.ball is not None:
            eta = multiplier(program, point, program.state)
            ridge, added = [eta] * m, eta * program.ball / 2
        gains = [q / (2 * r) - c for q, r, c in zip(point.squares, ridge, price)]
        gains = program.gathered(gains)
        base = -point.conjugate - added - sum(gains[j] for j in range(m) if program.always[j])
        opened = [j for j in range(m) if program.free[j]]
        most = most_features(program, level, base, [gains[j] for j in opened])
        if found.ceiling >= level:
            forced = Gains(found, point, program.state)
            opened = [j for j in opened if forced.forced(j, True) <= level]
        best = sorted((max(gains[j], 0) for j in opened), reverse=True)[:most]
        budget = 2 * max(level - base + sum(best), 0)
        center = [-score / r for score, r in zip(point.scores, ridge)]
        center = [max(c, 0) if s else c for c, s in zip(center, program.positive)]
        cut = rows_of(program, center, ridge, opened, most, budget)
        finish(found, [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(cut, found.rows)], level)
    return found


def copied(program):
    found = program.part(range(program.m))
    found.ceiling, found.range = INF, (-INF, INF)
    return found


def most_features(program, level, base, gains):
    """How many features a model up to the level may have: with the best of them it is above."""
    if program.k is not None:
        return min(program.k, len(gains))
    most, total = 0, base
    for count, gain in enumerate(sorted(gains, reverse=True), 1):
        total -= gain
        most = count if total <= level else most
    return most


def rows_of(program, center, ridge, opened, most, budget):
    """Where x_i.w lies: sums over what is always in, and over the largest of the others."""
    bits, fixed = 160, [j for j in program.heads if program.always[j]]
    ways = [(u * c).as_integer_ratio() for u, c in zip(program.units, center)]
    sizes = [(u * u / r).as_integer_ratio() for u, r in zip(program.units, ridge)]
    found = []
    for i in range(program.n):
        sums = []
        for sign, power, over in ((1, 1, ways), (-1, 1, ways), (1, 2, sizes)):
            terms = dict.fromkeys((*opened, *fixed), 0)
            for j, head in enumerate(program.leader):
                if head in terms:
                    a, b = over[j]
                    terms[head] -= (-sign * program.columns[j][i] ** power * a << bits) // b
            some = sorted((max(terms[j], 0) for j in opened), reverse=True)[:most]
            sums.append(Q(sum(some) + sum(terms[j] for j in fixed), 1 << bits))
        swing = root(sums[2] * budget)
        found.append((-sums[1] - swing, sums[0] + swing))
    return found


def finish(program, rows, level):
    """The box: rows where predictions lie without the intercept, then its range, then both."""
    program.rows = [(short(min(a, b), False), short(max(a, b), True)) for a, b in rows]
    program.ceiling = min(program.ceiling, level)
    low, high = Q(0), Q(0)
    if program.intercept:
        low, high, tail = intercepts(program, level)
        program.ceiling = min(program.ceiling, tail)
        low, high = max(low, program.range[0]), min(high, program.range[1])
        high = max(low, high)
    low, high = short(Q(low), False), short(Q(high), True)
    program.range = low, high
    program.box = [(a + low + o, b + high + o) for (a, b), o in zip(program.rows, program.o)]


def intercepts(program, level):
    """A range of the intercept, and a lower bound of the models beyond it."""
    loss, ends, tail = program.loss, [INF, INF], INF
    data = list(zip(program.y, program.o, program.rows, program.S))
    excess, height = max(level - program.least, 0), loss.height()
    steps = [excess * step for step in STEPS]
    if height < INF:
        steps += [height - (height - excess) / 2**j for j in range(1, 20)]
    for v in steps:
        if v <= excess:
            continue
        reaches, radius = ([], []), loss.radius(v) if v < height else INF
        for y, o, (low, high), s in data:
            below, above = loss.sublevel(y, radius)
            reaches[0].append((high + o - below, s))
            reaches[1].append((above - o - low, s))
        for i, reach in enumerate(reaches):
            share = 0
            for far, s in sorted(reach, reverse=True):
                share += s
                if share * v >= program.M * (v - excess):  # this share of the rows is below v
                    ends[i] = min(ends[i], far)
                    break
    still = [(loss.still(y), o, rows) for y, o, rows, _ in data]
    ends[0] = min(ends[0], max(high + o - below for (below, _), o, (_, high) in still))
    ends[1] = min(ends[1], max(above - o - low for (_, above), o, (low, _) in still))
    for i, side in enumerate((-1, 1)):
        if ends[i] == INF:
            near = [rows[i == 0] + o for _, o, rows, _ in data]
            ends[i] = 40 + max(-side * x for x in near)
            far = (loss.beyond(y, side * ends[i] + x, side) for y, x in zip(program.y, near))
            tail = min(tail, program.mean(far))
    return min(-ends[0], ends[1]), max(-ends[0], ends[1]), tail
