"""The ball on the working set: one scalar, eta, plays the ridge.

p**_ball = max over eta >= 0 of p**_ridge(eta) - eta ball/2, concave in eta with slope
(N - ball)/2, N = sum_i w_i^2/u_i. N^(-1/2) is nearly linear in eta (it is exactly so for
orthogonal columns without kinks), so the secant method on it needs few relaxations; each starts
where the last one ended.

Two ways lead back into the ball. Scaling w by sqrt(ball/N) is feasible with the same u. And a
mixture of two solutions (w, u), one outside and one inside, with N mixing to the ball, is feasible
because N is convex: it is what the optimum looks like where N jumps as a function of eta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.penalties import Penalty
from sparsebounds.relaxation.newton import PATIENCE, NewtonResult, newton
from sparsebounds.relaxation.points import SmoothPoint
from sparsebounds.relaxation.smooth import WorkingPart

MOST_MULTIPLIERS = 60
NEGLIGIBLE = 1e-16
"""A term eta ball / 2 below this share of the objective changes nothing."""


@dataclass(frozen=True)
class BallPoint:
    """A relaxed point on the working set with its weights, and their price."""

    point: SmoothPoint
    u: Vector
    cost: float
    size: float
    """N = sum_i w_i^2 / u_i."""

    @property
    def value(self) -> float:
        return self.point.value + self.cost


@dataclass(frozen=True)
class BallResult:
    """A feasible relaxed point, and the Newton point whose gradient is the dual vector."""

    primal: BallPoint
    dual: NewtonResult
    eta: float
    steps: int


def solve_ball(
    smooth: WorkingPart,
    penalty: Penalty,
    point: SmoothPoint,
    eta: float,
    ball: float,
    tolerance: float,
    scale: float,
    *,
    deadline: Deadline = NEVER,
    inner: float = 1e-13,
    patience: int = PATIENCE,
    worth: float = 0.0,
) -> BallResult:
    """Search for eta until the gap of the ball's problem on the working set closes.

    `penalty` may have any ridge. `inner` is the relative gap that each Newton solve goes to: N is
    only as accurate as its root.
    """
    low, high, steps, best_dual = 0.0, math.inf, 0, -math.inf
    previous: tuple[float, float] | None = None
    sides: dict[bool, BallPoint] = {}
    primal: BallPoint | None = None
    dual: tuple[NewtonResult, float] | None = None
    for _ in range(MOST_MULTIPLIERS):
        penalty = penalty.with_ridge(eta)
        solved = newton(
            smooth,
            penalty,
            point,
            inner * scale,
            scale,
            patience=patience,
            worth=worth,
            deadline=deadline,
        )
        steps += solved.steps
        point = solved.point
        here = _relaxed(penalty, point, penalty.weights(point.w))
        outside = here.size > ball
        sides[outside] = here
        for candidate in _feasible(smooth, penalty, here, sides, ball):
            if primal is None or candidate.value < primal.value:
                primal = candidate
        dual_value = _dual_value(penalty, solved.point, ball)
        if dual is None or dual_value > best_dual:
            dual, best_dual = (solved, eta), dual_value
        assert primal is not None
        if primal.value - best_dual <= tolerance:
            break
        if deadline.late(newton=int(np.count_nonzero(point.w)) ** 2):
            break
        # Inside the ball a smaller eta raises the dual value by at most eta ball/2.
        if not outside and eta * ball <= max(0.1 * tolerance, NEGLIGIBLE * scale):
            break
        low, high = (eta, high) if outside else (low, eta)
        length = (eta, 1.0 / math.sqrt(here.size) if here.size > 0 else math.inf)
        proposal = _secant(previous, length, ball) if 0 < here.size < math.inf else math.nan
        previous = length
        if not low < proposal < high and low == 0.0 and 0.0 < here.size <= ball:
            # No eta so far puts w outside: the ball may be idle, with eta = 0.
            proposal = 1e-3 * eta
        elif not low < proposal < high:
            # The dual's own choice; then bisection (in the logarithm).
            proposal = penalty.multiplier(-solved.point.gradient, ball)
        if not low < proposal < high or abs(proposal - eta) <= 1e-12 * eta:
            proposal = math.sqrt(max(low, 1e-4 * min(high, eta)) * min(high, 1e4 * max(low, eta)))
        if not low * (1.0 + 1e-14) < proposal < high * (1.0 - 1e-14):
            break
        eta = proposal
    assert primal is not None
    assert dual is not None
    return BallResult(primal, dual[0], dual[1], steps)


def _relaxed(penalty: Penalty, point: SmoothPoint, u: Vector) -> BallPoint:
    support = point.w != 0.0
    return BallPoint(point, u, penalty.price(u), float(np.sum(point.w[support] ** 2 / u[support])))


def _feasible(
    smooth: WorkingPart,
    penalty: Penalty,
    here: BallPoint,
    sides: dict[bool, BallPoint],
    ball: float,
) -> list[BallPoint]:
    """Points of the ball made from the latest solution and the last one on the other side."""
    if here.size <= ball:
        found = [here]
    else:
        shrunk = smooth.at(math.sqrt(ball / here.size) * here.point.w, here.point.b)
        found = [_relaxed(penalty, shrunk, here.u)]
    if len(sides) == 2:
        out, within = sides[True], sides[False]
        share = (ball - within.size) / (out.size - within.size)
        w = share * out.point.w + (1.0 - share) * within.point.w
        b = share * out.point.b + (1.0 - share) * within.point.b
        u = share * out.u + (1.0 - share) * within.u
        found.append(_relaxed(penalty, smooth.at(w, b), u))
    return found


def _dual_value(penalty: Penalty, point: SmoothPoint, ball: float) -> float:
    """The dual value at the best eta for this gradient, not at the eta it came from."""
    eta = penalty.multiplier(-point.gradient, ball)
    dual = point.dual - penalty.with_ridge(eta).conjugate(-point.gradient) - 0.5 * eta * ball
    return dual - abs(point.slope) * (1.0 + abs(point.b))


def _secant(previous: tuple[float, float] | None, here: tuple[float, float], ball: float) -> float:
    """The root of N^(-1/2) = ball^(-1/2) on the line through two points, or through the origin."""
    target = 1.0 / math.sqrt(ball)
    if previous is None or not math.isfinite(previous[1]) or previous[1] == here[1]:
        return here[0] * target / here[1]
    slope = (here[1] - previous[1]) / (here[0] - previous[0])
    return here[0] + (target - here[1]) / slope if slope > 0 else math.nan
