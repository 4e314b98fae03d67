"""The referee: every support, each a convex problem solved in decimal arithmetic with an error bar.

Nothing here is imported from the package. A program is a `Spec`. On one support S the objective f
is minimised by Newton's method with a line search; whatever point (w, b) that ends at,

    f(w, b) >= optimum on S >= f(w, b) - sum_j (df/dw_j)^2 / (2 ridge_j)

if df/db = 0, by strong convexity. With a ball the ridge is a multiplier eta: the Lagrangian
f + eta/2 (|w|^2 - ball) bounds from below in the same way, and the point moved into the ball from
above. Sign constraints need no solver: the best model that obeys them is, on its own support, the
best without them, so supports whose model breaks a sign are passed over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cached_property, partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from tests.hostile import losses
from tests.hostile.losses import D
from tests.hostile.spec import Spec

DIGITS = 60
STEPS = 80
Vec = list[Decimal]
Function = TypeVar("Function", bound=Callable[..., Any])


def exactly() -> Any:
    """A context of many digits in which an overflow is infinite, as in floats."""
    return localcontext(Context(prec=DIGITS, Emax=10**15, Emin=-(10**15), traps=[]))


def precise(function: Function) -> Function:
    """The function, with all its arithmetic in that context."""

    @wraps(function)
    def inside(*arguments: Any, **options: Any) -> Any:
        with exactly():
            return function(*arguments, **options)

    return cast(Function, inside)


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


class Reference:
    """All supports of a small program. `center` and `scale` are those of standardized columns."""

    def __init__(self, spec: Spec, center: Any = None, scale: Any = None) -> None:
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
            self.norms = [sum(x * x for x in column).sqrt() for column in self.columns]
            ridge = 1.0 if spec.ridge is None else spec.ridge
            self.ridge = [D(float(r)) for r in np.broadcast_to(ridge, (m,))]
            price = 0.0 if spec.l0 is None else spec.l0
            self.price = [D(float(r)) for r in np.broadcast_to(price, (m,))]
            self.loss = losses.convex(spec.loss, spec.parameters) if spec.convex else None
        self.fits: dict[tuple[int, ...], Fit] = {}

    # The objective of a model, whoever made it.

    def objective(self, coef: Any, intercept: float, *, user: bool) -> Decimal:
        """The exact objective, without constraints; `user`: coefficients of the user's columns."""
        with exactly():
            w = {j: D(float(c)) for j, c in enumerate(coef) if c != 0}
            b = D(float(intercept))
            if user:
                b += sum((w[j] * self.center[j] for j in w), D(0))
                w = {j: w[j] * self.scale[j] for j in w}
            value = D(0)
            for i, (p, y, o) in enumerate(zip(self.p, self.y, self.offset, strict=True)):
                z = sum((c * self.columns[j][i] for j, c in w.items()), b + o)
                value += p * losses.value(self.spec.loss, self.spec.parameters, y, z)
            return value + self._terms(w)

    def rounding(self, coef: Any, intercept: float) -> Decimal:
        """By how much the objective of a model may change where predictions are summed in floats
        in another order, to first order; generous."""
        with exactly():
            w = {j: D(float(c)) for j, c in enumerate(coef) if c != 0}
            unit, change = D(2) ** -52 * (8 + len(self.p)), D(0)
            for i, (p, y, o) in enumerate(zip(self.p, self.y, self.offset, strict=True)):
                parts = [c * self.columns[j][i] for j, c in w.items()]
                size = sum(map(abs, parts), abs(D(float(intercept))) + abs(o) + abs(y))
                z = sum(parts, D(float(intercept)) + o)
                here, there = (
                    losses.value(self.spec.loss, self.spec.parameters, y, at)
                    for at in (z + unit * size, z - unit * size)
                )
                change += p * (abs(here - there) + unit * (abs(here) + abs(there)))
            return change + unit * self._terms(w)

    def _terms(self, w: dict[int, Decimal]) -> Decimal:
        value = sum((self.price[j] for j in w if j not in self.spec.always), D(0))
        if self.spec.ball is None:
            value += sum((self.ridge[j] * c * c / 2 for j, c in w.items()), D(0))
        return value

    def broken(self, coef: Any, slack: float = 0.0) -> str | None:
        """Which constraint a model on the program's columns breaks, or None."""
        spec = self.spec
        used = [int(j) for j in np.flatnonzero(coef)]
        if any(j in spec.never for j in used):
            return "a feature of never is in the model"
        if spec.k is not None and sum(j not in spec.always for j in used) > spec.k:
            return "the model has more than k features"
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
        return (abs(self.null.high) + abs(self.best.high)) * D(10) ** -40

    # The optimum.

    def supports(self, *, every: bool = False) -> Iterator[tuple[int, ...]]:
        """Sets that hold the support of a best model; `every`: all that obey the constraints."""
        spec = self.spec
        m = spec.X.shape[1]
        always = tuple(sorted(spec.always))
        free = [j for j in range(m) if j not in spec.always and j not in spec.never]
        most = len(free) if spec.k is None else min(spec.k, len(free))
        signs = spec.positive is not None and bool(np.any(spec.positive))
        whole = every or signs or spec.k is None
        for size in range(0 if whole else most, most + 1):
            for chosen in itertools.combinations(free, size):
                inside = range(len(always) + 1) if signs else (len(always),)
                for count in inside:
                    for kept in itertools.combinations(always, count):
                        yield tuple(sorted(chosen + kept))

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
        priced = sum((self.price[j] for j in support if j not in spec.always), D(0))
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

    def _below(
        self, support: tuple[int, ...], value: Decimal, b: Decimal, slopes: Vec, ridge: Vec
    ) -> tuple[Decimal, Decimal]:
        """A lower bound on the objective, and how far w is from the best at most."""
        lack = sum((g * g / (2 * ridge[j]) for g, j in zip(slopes, support, strict=False)), D(0))
        if self.spec.fit_intercept:  # df/db is rounding, where Newton's method has converged
            lack += abs(slopes[-1]) * D(10) ** 10 * (1 + abs(b) + max(map(abs, self.y)))
        least = min((ridge[j] for j in support), default=D(1))
        return value - lack, (2 * lack / least).sqrt()

    def _in_ball(
        self, support: tuple[int, ...], ball: Decimal
    ) -> tuple[Vec, Decimal, Decimal, Decimal, Decimal]:
        """Over eta: w(eta) shrinks as eta grows; eta solves |w(eta)|^2 = ball, or is about 0."""
        ones = len(support)
        *_, value, slopes = self._at(support, [D(0)] * ones, self.null.b, [D(0)] * ones)
        steep = sum((g * g for g in slopes[:ones]), D(0)).sqrt()
        top = max(steep / ball.sqrt(), D(10) ** -200) * 2
        floor, start = top * D(10) ** -40, None
        probes = [floor, top * D(10) ** -8]
        low_eta, high_eta, eta = floor, top, top / 100
        best: tuple[Vec, Decimal, Decimal, Decimal, Decimal] | None = None
        seen: list[tuple[Decimal, Decimal]] = []
        for _ in range(40):
            w, b, value, slopes = self._newton(support, [eta] * ones, start)
            start = (w, b)
            size = sum((c * c for c in w), D(0))
            ridge = [eta] * self.spec.X.shape[1]
            low, radius = self._below(support, value, b, slopes, ridge)
            low -= eta * ball / 2
            shrink = min(D(1), (ball / size).sqrt() if size else D(1))
            inside = [c * shrink for c in w]
            high = self._at(support, inside, b, [D(0)] * ones)[2]
            if best is None or high - low < best[2] - best[3]:
                best = (inside, b, high, low, radius)
            off = D(0) if size == 0 else size / ball - 1
            if abs(off) < D("1e-15") or (size <= ball and eta == floor):
                break
            low_eta, high_eta = (eta, high_eta) if off > 0 else (low_eta, eta)
            # 1/|w| is nearly linear in eta: the secant, where it stays in the bracket.
            seen.append((eta, 1 / max(size, D(10) ** -300).sqrt() - 1 / ball.sqrt()))
            if off <= 0 and low_eta == floor and probes:
                eta = probes.pop()
                continue
            eta = (low_eta * high_eta).sqrt()
            if len(seen) > 1 and seen[-1][1] != seen[-2][1]:
                (e0, v0), (e1, v1) = seen[-2:]
                secant = e1 - v1 * (e1 - e0) / (v1 - v0)
                eta = secant if low_eta < secant < high_eta else eta
        assert best is not None
        return best

    # Newton's method.

    def _at(
        self, support: tuple[int, ...], w: Vec, b: Decimal, ridge: Vec
    ) -> tuple[list[losses.Row], Vec, Decimal, Vec]:
        """Rows, predictions, the objective and its slopes (that of b last) at a point."""
        assert self.loss is not None
        z = [b + o for o in self.offset]
        for j, c in zip(support, w, strict=True):
            if c:
                z = [at + c * x for at, x in zip(z, self.columns[j], strict=True)]
        rows = [self.loss(y, at) for y, at in zip(self.y, z, strict=True)]
        value = sum((p * row[0] for p, row in zip(self.p, rows, strict=True)), D(0))
        value += sum((r * c * c / 2 for r, c in zip(ridge, w, strict=True)), D(0))
        a = [p * row[1] for p, row in zip(self.p, rows, strict=True)]
        slopes = [
            sum((x * g for x, g in zip(self.columns[j], a, strict=True)), r * c)
            for j, r, c in zip(support, ridge, w, strict=True)
        ]
        if self.spec.fit_intercept:
            slopes.append(sum(a, D(0)))
        return rows, z, value, slopes

    def _newton(
        self, support: tuple[int, ...], ridge: Vec, start: tuple[Vec, Decimal] | None
    ) -> tuple[Vec, Decimal, Decimal, Vec]:
        """The minimiser. Huber's loss is reached from the squared one: where all rows are on the
        straight parts there is no curvature to go by."""
        if self.spec.loss != "huber":
            return self._steps(support, ridge, start)
        last = D(float(self.spec.parameters.get("delta", 1.35)))
        delta = wide = max(map(abs, self.y)) + max(map(abs, self.offset))
        while delta > last and (start is None or delta < wide):
            self.loss = partial(losses.huber, delta=delta)
            w, b, *_ = self._steps(support, ridge, start)
            start, delta = (w, b), delta / 4
        self.loss = partial(losses.huber, delta=last)
        return self._steps(support, ridge, start)

    def _steps(
        self, support: tuple[int, ...], ridge: Vec, start: tuple[Vec, Decimal] | None
    ) -> tuple[Vec, Decimal, Decimal, Vec]:
        w, b = start or ([D(0)] * len(support), self._first_intercept() if not support else None)
        if b is None:  # the null model is solved first, and may set the loss
            loss, b = self.loss, self.null.b
            self.loss = loss
        majorize = False
        rows, _, value, slopes = self._at(support, w, b, ridge)
        for _ in range(STEPS):
            step = _solve(self._hessian(support, rows, ridge, majorize), slopes)
            drop = sum((s * g for s, g in zip(step, slopes, strict=True)), D(0))
            if not drop > 0 or drop <= abs(value) * D(10) ** -46:
                break
            t = D(1)
            for _ in range(12 if rows[0][3] is not None else 60):
                other = [c - t * s for c, s in zip(w, step, strict=False)]
                moved = b - t * step[-1] if self.spec.fit_intercept else b
                found = self._at(support, other, moved, ridge)
                if found[2] <= value - t * drop / D(10000):
                    break
                t /= 2
            else:
                if majorize or rows[0][3] is None:
                    break
                majorize = True
                continue
            majorize = t < D("0.1") and rows[0][3] is not None and not majorize
            w, b, (rows, _, value, slopes) = other, moved, found
        return w, b, value, slopes

    def _first_intercept(self) -> Decimal:
        if not self.spec.fit_intercept:
            return D(0)
        mean = sum((p * y for p, y in zip(self.p, self.y, strict=True)), D(0))
        if self.spec.loss == "poisson":
            return max(mean, D("1e-30")).ln()
        return mean if self.spec.loss in ("squared", "huber") else D(0)

    def _hessian(
        self, support: tuple[int, ...], rows: list[losses.Row], ridge: Vec, majorize: bool
    ) -> list[Vec]:
        bend = [p * (row[3] if majorize else row[2]) for p, row in zip(self.p, rows, strict=True)]
        columns = [self.columns[j] for j in support]
        if self.spec.fit_intercept:
            columns = [*columns, [D(1)] * len(self.p)]
        size = len(columns)
        matrix = [[D(0)] * size for _ in range(size)]
        for i in range(size):
            bent = [h * x for h, x in zip(bend, columns[i], strict=True)]
            for j in range(i, size):
                entry = sum((s * x for s, x in zip(bent, columns[j], strict=True)), D(0))
                matrix[i][j] = matrix[j][i] = entry
        for i, r in enumerate(ridge):
            matrix[i][i] += r
        return matrix


def _solve(matrix: list[Vec], right: Vec) -> Vec:
    """Gaussian elimination of a positive semidefinite system; where it is singular, a solution
    of one that is nearly the same."""
    size = len(right)
    rows = [[*row, g] for row, g in zip(matrix, right, strict=True)]
    least = max((matrix[i][i] for i in range(size)), default=D(1)) * D(10) ** (10 - DIGITS)
    for i in range(size):
        pivot = rows[i][i]
        if pivot <= least * D(10) ** -100 or not pivot.is_finite():
            rows[i][i] = pivot = max(abs(least), D(10) ** -300)
        for other in rows[i + 1 :]:
            factor = other[i] / pivot
            if factor:
                other[i:] = [x - factor * z for x, z in zip(other[i:], rows[i][i:], strict=True)]
    solution = [D(0)] * size
    for i in reversed(range(size)):
        known = sum((rows[i][j] * solution[j] for j in range(i + 1, size)), D(0))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution


def decimal(value: float) -> Decimal:
    """A float, exactly."""
    return D(float(value))


__all__ = ["DIGITS", "Fit", "Reference", "decimal", "exactly", "precise"]
