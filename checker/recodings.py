"""Columns that are mixed within groups, and the check that the new ones are uncorrelated."""

import math
from operator import mul

from exact_numbers import Q, need, vector

NEAR = 1e-6


def recoded(text, leader, columns, units, S):
    """Mix the columns of groups of two and more by the stored blocks; which columns these are."""
    groups = {}
    for j, head in enumerate(leader):
        groups.setdefault(head, []).append(j)
    several = sorted((len(group), group) for group in groups.values() if len(group) > 1)
    entries = iter(vector(text, sum(size**2 for size, _ in several)))
    for size, group in several:
        T = [[Q(next(entries)) for _ in group] for _ in group]
        old = [(columns[j], units[j]) for j in group]
        new = [combined(old, [row[place] for row in T]) for place in range(size)]
        need(whitened(old, new, S), "the stored recoding does not whiten the columns of a group")
        for j, (column, unit) in zip(group, new):
            columns[j], units[j] = column, unit
    return {j for _, group in several for j in group}


def combined(parts, weights):
    """A weighted sum of columns, as integers in a unit."""
    ways = [unit * weight for (_, unit), weight in zip(parts, weights)]
    over = math.lcm(*(way.denominator for way in ways))
    total = [0] * len(parts[0][0])
    for (column, _), way in zip(parts, ways):
        times = way.numerator * (over // way.denominator)
        if times:
            total = [x + y * times for x, y in zip(total, column)]
    return total, Q(1, over)


def whitened(old, new, S):
    """Whether the new columns are uncorrelated, of variance 1 or 0, and explain the old ones."""
    mass = sum(S)

    def product(one, other):
        weighted = sum(map(mul, map(mul, S, one[0]), other[0]))
        return float(weighted * one[1] * other[1] / mass)

    every = range(len(new))
    after = [[product(x, y) for y in new] for x in new]
    square = [[sum(after[i][k] * after[k][j] for k in every) for j in every] for i in every]
    close = all(abs(square[i][j] - after[i][j]) <= NEAR for i in every for j in every)
    explained = (abs(product(x, x) - sum(product(x, y) ** 2 for y in new)) <= NEAR for x in old)
    return close and all(explained)
