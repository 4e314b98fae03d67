"""The losses: values, conjugates and slopes, each rounded to the side that is asked for."""

from exact_numbers import INF, Q, enclosed, entropy, need, number, root, share, short

CONVEX = ("squared", "huber", "squared_hinge", "logistic", "poisson")
RESIDUAL = ("truncated", "tukey", "geman_mcclure", "welsch", "cauchy")
MARGIN = ("ramp", "sigmoid")
LOSSES = (*CONVEX, *RESIDUAL, *MARGIN, "amplitude", "quartic")
# With q = (r/c)^2: 1/q where a loss turns concave, and q where its second derivative is least.
TURNS = {"tukey": 5, "geman_mcclure": 3, "welsch": 2, "cauchy": 1}
DIPS = {"tukey": Q(3, 5), "geman_mcclure": Q(1), "welsch": Q(3, 2), "cauchy": Q(3)}
POWERS = {"geman_mcclure": 2, "cauchy": 1}  # loss' = r/(1 + q)^power


class Loss:
    def __init__(self, name, parameters):
        need(name in LOSSES, f"this checker does not know the loss {name!r}")
        own = "delta" if name == "huber" else "c" if name in RESIDUAL else None
        need(list(parameters) == [own] * (own is not None), f"parameters {parameters} of {name}")
        self.name, self.c = name, number(parameters[own]) if own else None
        need(self.c is None or self.c > 0, "the scale of a loss must be above 0")
        self.two_class = name in ("logistic", "squared_hinge", *MARGIN)
        self.of_residual = name in ("squared", "huber", *RESIDUAL)
        self.even = name in ("amplitude", "quartic")

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
        # Welsch and Cauchy; where q is tiny, q - q^2/2 and q are nearer.
        at = 1 - enclosed("exp", -q)[1 - side] if name == "welsch" else enclosed("ln", 1 + q)[side]
        return c * c / 2 * (min(q, at) if side else max(q - q * q / 2, at))

    def slope(self, y, z, side=1):
        """The derivative at z, in the domain: one of two numbers that it lies between."""
        r, name = z - y, self.name
        if name == "squared":
            return r
        if name == "huber":
            return max(-self.c, min(self.c, r))
        if name == "squared_hinge":
            return -y * max(Q(0), 1 - y * z)
        if name == "logistic":
            return -y * share(y * z, side)
        if name == "sigmoid":
            return -y * share(y * z, side) * share(-y * z, side)
        if name == "quartic":
            return z * (z * z - y)
        if name == "poisson":
            return enclosed("exp", z)[side] - y
        q = (r / self.c) ** 2
        if name == "tukey":
            return r * (1 - min(q, 1)) ** 2
        return r * (enclosed("exp", -q)[side] if name == "welsch" else (1 + q) ** -POWERS[name])

    def curvature(self, y, z):
        """The second derivative, rounded down."""
        if self.name == "poisson":
            return enclosed("exp", z)[0]
        if self.name == "logistic":
            e = enclosed("exp", -abs(z))
            return e[0] / (1 + e[1]) ** 2
        if self.name == "quartic":
            return 3 * z * z - y
        if self.name == "sigmoid":
            low, high = share(y * z, 0), share(y * z, 1)
            return low * (1 - high) * (1 - 2 * high)
        return self.bend(((z - y) / self.c) ** 2)

    def bend(self, q):
        """The second derivative of a smooth robust loss where (r/c)^2 = q, rounded down."""
        if self.name == "tukey":
            return (1 - min(q, 1)) * (1 - 5 * min(q, 1))
        if self.name == "welsch":
            return (1 - 2 * q) * enclosed("exp", -q)[2 * q > 1]
        power = POWERS[self.name]
        return (1 - (2 * power - 1) * q) / (1 + q) ** (power + 1)

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

    def cores(self, y):
        """Where the loss is convex, ends rounded both outward and inward; it is concave beside."""
        if self.name == "sigmoid":
            return [(0, 0, INF, INF)] if y > 0 else [(-INF, -INF, 0, 0)]
        if self.name == "quartic" and y <= 0:
            return [(-INF, -INF, INF, INF)]
        square = y / 3 if self.name == "quartic" else self.c**2 / TURNS[self.name]
        less, more = short(root(square, False), False), short(root(square), True)
        if self.name == "quartic":
            return [(-INF, -INF, -more, -less), (less, more, INF, INF)]
        return [(y - more, y - less, y + less, y + more)]

    def supremum(self, y, t, low, high):
        """An upper bound of h(z) = t z - loss(y, z) over low <= z <= high.

        Losses that are a minimum of parabolas and constants, and the ramp, have it at an end or
        where one of these has. Of others h is concave on the cores of the loss and below its
        tangents there; between them it is convex and below the larger of its ends.
        """

        ways = {"truncated": [t + y], "amplitude": [t + y, t - y], "ramp": [y]}.get(self.name, [])
        points = [low, high, *(max(low, min(high, z)) for z in ways)]
        best = max(t * z - self.value(y, z, 0) for z in points)
        for first, start, stop, last in [] if ways else self.cores(y):
            if first <= high and low <= last:
                a, b = (max(start, min(stop, z)) for z in (low, high))
                z = max(a, min(b, self.stationary(y, t, a, b)))
                best = max(best, self.tangent(y, t, z, max(low, first), min(high, last)))
        return short(best, True)

    def tangent(self, y, t, z, low, high, kappa=0):
        """The most, from low to high, of the tangent of h at z; of h - kappa (z - y)^2/2."""
        drift = kappa * (z - y)
        slopes = [self.slope(y, z, side) + drift for side in (0, 1)]
        rise = max(0, (high - z) * (t - min(slopes)), (z - low) * (max(slopes) - t))
        return t * z - self.value(y, z, 0) - drift * (z - y) / 2 + rise

    def stationary(self, y, t, low, high):
        """A point near which the slope is t, where the loss is convex: any point would do."""
        base = y if self.of_residual else Q(0)
        near, far, at = float(low - base), float(high - base), float(y - base)
        for _ in range(60):
            middle = (near + far) / 2
            rises = self.slope(at, middle) < t
            near, far = (middle, far) if rises else (near, middle)
        z, bend = base + Q(near), self.curvature(at, near)
        # One exact step of Newton's method doubles the digits.
        return short(z + (t - self.slope(y, z)) / Q(bend), True) if bend > 0 else z

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
