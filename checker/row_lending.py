"""Robust losses: a matrix that open features lend to the loss of a node, and what they pay for it.

Columns are integers: K and its products are in units of columns, but for what features pay.
"""

from operator import mul

from exact_numbers import BITS, Q, exact_fractions, root, short
from quadratics import factor


class Lending:
    """K = G_OO + G_OJ C G_JO, G less the curvature of the rows, and C above (L_J - G_JJ)^-1.

    `curvature` is the quadratic -G on all features and the intercept, which is the last one;
    `given` is L_J. `paid` is None where it is not proved that K is enough, or too much is paid.
    """

    def __init__(self, curvature, own, given, opened, room):
        self.curvature, self.held, self.paid = curvature, list(given), None
        matrix, scales = curvature.less(self.held, [-x for x in given.values()])
        L = factor(matrix)
        if L is None:
            return
        columns = [curvature.units[j] * scale for j, scale in zip(self.held, scales)]
        columns, over = exact_fractions(columns)
        self.root = [list(map(mul, row, columns)) for row in inverse(L)]
        # The inverse times L is 1 but for remainders, each below an entry of the diagonal.
        spare = Q(len(L) ** 2 * max((row[-1] for row in L), default=0), 4**BITS)
        share = short((1 + 4 * spare) / (4**BITS * over**2 * curvature.over), True)
        self.share, self.whole = share.as_integer_ratio()
        self.over = self.whole * curvature.over
        self.sides = {q: self.side([self.gram(j, q) for j in self.held]) for q in opened}
        self.pay(own, room)

    def gram(self, i, j):
        return self.curvature.gram(max(i, j), min(i, j))

    def side(self, g):
        return [sum(map(mul, row, g)) for row in self.root]

    def sum(self, less, one, other):
        """G and what C adds, over `over`."""
        return self.share * sum(map(mul, one, other)) - self.whole * less

    def pay(self, own, room):
        """e with u.K u <= sum e_j u_j^2, where at most `room` of the u_j are not 0."""
        units, paid = [self.curvature.units[j] for j in self.sides], {}
        scales, _ = exact_fractions([root(u * u / own[j]) for j, u in zip(self.sides, units)])
        for (j, one), unit, scale in zip(self.sides.items(), units, scales):
            row = [
                abs(self.sum(self.gram(j, q), one, other)) * x
                for (q, other), x in zip(self.sides.items(), scales)
                if q != j
            ]
            most = sum(sorted(row, reverse=True)[: room - 1]) if room > 1 else 0
            most += self.sum(self.gram(j, j), one, one) * scale
            paid[j] = short(most * unit * unit / (scale * self.over), True)
            if paid[j] >= own[j]:
                return
        self.paid = paid

    def pull(self, z):
        """K u for open features, in units of their columns, and u.K u, where z = X_O u."""
        curvature = self.curvature
        known = self.side([sum(map(mul, curvature.weighted[j], z)) for j in self.held])
        found = {
            j: self.sum(sum(map(mul, curvature.weighted[j], z)), one, known)
            for j, one in self.sides.items()
        }
        square = sum(w * x * x for w, x in zip(curvature.weighted[-1], z))
        return found, self.sum(square, known, known)


def inverse(L):
    """X with X L = 4^BITS - remainders, which are below the diagonal of L and not below 0."""
    found = []
    for i in range(len(L)):
        row = [0] * (i + 1)
        for j in range(i, -1, -1):
            known = sum(row[k] * L[k][j] for k in range(j + 1, i + 1))
            row[j] = ((4**BITS if i == j else 0) - known) // L[j][j]
        found.append(row)
    return found
