"""A problem on its data, and what a dual vector proves about it."""

import math
from operator import mul

from exact_numbers import INF, Q, exact, need, root, short


class Point:
    """A dual vector: t_i = T_i unit, balanced for an intercept, with its conjugate and scores."""

    def __init__(self, program, T, unit):
        S, total = program.S, sum(map(mul, program.S, T))
        if program.intercept and total:
            if program.loss.name == "squared" or program.box:
                T, unit = [x * program.M - total for x in T], unit / program.M
            else:  # the domain holds 0 and is convex: one sign is scaled towards it
                gain = sum(s * x for s, x in zip(S, T) if x > 0)
                smaller, larger = sorted((gain, gain - total))
                T = [x * (smaller if (x > 0) == (total > 0) else larger) for x in T]
                unit = unit / larger
        self.t = [x * unit for x in T]
        rows = range(program.n)
        self.conjugate = program.mean(
            program.conjugate(i, self.t[i]) - self.t[i] * program.o[i] for i in rows
        )
        weighted, over = list(map(mul, S, T)), unit / program.M
        self.scores = [
            sum(map(mul, column, weighted)) * (own * over)
            for column, own in zip(program.columns, program.units)
        ]
        self.squares = [
            (0 if program.positive[j] and score > 0 else score) ** 2
            for j, score in enumerate(self.scores)
        ]


