"""The bidual of a program by working sets.

    score all columns at a dual vector (one pass over X): a proved bound, and who violates it
    solve on the working set (Newton; for the ball, a search over eta around it)
    add the worst violators; repeat until the gap on the full data closes

Every pass yields a rounding-safe bound, so stopping at any moment, for any reason, leaves
valid bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector, nonzeros
from sparsebounds._support.deadline import Deadline
from sparsebounds.bounds import DualPoint, bound_at, dual_point_at, repair, scored
from sparsebounds.penalties import level_set
from sparsebounds.program import Program
from sparsebounds.relaxation.ball import solve_ball
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.relaxation.newton import newton
from sparsebounds.relaxation.progress import Callback, Progress
from sparsebounds.relaxation.result import Relaxation, RelaxationStats
from sparsebounds.relaxation.workspace import Workspace

SMALL_BATCH, TALL_BATCH, TALL = 100, 30, 10_000
"""Columns in the first working set, and added in each round, at least (fewer on tall data)."""
THIN = 1500
"""The first columns of a thin matrix hold one in so many of its entries, about: long ones that the
solution may not have would set the price of each product."""

EARLY, LATE = 4, 2
"""Times as many columns in the first working set, and in a round, where groups are that large."""

MOST_ROUNDS = 100
ROUGH, ROUGHER, STEP = 1e-4, 1e-2, 10
"""The relative gap that is enough on a working set while violators are many; the second where
steps take longer than a pass: in the k form on a Gram matrix, or on many sparse columns (STEP)."""
SLOW = 0.02
"""The least share of the gap that a Newton step closes, on an envelope, before patience ends."""


@dataclass(frozen=True)
class _State:
    """A relaxed point; w and u on the first features of the working set, 0 on all others."""

    value: float
    w: Vector
    b: float
    u: Vector
    beta: float
    eta: float


@dataclass(frozen=True)
class _Score:
    """A dual vector per sample, its scores, and the dual value in plain floating point."""

    t: Vector
    scores: Vector
    strength: Vector
    """For each group, in the order of their first columns: the length of reach_j / sqrt(ridge_j),
    or what is in proportion to it. reach_j is |x_j.a|, or max(0, -x_j.a) where w_j >= 0 is asked.
    """

    value: float


class WorkingSet:
    """One relaxation: the working set, the best relaxed point and the best dual vector so far."""

    def __init__(
        self,
        program: Program,
        tol: float,
        start: Relaxation | None,
        deadline: Deadline,
        callback: Callback | None,
        workspace: Workspace | None = None,
    ) -> None:
        self.program, self.tol, self.deadline, self.callback = program, tol, deadline, callback
        self._earlier = deadline.seconds
        self._first_pass = program.matrix.passes
        self.warm = start is not None and workspace is not None
        self.workspace = Workspace(program) if workspace is None else workspace
        self.workspace.check(program)
        self.smooth = self.workspace.smooth
        self.steps = self.rounds = 0
        # One number where all features have the same ridge: a product with a vector costs more.
        self._root: float | Vector = 1.0
        if program.ridge is not None:
            root = np.sqrt(program.ridge)
            self._root = root if isinstance(root, np.ndarray) else float(root)
        self._signed, self._barred = bool(program.positive.any()), bool(program.never.any())
        self._small = small = SMALL_BATCH if program.n <= TALL else TALL_BATCH
        self._batch = max(small, program.matrix.batch)
        # Sparse columns are cheap, but in an easy problem a few of them are all that is needed.
        self._first = max(small, self._batch // 10) if program.matrix.thin else self._batch
        self.eta = math.nan if start is None or program.ball is None else start.eta
        self.w, self.b = np.zeros(program.m), program.null_intercept
        z = np.full(program.n, self.b)
        if start is not None:
            w, b = self._admissible(start.w), start.b if program.fit_intercept else 0.0
            support = nonzeros(w)
            image = self._image(w, support) + b
            # A start that fits worse than no features at all (another response) is none.
            if program.F.value(image) <= program.null:
                self.w, self.b, z = w, b, image
        # The model without features is a relaxed point of every form.
        none = np.zeros(0)
        self.best = _State(program.null, none, program.null_intercept, none, math.nan, math.nan)
        # On the same data the start's dual vector is one of this program, scored already.
        taken = start is not None and self.workspace.scored(start.point)
        self.last = self.top = self._rated(start.point) if start and taken else self._score(z)
        self._proof: tuple[DualPoint, float] | None = None
        # A response the null model fits exactly leaves nothing but rounding to be relative to:
        # residuals of 1e-14 of the response, and the underflow of their squares.
        self._noise = program.rounding / tol

    @property
    def gap(self) -> float:
        """What is left, relative to max(|value|, |null|) (or to the rounding of a perfect fit)."""
        return (self.best.value - self.top.value) / self.scale

    @property
    def scale(self) -> float:
        return max(abs(self.best.value), abs(self.program.null), self._noise)

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return self.deadline.seconds - self._earlier

    def proof(self) -> tuple[DualPoint, float]:
        """The best dual vector with its rounding-safe scores, and the dual value it proves."""
        if self._proof is None or self._proof[0].t is not self.top.t:
            point = dual_point_at(self.program, self.top.t, self.top.scores)
            self._proof = point, bound_at(self.program, point, lagrangian=True)
        return self._proof

    def proved_gap(self) -> float:
        """`gap` with the proved dual value."""
        return (self.best.value - self.proof()[1]) / self.scale

    @property
    def index(self) -> Index:
        """The features of the working set."""
        return self.workspace.index

    def loop(self) -> str:
        """Rounds until the gap closes; why it stopped."""
        fresh = self._first_columns()
        k, matrix, near = self.program.k, self.program.matrix, 0.1 * self.tol
        quick = isinstance(self.smooth, GramPart) and k is not None and matrix.room is None
        missing = len(self.index) + len(fresh) < self.program.m
        share, rough = (0.05, ROUGHER) if quick and missing else (0.01, ROUGH)
        accuracy, idle = near if self.warm else rough, 0
        while self.rounds < MOST_ROUNDS:
            if self.gap <= self.tol and self.proved_gap() <= self.tol:
                return f"The relative gap is {self.proved_gap():.1e}"
            if self.deadline.late(product=self.smooth.price(len(fresh)), scan=1):
                return "The time limit was reached"
            self.program.matrix.expect(self.program.groups.placed(self.last.strength))
            self.workspace.add(self.program, fresh, self.deadline)
            before = self.gap
            state, threshold, z = self._solve(accuracy * self.scale)
            self.rounds += 1
            self.last = self._score(z)
            self.top = max(self.top, self.last, key=lambda score: score.value)
            self.best = min(self.best, state, key=lambda state: state.value)
            self.w[self.index], self.b = state.w, state.b
            support = int(np.count_nonzero(state.w))
            if self.callback is not None:
                sides = self.best.value, self.proof()[1], len(self.index)
                self.callback(Progress(self.rounds, *sides, self.seconds))
            fresh = self._violators(threshold, support)
            # Nothing to add: the working set's own accuracy is what is missing, or, where the gap
            # is closed but not proved, the rounding of the bound.
            stalled = not self.tol < self.gap <= 0.5 * before
            idle = idle + 1 if len(fresh) == 0 and stalled else 0
            if idle > 3:
                return "The gap stopped closing, at the accuracy of float64 on these data"
            # Few violators: the next round may be the last, and Newton's last digits are cheaper
            # than another pass. Many: they will move everything, and digits would be wasted.
            last = 10 * len(fresh) <= support
            rough = ROUGHER if self._dear() else rough
            accuracy = near if last else min(max(share * self.gap, near), rough)
            if len(fresh) == 0:
                accuracy = max(0.01 * min(accuracy, self.gap), 1e-16)
        return f"{MOST_ROUNDS} working sets were not enough"

    def _solve(self, accuracy: float) -> tuple[_State, float | Vector, Vector]:
        """Solve on the working set: a relaxed point, the strength that keeps features at 0, and z.

        z are the predictions whose gradient is the dual vector: those of the Lagrangian's
        minimiser, which for the ball is the relaxed point before it is scaled into the ball.
        """
        program, w = self.program, self.w[self.index]
        deadline = self.deadline.before(scan=1)
        # An envelope is piecewise linear in parts: Newton's last steps there gain little.
        start, worth = self.smooth.at(w, self.b), 0.0 if program.box is None else SLOW
        accuracy = max(accuracy, 0.2 * self.tol * self.scale if self.rounds == 0 else 0.0)
        if program.ball is None:
            penalty = program.penalty(self.index)
            solved = newton(
                self.smooth, penalty, start, accuracy, self.scale, worth=worth, deadline=deadline
            )
            self.steps += solved.steps
            root = self._root if isinstance(self._root, float) else 1.0
            point, inner, cost = solved.point, penalty.weights(solved.point.w), solved.slopes.value
        else:
            penalty = program.penalty(self.index, 1.0)
            if not self.eta > 0:
                self.eta = penalty.multiplier(-start.gradient, program.ball)
            found = solve_ball(
                self.smooth,
                penalty,
                start,
                self.eta,
                program.ball,
                accuracy,
                self.scale,
                deadline=deadline,
                inner=1e-13 if program.box is None else 0.01 * self.tol,
                worth=worth,
            )
            solved, self.eta, self.steps = found.dual, found.eta, self.steps + found.steps
            root = math.sqrt(self.eta)
            point, inner, cost = found.primal.point, found.primal.u, found.primal.cost
        z = self.smooth.predictions(solved.point.w, solved.point.b)
        image = z if point is solved.point else self.smooth.predictions(point.w, point.b)
        value = program.F.value(image) + cost
        beta = solved.slopes.beta
        slope = beta if program.l0 is None else np.sqrt(2.0 * self._prices)
        return _State(value, point.w, point.b, inner, beta, self.eta), root * slope, z

    @property
    def _prices(self) -> float | Vector:
        """l0 of each group; one number where all, those always in aside, have the same."""
        assert self.program.l0 is not None
        return self.program.groups.led(self.program.l0)

    def _score(self, z: Vector) -> _Score:
        """The dual vector F'(z), scored: one pass over X."""
        program = self.program
        shifted = z if program.offset is None else z + program.offset
        with np.errstate(over="ignore", invalid="ignore"):
            t = repair(program, program.loss.gradient(program.y, shifted))
            with self.deadline.timed("scan", 1):
                scores = scored(program, t)
            return self._valued(t, scores)

    def _rated(self, point: DualPoint) -> _Score:
        """A dual vector whose scores are at hand."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._valued(point.t, point.scores)

    def _valued(self, t: Vector, scores: Vector) -> _Score:
        program, alone = self.program, self.program.groups.single
        reach = np.abs(scores) if self._signed or self._barred or alone else scores
        if self._signed:
            reach = np.where(program.positive, np.maximum(-scores, 0.0), reach)
        if self._barred:
            reach[program.never] = 0.0
        even = isinstance(self._root, float)
        strength = program.groups.norms(reach if even else reach / self._root)
        value = -program.F.conjugate(program.F.p * t) - self._gain(reach, strength)
        return _Score(t, scores, strength, -math.inf if math.isnan(value) else value)

    def _image(self, w: Vector, support: Index) -> Vector:
        """X w: from the workspace where its columns are all there."""
        inside = w[self.index]
        if np.count_nonzero(inside) < len(support) or self.program.fit_intercept:
            return self.program.matrix.gathered(support).product(w[support])
        return self.smooth.predictions(inside, 0.0)

    def _gain(self, reach: Vector, strength: Vector) -> float:
        """h*(-X^T a) over all features, with the best eta for the ball."""
        program, few = self.program, self._gainers(strength)
        reach = np.abs(reach[few])
        if program.ball is None:
            return program.penalty(few).conjugate(reach)
        penalty = program.penalty(few, 1.0)
        eta = penalty.multiplier(reach, program.ball)
        return penalty.with_ridge(eta).conjugate(reach) + 0.5 * eta * program.ball

    def _gainers(self, strength: Vector) -> Index:
        """Features that h*(-X^T a) can depend on: all, or the few with the largest scores."""
        program, always = self.program, self.program.problem.always
        if program.k is not None:
            gains, _ = level_set(strength, program.k + len(always))
        elif program.ball is None:
            root = self._root if isinstance(self._root, float) else 1.0
            gains = strength > root * np.sqrt(2.0 * self._prices)
        else:
            gains = strength > 0.0
        few = program.groups.first(np.flatnonzero(gains))
        return program.groups.whole(np.union1d(few, always) if len(always) else few)

    def _first_columns(self) -> Index:
        """Always-in features, the start's support and the best scores."""
        program = self.program
        support, size = nonzeros(self.w), max(1, program.groups.largest // EARLY)
        least = max(self._small // size, 2 * (program.k or 0), 2 * len(support) // size)
        count, held = max(self._first // size, least), len(self.index) // size
        given = program.groups.whole(np.union1d(support, program.problem.always))
        first = np.setdiff1d(given, self.index)
        if count <= held:
            return first
        taken = np.concatenate((first, self.index))
        strong, _ = level_set(self.last.strength, count - held + len(taken))
        if program.matrix.thin:
            count = min(count, max(least, held + self._light(strong)))
        return np.concatenate((first, self._best(strong, taken, max(0, count - held))))

    def _dear(self) -> bool:
        """Whether a Newton step on sparse columns takes longer than a pass."""
        matrix = self.program.matrix
        return bool(matrix.thin and STEP * matrix.filled(self.index).sum() > matrix.entries)

    def _light(self, among: Mask) -> int:
        """How many of these groups, the strongest, hold one in THIN of the entries."""
        matrix, places = self.program.matrix, np.flatnonzero(among)
        order = places[np.argsort(-self.last.strength[places])]
        held = np.cumsum(matrix.filled(self.program.groups.first(order)))
        return int(np.searchsorted(held, matrix.entries / THIN, side="right"))

    def _violators(self, threshold: float | Vector, support: int) -> Index:
        """Features outside the working set whose strength exceeds what keeps them at zero."""
        size = self.program.groups.largest
        count = max(self._batch // max(1, size // LATE), support // size)
        return self._best(self.last.strength > threshold, self.index, max(count, 1))

    def _best(self, among: Mask, taken: Index, count: int) -> Index:
        """The columns of the `count` strongest groups, in order of position.

        `among` are those in question; left out are those that may not, or need not, be added.
        """
        groups, strength = self.program.groups, self.last.strength
        some = np.flatnonzero(among & (strength > 0.0))
        leaders = groups.first(some)
        left = np.isin(leaders, taken, assume_unique=True, invert=True)
        if self.program.k == 0:
            left &= ~self.program.free[leaders]
        some, leaders = some[left], leaders[left]
        if len(some) > count:
            leaders = np.sort(leaders[np.argpartition(-strength[some], count)[:count]])
        return groups.whole(leaders)

    def _admissible(self, w: Vector) -> Vector:
        w = np.where(self.program.never, 0.0, w) if self._barred else w.copy()
        return np.where(self.program.positive, np.maximum(w, 0.0), w) if self._signed else w

    def result(self, message: str, interrupted: bool) -> Relaxation:
        """What was reached."""
        program, best = self.program, self.best
        w, u = np.zeros(program.m), program.always.astype(np.float64)
        inside = self.index[: len(best.w)]
        w[inside], u[inside] = best.w, best.u
        coef, intercept = program.to_user(w, best.b)
        if program.l0 is not None:
            multiplier = program.l0 if isinstance(program.l0, float) else math.nan
        else:
            # With k = 0 any price that no feature would pay is a multiplier.
            multiplier = 0.5 * best.beta**2 if program.k else math.inf
        point, dual_value = self.proof()
        self.workspace.keep(point)
        gap = self.proved_gap()
        met = gap <= self.tol
        if not met:
            message += f": the relative gap is {gap:.1e}, above tol={self.tol:g}"
        return Relaxation(
            value=best.value,
            dual_value=dual_value,
            lower=bound_at(program, point),
            status="optimal" if met else "bounded",
            message=message,
            coef=coef,
            intercept=intercept,
            w=w,
            b=best.b,
            u=u,
            dual=program.F.p * point.t,
            point=point,
            l0_multiplier=multiplier,
            eta=best.eta,
            stats=RelaxationStats(
                full_passes=program.matrix.passes - self._first_pass,
                newton_steps=self.steps,
                rounds=self.rounds,
                working_set=len(self.index),
                seconds=self.seconds,
            ),
            interrupted=interrupted,
            box=program.box,
        )
