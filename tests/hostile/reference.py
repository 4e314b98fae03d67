"""The referee: every support of a small program, each solved with an error bar (`minimiser`).

Nothing here is imported from the package. Sign constraints need no solver: the best model that
obeys them is, on its own support, the best without them, so supports whose model breaks a sign
are passed over.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from tests.hostile import losses
from tests.hostile.losses import D
from tests.hostile.minimiser import Minimiser, Vec, exactly, precise
from tests.hostile.spec import Spec


@dataclass(frozen=True)
class Fit:
    """The best model on a support: its value is between `low` and `high`."""

    support: tuple[int, ...]
    high: Decimal
    low: Decimal
    w: Vec
    """One number per feature of the support."""

    b: Decimal
    radius: Decimal
    """How far each coefficient of the best model can be from w; infinite where that is unknown."""

    obeys: bool
    """Whether the signs are those that are asked for."""

    possible: bool
    """Whether a best model with these signs can have this support."""


def blocks_of(spec: Spec, entries: Any = None) -> list[tuple[list[int], Any]]:
    """(columns, T) of each group that is whitened: Z T are its columns, Z standardized ones.

    Entries are stored for groups of two and more columns, smaller groups first.
    """
    found: list[tuple[list[int], Any]] = []
    if entries is None:
        return found
    heads = sorted(set(spec.leaders))
    groups = [[j for j, head in enumerate(spec.leaders) if head == one] for one in heads]
    first = 0
    for members in sorted((one for one in groups if len(one) > 1), key=len):
        last = first + len(members) ** 2
        found.append((members, np.reshape(entries[first:last], (len(members), -1))))
        first = last
    return found


class Reference(Minimiser):
    """All supports of a small program.

    `center` and `scale` are those of standardized columns, and `entries` what whitens them.
    """

    def __init__(
        self, spec: Spec, center: Any = None, scale: Any = None, entries: Any = None
    ) -> None:
        self.spec = spec
        with exactly():
            n, m = spec.X.shape
            weight = [D(1)] * n if spec.weights is None else [D(float(s)) for s in spec.weights]
            keep = [i for i in range(n) if weight[i] > 0]
            total = sum(weight)
            offset = [D(0)] * n if spec.offset is None else [D(float(o)) for o in spec.offset]
            self.p = [weight[i] / total for i in keep]
            self.y = [D(float(spec.signs_or_y[i])) for i in keep]
            self.offset = [offset[i] for i in keep]
            zero, one = np.zeros(m), np.ones(m)
            self.center = [D(float(c)) for c in (zero if center is None else center)]
            self.scale = [D(float(s)) for s in (one if scale is None else scale)]
            self.columns = [
                [(D(float(spec.X[i, j])) - self.center[j]) / self.scale[j] for i in keep]
                for j in range(m)
            ]
            self.plain = list(self.columns)
            """Before they are whitened."""

            self.mixed = blocks_of(spec, entries)
            for members, block in self.mixed:
                for place, j in enumerate(members):
                    part = [
                        (self.plain[i], D(float(block[at, place]))) for at, i in enumerate(members)
                    ]
                    self.columns[j] = [
                        sum((t * z[i] for z, t in part), D(0)) for i in range(len(keep))
                    ]
            self.norms = [sum(x * x for x in column).sqrt() for column in self.columns]
            ridge = 1.0 if spec.ridge is None else spec.ridge
            price = 0.0 if spec.l0 is None else spec.l0
            heads = sorted(set(spec.leaders))
            prices = np.broadcast_to(price, (len(heads),)).tolist()
            if np.shape(ridge) == (len(heads),):
                ridge = np.asarray(ridge)[np.searchsorted(heads, spec.leaders)]
            self.ridge = [D(float(r)) for r in np.broadcast_to(ridge, (m,))]
            self.price = {g: D(float(r)) for g, r in zip(heads, prices, strict=True)}
            """By the first column of each group."""
            self.loss = losses.convex(spec.loss, spec.parameters) if spec.convex else None
        self.fits: dict[tuple[int, ...], Fit] = {}

    # The objective of a model, whoever made it.

    def objective(self, coef: Any, intercept: float | Decimal, *, user: bool) -> Decimal:
        """The exact objective, without constraints; `user`: coefficients of the user's columns."""
        with exactly():
            w = {j: D(float(c)) for j, c in enumerate(coef) if c != 0}
            b = intercept if isinstance(intercept, Decimal) else D(float(intercept))
            columns = self.plain if user else self.columns
            if user:
                b += sum((w[j] * self.center[j] for j in w), D(0))
                w = {j: w[j] * self.scale[j] for j in w}
            value = D(0)
            for i, (p, y, o) in enumerate(zip(self.p, self.y, self.offset, strict=True)):
                z = sum((c * columns[j][i] for j, c in w.items()), b + o)
                value += p * losses.value(self.spec.loss, self.spec.parameters, y, z)
            if user:
                w = {j: c for j, c in enumerate(self.inward(coef)) if c != 0}
            return value + self._terms(w)

    def inward(self, coef: Any) -> list[Decimal]:
        """Coefficients of the program's columns, from those of the user's."""
        own = [D(float(c)) * s for c, s in zip(coef, self.scale, strict=True)]
        for members, block in self.mixed:
            part = np.linalg.pinv(block) @ np.array([float(own[j]) for j in members])
            for j, c in zip(members, part.tolist(), strict=True):
                own[j] = D(c)
        return own

    def outward(self, w: Any) -> Any:
        """Coefficients of the user's columns, from those of the program's."""
        coef = np.array(w, dtype=float)
        for members, block in self.mixed:
            coef[members] = block @ coef[members]
        return coef / np.array([float(s) for s in self.scale])

    def rounding(self, coef: Any, intercept: float | Decimal) -> Decimal:
        """By how much the objective of a model may change where predictions are summed in floats
        in another order, to first order; generous."""
        with exactly():
            w = {j: D(float(c)) for j, c in enumerate(coef) if c != 0}
            unit, change = D(2) ** -52 * (8 + len(self.p)), D(0)
            for i, (p, y, o) in enumerate(zip(self.p, self.y, self.offset, strict=True)):
                parts = [c * self.columns[j][i] for j, c in w.items()]
                size = sum(map(abs, parts), abs(D(intercept)) + abs(o) + abs(y))
                z = sum(parts, D(intercept) + o)
                here, there = (
                    losses.value(self.spec.loss, self.spec.parameters, y, at)
                    for at in (z + unit * size, z - unit * size)
                )
                change += p * (abs(here - there) + unit * (abs(here) + abs(there)))
            return change + unit * self._terms(w)

    def _terms(self, w: dict[int, Decimal]) -> Decimal:
        value = sum((self.price[g] for g in self.spec.chosen(w)), D(0))
        if self.spec.ball is None:
            value += sum((self.ridge[j] * c * c / 2 for j, c in w.items()), D(0))
        return value

    def broken(self, coef: Any, slack: float = 0.0) -> str | None:
        """Which constraint a model on the program's columns breaks, or None."""
        spec = self.spec
        used = [int(j) for j in np.flatnonzero(coef)]
        if any(j in spec.never for j in used):
            return "a feature of never is in the model"
        if spec.k is not None and len(spec.chosen(used)) > spec.k:
            return "the model has more than k features, or groups"
        if spec.positive is not None and any(spec.positive[j] and coef[j] < 0 for j in used):
            return "a coefficient is negative"
        with exactly():
            if spec.ball is not None:
                size = sum(D(float(coef[j])) ** 2 for j in used)
                if size > D(float(spec.ball)) * (1 + D(slack)):
                    return f"|w|^2 = {size:.17g} > {spec.ball!r}"
        return None

    @cached_property
    def floor(self) -> Decimal:
        """What no model can be below, as the loss is bounded."""
        with exactly():
            return sum(
                (p * losses.floor(self.spec.loss, y) for p, y in zip(self.p, self.y, strict=True)),
                D(0),
            )

    @property
    def dust(self) -> Decimal:
        """What the referee's own rounding may amount to."""
        # Of 60 digits, which are fewer than a float has: of values, and of residuals squared.
        squares = max(abs(y) + abs(o) for y, o in zip(self.y, self.offset, strict=True)) ** 2
        values = abs(self.null.high) + abs(self.best.high)
        return values * D(10) ** -40 + squares * D(10) ** -105

    # The optimum.

    def supports(self, *, every: bool = False) -> Iterator[tuple[int, ...]]:
        """Sets that hold the support of a best model; `every`: all that obey the constraints."""
        spec = self.spec
        m = spec.X.shape[1]
        always = tuple(sorted(spec.always))
        members = {g: [j for j in range(m) if spec.leaders[j] == g] for g in spec.leaders}
        free = [g for g in members if g not in spec.always and g not in spec.never]
        most = len(free) if spec.k is None else min(spec.k, len(free))
        signs = spec.positive is not None and bool(np.any(spec.positive))
        whole = every or signs or spec.k is None
        for size in range(0 if whole else most, most + 1):
            for chosen in itertools.combinations(free, size):
                columns = [j for g in chosen for j in members[g]]
                for kept in _parts(always, parts=signs):
                    # Without signs a group's columns do no harm; one column is its group.
                    for some in _parts(columns, parts=signs and len(columns) > size):
                        yield tuple(sorted(some + kept))

    @property
    def start(self) -> Decimal:
        return self.null.b

    @cached_property
    def null(self) -> Fit:
        """The best model without features."""
        return self.fit(())

    @cached_property
    def best(self) -> Fit:
        """The best model found over all supports: its `high` is attained."""
        found = [fit for fit in map(self.fit, self.supports()) if fit.obeys]
        return min(found, key=lambda fit: fit.high)

    @cached_property
    def low(self) -> Decimal:
        """A lower bound on the optimum."""
        return min(fit.low for fit in map(self.fit, self.supports()) if fit.possible)

    def fit(self, support: tuple[int, ...]) -> Fit:
        """The best model on a support, its price included."""
        if support not in self.fits:
            with exactly():
                self.fits[support] = self._fit(support)
        return self.fits[support]

    def _fit(self, support: tuple[int, ...]) -> Fit:
        spec = self.spec
        priced = sum((self.price[g] for g in spec.chosen(support)), D(0))
        if spec.ball is None or not support:
            w, b, value, slopes = self._newton(support, [self.ridge[j] for j in support], None)
            high, (low, radius) = value, self._below(support, value, b, slopes, self.ridge)
        else:
            w, b, high, low, radius = self._in_ball(support, D(float(spec.ball)))
        signs = spec.positive
        obeys = signs is None or all(
            c >= 0 or not signs[j] for j, c in zip(support, w, strict=True)
        )
        # With a ball the best model may not be the only one: another may have other signs.
        possible = spec.ball is not None or signs is None
        possible = possible or all(
            c >= -radius for j, c in zip(support, w, strict=True) if signs[j]
        )
        low = max(low, self.floor)
        return Fit(support, high + priced, low + priced, w, b, radius, obeys, possible)


def _parts(columns: Sequence[int], *, parts: bool) -> Iterator[tuple[int, ...]]:
    """All sets of some columns, or these alone."""
    for size in range(0 if parts else len(columns), len(columns) + 1):
        yield from itertools.combinations(columns, size)


def decimal(value: float) -> Decimal:
    """A float, exactly."""
    return D(float(value))


__all__ = ["Fit", "Reference", "decimal", "exactly", "precise"]


def stored_intercept(certificate: Any) -> Decimal:
    """The intercept of a certificate's model, the level of the response included."""
    with exactly():
        return D(certificate.intercept) + D(getattr(certificate.problem, "level", 0.0))
