"""Convex problems on one support, solved in decimal arithmetic with an error bar.

Newton's method with a line search; whatever point (w, b) that ends at,

    f(w, b) >= optimum on S >= f(w, b) - sum_j (df/dw_j)^2 / (2 ridge_j)

if df/db = 0, by strong convexity. With a ball the ridge is a multiplier eta: the Lagrangian
f + eta/2 (|w|^2 - ball) bounds from below in the same way, and the point moved into the ball from
above.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from functools import partial, wraps
from typing import Any, TypeVar, cast

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


class Minimiser:
    """The objective of a program on a support, and its minimum."""

    spec: Spec
    p: Vec
    y: Vec
    offset: Vec
    columns: list[Vec]
    loss: losses.RowLoss | None

    @property
    def start(self) -> Decimal:
        """The intercept of the best model without features."""
        raise NotImplementedError

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
        *_, value, slopes = self._at(support, [D(0)] * ones, self.start, [D(0)] * ones)
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
            loss, b = self.loss, self.start
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
