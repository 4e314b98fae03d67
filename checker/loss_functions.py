"""The losses: values, conjugates and slopes, each rounded to the side that is asked for."""

import math
from itertools import pairwise

from exact_numbers import INF, Q, enclosed, entropy, need, number, root, share, short

CONVEX = ("squared", "huber", "squared_hinge", "logistic", "poisson")
RESIDUAL = ("truncated", "tukey", "geman_mcclure", "welsch", "cauchy")
MARGIN = ("ramp", "sigmoid")
LOSSES = (*CONVEX, *RESIDUAL, *MARGIN, "amplitude", "quartic")
TURNS = {"truncated": 1, "tukey": 5, "geman_mcclure": 3, "welsch": 2, "cauchy": 1}


class Loss:
    def __init__(self, name, parameters):
        need(name in LOSSES, f"this checker does not know the loss {name!r}")
        own = "delta" if name == "huber" else "c" if name in RESIDUAL else None
        need(list(parameters) == [own] * (own is not None), f"parameters {parameters} of {name}")
        self.name, self.c = name, number(parameters[own]) if own else None
        need(self.c is None or self.c > 0, "the scale of a loss must be above 0")
        self.two_class = name in ("logistic", "squared_hinge", *MARGIN)
        self.of_residual = name in ("squared", "huber", *RESIDUAL)

    def value(self, y, z, side=1):
        """loss(y, z), rounded up (side 1) or down (side 0)."""
        r, c, name = z - y, self.c, self.name
        if name == "squared":
            return r * r / 2
        if name == "huber":
            return r * r / 2 if abs(r) <= c else c * abs(r) - c * c / 2
        if name == "squared_hinge":
            return max(Q(0), 1 - y * z) ** 2 / 2
        if name == "logistic":  # log(1 + exp(u)) = max(u, 0) + log(1 + exp(-|u|))
            u = -y * z
            return max(u, 0) + enclosed("ln", 1 + enclosed("exp", -abs(u))[side])[side]
        if name == "poisson":
            return enclosed("exp", z)[side] - y * z
        if name == "ramp":
            return min(Q(1), max(Q(0), 1 - y * z))
        if name == "sigmoid":
            return share(y * z, side)
        if name == "amplitude":
            return (abs(z) - y) ** 2 / 2
        if name == "quartic":
            return (z * z - y) ** 2 / 4
        q = (r / c) ** 2
        if name == "truncated":
            return min(q, 1) * c * c / 2
        if name == "tukey":
            return c * c / 6 * (1 - (1 - min(q, 1)) ** 3)
        if name == "geman_mcclure":
            return c * c / 2 * q / (1 + q)
        if name == "welsch":
            return c * c / 2 * (1 - enclosed("exp", -q)[1 - side])
        return c * c / 2 * enclosed("ln", 1 + q)[side]  # Cauchy

    def slope(self, y, z, side=1):
        """The derivative at z, in the domain: one of two numbers that it lies between."""
        if self.name == "squared":
            return z - y
        if self.name == "huber":
            return max(-self.c, min(self.c, z - y))
        if self.name == "squared_hinge":
            return -y * max(Q(0), 1 - y * z)
        if self.name == "logistic":
            return -y * share(y * z, side)
        return enclosed("exp", z)[side] - y

    def curvature(self, y, z):
        """The second derivative, rounded down: of the losses that have regions."""
        if self.name == "poisson":
            return enclosed("exp", z)[0]
        e = enclosed("exp", -abs(z))
        return e[0] / (1 + e[1]) ** 2

    def domain(self, y, t):
        """Whether the conjugate is finite at t."""
        if self.name == "huber":
            return abs(t) <= self.c
        if self.name in ("squared_hinge", "logistic"):
            return -y * t >= 0 and (self.name == "squared_hinge" or -y * t <= 1)
        return self.name != "poisson" or t >= -y

    def conjugate(self, y, t):
        if self.name == "logistic":
            return entropy(-y * t, 1) + entropy(1 + y * t, 1)
        return entropy(t + y, 1) - (t + y) if self.name == "poisson" else t * t / 2 + t * y

    def least(self, y):
        if self.name == "poisson":
            return y - entropy(y, 1)
        return min(y, Q(0)) ** 2 / 4 if self.name == "quartic" else Q(0)

    # Non-convex losses.

    def height(self):
        """The least upper bound of the loss less its least value."""
        tops = {"truncated": 2, "tukey": 6, "geman_mcclure": 2, "welsch": 2}
        return (
            1 if self.name in MARGIN else self.c**2 / tops[self.name] if self.name in tops else INF
        )

    def bend(self, y, u, v):
        """An upper bound of the second derivative between u and v."""
        if self.name in RESIDUAL:  # concave beyond c / sqrt(turns)
            near = 0 if (u - y) * (v - y) <= 0 else min(abs(u - y), abs(v - y))
            return 0 if near * near * TURNS[self.name] >= self.c**2 else 1
        if self.name == "sigmoid":  # concave below 0, and not above its value
            least = min(y * u, y * v)
            return min(Q(1, 10), self.value(y, y * least)) if max(y * u, y * v) > 0 else 0
        if self.name == "quartic":
            return max(0, 3 * max(u * u, v * v) - y)
        return 0 if self.name == "ramp" else 1

    def supremum(self, y, t, low, high):
        """An upper bound of t z - loss(y, z) over low <= z <= high.

        On a cell of width h it exceeds its values at the ends by at most bend h^2/8.
        """
        turn = short(root(self.c**2 / TURNS[self.name]), True) if self.name in RESIDUAL else 1
        corners = {y + turn, y - turn} if self.name in RESIDUAL else {-y, Q(0), y}
        points = sorted({low, high, *(z for z in corners if low < z < high)})
        at = {z: t * z - self.value(y, z, 0) for z in points}
        slack = (abs(t) * (abs(low) + abs(high)) + sum(map(abs, at.values()))) / (1 << 52)
        slack = short(slack, True)
        cells, best = list(pairwise(points)), max(at.values())
        while True:
            over = [(max(at[u], at[v]) + self.bend(y, u, v) * (v - u) ** 2 / 8) for u, v in cells]
            cells = [cell for cell, top in zip(cells, over) if top > best + slack]
            if not cells:
                return short(best + slack, True)
            need(len(cells) < 4096, "the supremum of a loss on its box is too hard to find")
            halves = []
            for u, v in cells:
                few = 2 ** max(0, 6 - math.frexp(v - u)[1])  # a middle of few bits
                middle = Q(round((u + v) / 2 * few), few)
                at[middle] = t * middle - self.value(y, middle, 0)
                halves += [(u, middle), (middle, v)]
            cells, best = halves, max(best, *(at[v] for _, v in halves))

    def radius(self, v):
        """How far from y (margins: below 64) the loss is at least v, for all that is further."""
        margin = self.name in MARGIN

        def outward(d):
            return self.value(Q(1), 64 - d, 0) if margin else self.value(Q(0), d, 0)

        far = Q(64) if margin else self.c
        while outward(far) < v:
            far *= 2
        step = far / 2
        for _ in range(50):
            far, step = far - step if outward(far - step) >= v else far, step / 2
        return far

    def sublevel(self, y, far):
        """The z within that distance."""
        if self.name in MARGIN:
            return (64 - far, INF) if y > 0 else (-INF, far - 64)
        return y - far, y + far

    def still(self, y):
        """An interval of z outside of which the loss is constant, on either side."""
        if self.name in ("truncated", "tukey"):
            return y - self.c, y + self.c
        return (min(y, 0), max(y, 0)) if self.name == "ramp" else (-INF, INF)

    def beyond(self, y, z, side):
        """A lower bound of the loss over all predictions above z (side 1) or below it (-1)."""
        if self.name in MARGIN:
            return self.value(y, z, 0) if side * y < 0 else 0
        return self.value(Q(0), max(side * (z - y), Q(0)), 0)