class Program:
    """The data of a problem, or of the smaller one below it, as exact numbers."""

    box, ceiling = None, INF  # of a non-convex loss; see `robust_boxes`

    def __init__(
        self, loss, columns, units, y, S, o, intercept, k, price, ridge, ball, marks, leader
    ):
        self.loss, self.columns, self.units, self.y = loss, columns, units, y
        shared = math.gcd(*S)
        self.S, self.o, self.intercept = [s // shared for s in S], o, intercept
        self.M, self.n, self.m = sum(self.S), len(y), len(columns)
        self.k, self.price, self.ridge, self.ball = k, price, ridge, ball
        self.positive, self.always, self.never = marks
        self.leader = leader  # per feature the first one of its group, at which all of it counts
        self.heads = [j for j, head in enumerate(leader) if j == head]
        self.grouped = len(self.heads) < self.m
        self.state = [1 if a else -1 if b else 0 for a, b in zip(self.always, self.never)]
        self.free = free = [j == leader[j] and s == 0 for j, s in enumerate(self.state)]
        self.least = self.mean(loss.least(value) for value in y)
        prices = {price[j] for j in range(self.m) if free[j]}
        self.several = ball is not None and k is None and len(prices) > 1

    def part(self, kept, **other):
        """The same problem on some of its features, with other data where they are named."""

        def cut(values):
            return None if values is None else [values[j] for j in kept]

        parts = {
            name: getattr(self, name) for name in ("loss", "y", "S", "o", "intercept", "k", "ball")
        }
        parts |= {name: cut(getattr(self, name)) for name in ("columns", "units", "price", "ridge")}
        marks = [cut(mark) for mark in (self.positive, self.always, self.never)]
        place = {j: i for i, j in enumerate(kept)}
        leader = [place[self.leader[j]] for j in kept]
        return Program(**(parts | other), marks=marks, leader=leader)

    def gathered(self, values):
        """The sum over each group, at its first feature, and 0 at the others."""
        if not self.grouped:
            return values
        found = [0 * value for value in values]
        for j, value in zip(self.leader, values):
            found[j] += value
        return found

    def decided(self, state, j, side):
        """A state with one more group decided, known by its first feature."""
        need(self.leader[j] == j, "a group is named by a feature that is not its first")
        return [side if head == j else s for head, s in zip(self.leader, state)]

    def mean(self, values):
        """The mean over the rows, by their weights."""
        return sum((s * value for s, value in zip(self.S, values)), Q(0)) / self.M

    def conjugate(self, i, t):
        if self.box:
            return self.loss.supremum(self.y[i], t, *self.box[i])
        return self.loss.conjugate(self.y[i], t)

    def predictions(self, w, b):
        """Xw + b + offset for coefficients {feature: fraction}, exactly."""
        scaled = {j: value * self.units[j] for j, value in w.items() if value}
        over = math.lcm(*(value.denominator for value in scaled.values()))
        total = [0] * self.n
        for j, value in scaled.items():
            times = value.numerator * (over // value.denominator)
            for i, x in enumerate(self.columns[j]):
                total[i] += x * times
        return [Q(x, over) + b + shift for x, shift in zip(total, self.o)]

    def objective(self, w, b):
        """The objective of a model, rounded up; it obeys the constraints or is refused."""
        counted = {self.leader[j] for j in w if w[j] and self.free[self.leader[j]]}
        sizes = sum((w[j] ** 2 * (1 if self.ball else self.ridge[j]) for j in w), Q(0))
        obeys = self.k is None or len(counted) <= self.k
        obeys = obeys and not any(
            (w[j] and self.never[j]) or (w[j] < 0 and self.positive[j]) for j in w
        )
        obeys = obeys and (self.intercept or b == 0) and (self.ball is None or sizes <= self.ball)
        need(obeys, "the stored model does not obey the constraints of the problem")
        z = self.predictions(w, b)
        value = self.mean(self.loss.value(y, at) for y, at in zip(self.y, z))
        return value + sum(self.price[j] for j in counted) + (0 if self.ball else sizes / 2)

    def point(self, t):
        """A stored dual vector."""
        need(len(t) == self.n, "a dual vector does not have one number per row")
        inside = self.box or all(self.loss.domain(y, Q(x)) for y, x in zip(self.y, t))
        need(inside, "a dual vector is outside the domain of the conjugate loss")
        T, over = exact(t)
        return Point(self, T, Q(1, over))

    def slopes_at(self, w, b):
        """F'(Xw + b) per sample."""
        return [self.loss.slope(y, z) for y, z in zip(self.y, self.predictions(w, b))]

    def point_at(self, w, b):
        """The dual vector F'(Xw + b), on a grid of 80 bits, towards 0 and so in the domain."""
        t = self.slopes_at(w, b)
        most = max(map(abs, t))
        grid = Q(2) ** (most.numerator.bit_length() - most.denominator.bit_length() - 80)
        return Point(self, [int(x / grid) for x in t], grid)


class Gains:
    """What a dual vector proves over supports that hold what is in (1), not what is out (-1)."""

    def __init__(self, program, point, state, low=0, high=INF):
        self.program, self.point, self.state = program, point, state
        ridge, self.added = program.ridge, Q(0)
        if program.several:  # several prices and a ball: any multiplier is valid
            eta = multiplier(program, point, state)
            ridge, self.added = [eta] * program.m, eta * program.ball / 2
        self.rooted = ridge is None
        values = point.squares
        if not self.rooted:
            values = [q / (2 * r) - price for q, r, price in zip(values, ridge, program.price)]
        values = program.gathered(values)
        most = max(map(abs, values)) or Q(1)
        self.unit = Q(2) ** (most.numerator.bit_length() - most.denominator.bit_length() - 128)
        self.values = value = [math.ceil(x / self.unit) for x in values]
        self.base = sum(v for v, s in zip(value, state) if s > 0)
        self.count = sum(s > 0 and f for s, f in zip(state, program.free))
        opened = [j for j in program.heads if state[j] == 0]
        self.opened = sorted(opened, key=value.__getitem__, reverse=True)
        limit = min(high, INF if program.k is None else program.k) - self.count
        self.low, self.room = max(0, low - self.count), min(limit, len(opened))
        self.empty = self.low > self.room
        gainful = sum(value[j] > 0 for j in opened)
        self.taken = self.opened[: max(0, min(max(gainful, self.low), self.room))]
        self.total = self.base + sum(value[j] for j in self.taken)

    def proved(self, total):
        """The bound where the features taken gain so much together."""
        gain = total * self.unit + self.added
        return self.floored(root(self.program.ball * total * self.unit) if self.rooted else gain)

    def floored(self, gain):
        """The bound where the best support gains so much: not below the least loss."""
        return max(-self.point.conjugate - gain, self.program.least)

    def bound(self):
        """Over all supports."""
        if self.empty:
            return INF
        if not self.rooted or self.program.k is not None:
            return self.proved(self.total)
        # A ball and one price: supports of every size.
        program, base, best = self.program, self.base, -INF
        price = next((program.price[j] for j in range(program.m) if program.free[j]), Q(0))
        for size in range(self.room + 1):
            if size >= self.low:
                gain = root(program.ball * base * self.unit) - price * (self.count + size)
                best = max(best, gain)
            base += self.values[self.opened[size]] if size < self.room else 0
        return self.floored(best)

    def forced(self, j, inside):
        """Over the supports that hold an open feature, or over those that do not."""
        if self.empty or (inside and self.room == 0):
            return INF
        if self.program.k is None and self.program.ball is not None:
            state = self.program.decided(self.state, j, 1 if inside else -1)
            return Gains(self.program, self.point, state).bound()
        value, taken, full = self.values[j], self.taken, len(self.taken) == self.room
        if inside:
            worst = self.values[taken[-1]] if full else 0
            return self.proved(self.total if j in taken else self.total - worst + value)
        left = self.opened[len(taken) : len(taken) + 1]
        steps_in = max(0, self.values[left[0]]) if left else 0
        return self.proved(self.total - value + steps_in if j in taken else self.total)


def multiplier(program, point, state):
    """The best multiplier of the ball, or a little more: any positive one is valid.

    At q / (2 price) a feature starts to gain, and steeply where it is smaller: these are exact.
    """
    q, price, ball = program.gathered(point.squares), program.price, program.ball
    opened = [j for j in program.heads if state[j] == 0 and q[j]]
    base = sum((x for x, s in zip(q, state) if s > 0), Q(0))
    base += sum(q[j] for j in opened if not price[j])
    eta = root(base / ball) if base else Q(0)
    starts = sorted(((q[j] / (2 * price[j]), q[j]) for j in opened if price[j]), reverse=True)
    for start, x in starts:  # these fall, and the multiplier that the features ask for grows
        base += x
        asked = root(base / ball)
        if asked >= start:
            eta = max(eta, start)
            break
        eta = asked
    return short(eta, up=True) if eta else Q(2) ** -1000
