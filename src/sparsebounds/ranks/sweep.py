"""rank_bounds: solve on X_r, which is cheap, and prove on the full X, which takes a pass.

For each rank r, X = X_r + dX:

    relax X_r           a dual vector a_r, started from the last rank
    lower               the bound with the full X at a_r, at its best multiple and, with a price l0,
                        at the vectors of two budgets beside it (cardinality is an integer)
    primalize on X_r    few fractional weights, since the rank is low
    upper               the best model of those that this rank suggests, evaluated on the full X:
                        the primalized point and its refit, refits of the relaxation's supports

The paper's numbers, with dX in them, stand beside (`stated`). X_r is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.deadline import Deadline
from sparsebounds._support.rounding import down
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import check_callback, positive_number, truth, whole_number
from sparsebounds.arguments import spoken
from sparsebounds.bounds import DualPoint, best_cover, dual_point_at, one_price
from sparsebounds.fitting import evaluated
from sparsebounds.models import Model, candidate_supports, refit
from sparsebounds.primalization import primalize
from sparsebounds.program import Program, check_program
from sparsebounds.ranks.arguments import chosen_method, chosen_ranks
from sparsebounds.ranks.basis import Factors, checked_basis, factorise
from sparsebounds.ranks.directions import Directions
from sparsebounds.ranks.multiple import best_multiple
from sparsebounds.ranks.result import RankBounds, RankRow, notes_on
from sparsebounds.ranks.stated import difference_up, sharpened, zeta_up
from sparsebounds.relaxation import Relaxation, relaxation_of
from sparsebounds.solving import certificate_from


@one_thread()
@spoken
def rank_bounds(
    program: Program,
    ranks: Iterable[int] | None = None,
    *,
    method: Literal["svd", "randomized"] | None = None,
    basis: Any = None,
    power: int = 6,
    full: bool = True,
    draws: int = 0,
    random_state: int = 0,
    tol: float = 1e-8,
    time_limit: float | None = None,
    callback: Callable[[RankRow], None] | None = None,
) -> RankBounds:
    """Bounds on the optimum from low-rank approximations of X, one row per rank.

    Ctrl-C returns the rows that are finished, if there are any; a note says so.

    Parameters
    ----------
    program : Program
        The sparse program, of a convex loss.
    ranks : iterable of int, optional
        Ranks of X_r, from 1 to min(n, m). By default all, or 50 of them spread evenly.
    method : {"svd", "randomized"}, optional
        Where the approximations come from. "svd": the best ones. "randomized": nearly so, by
        products with X alone; the choice for sparse X, which an SVD would fill, and for X read
        by blocks, of which it needs few passes. Default: "randomized" for these, "svd" otherwise.
    basis : array of n rows, optional
        Orthonormal columns of your own in place of `method`: X_r = Q Q^T X with its first r columns
        Q. (With sample weights or an intercept: of the rows scaled by sqrt(n p_i), centred.)
    power : int, default 6
        Power iterations of "randomized".
    full : bool, default True
        Also relax the full X, which `stated_upper` and the `purified` columns need.
    draws : int, default 0
        Random objectives of the paper's linear program, for `opt_std`.
    random_state : int, default 0
        Seeds "randomized" and `draws`.
    tol : float, default 1e-8
        Relative gap of the relaxations.
    time_limit : float, optional
        Seconds after which no further rank is begun.
    callback : callable, optional
        Called with each `RankRow`.

    Returns
    -------
    RankBounds
        A row per rank, and the certificate of the best of both sides.

    Raises
    ------
    ValueError
        Where the loss is not convex, or an argument makes no sense.

    Examples
    --------
    >>> data = sb.datasets.make_bell_spectrum(60, 20, rank=3, scale=20.0)
    >>> program = sb.Program(data.X, data.y, k=4, ball=20.0)
    >>> bounds = sb.rank_bounds(program, [2, 8])
    >>> for row in bounds.rows:
    ...     print(row.rank, f"{row.explained:.2f} {row.lower:.3f} {row.upper:.3f}")
    2 0.38 26.348 38.244
    8 0.75 33.381 38.244
    """
    check_program(program)
    program.require_convex("rank_bounds")
    deadline, first_pass = Deadline.of(time_limit), program.matrix.passes
    Q = None if basis is None else checked_basis(basis, program.n)
    chosen = chosen_method(program, method, Q)
    wanted = chosen_ranks(program, ranks, min(program.n, program.m) if Q is None else Q.shape[1])
    power, draws, seed = (
        whole_number(name, value)
        for name, value in (("power", power), ("draws", draws), ("random_state", random_state))
    )
    tol = positive_number("tol", tol)
    check_callback(callback)
    full = truth("full", full)
    interrupted = False
    # Short of its tolerance a relaxation still yields a dual vector, and every one is valid.
    factors = factorise(program, wanted[-1], chosen, Q, power, seed)
    sweep = _Sweep(program, factors, tol, full, draws, seed, deadline)
    for rank in wanted:
        try:
            with deadline.timed("row", 1):
                row = sweep.row(rank)
        except KeyboardInterrupt:
            if not sweep.rows:
                raise
            interrupted = True
            break
        if callback is not None:
            callback(row)
        if deadline.late(row=1):
            break
    return RankBounds(
        rows=tuple(sweep.rows),
        program=program,
        method=chosen,
        certificate=certificate_from(program, sweep.points, sweep.model),
        notes=notes_on(program, bool(full), len(wanted) - len(sweep.rows), interrupted),
        interrupted=interrupted,
        full_passes=program.matrix.passes - first_pass,
        seconds=deadline.seconds,
    )


class _Sweep:
    """The loop over ranks: what one rank leaves to the next, and the best of all."""

    # Overflow is an infinite value, or an unset one, not news for the user.
    @np.errstate(over="ignore", invalid="ignore")
    def __init__(
        self,
        program: Program,
        factors: Factors,
        tol: float,
        full: bool,
        draws: int,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.program, self.factors, self.tol, self.deadline = program, factors, tol, deadline
        self.draws, self.seed = draws, seed
        self.rows: list[RankRow] = []
        self.points: list[DualPoint] = []
        self._lower = -math.inf
        self._starts: dict[int | None, Relaxation] = {}
        self._values: dict[tuple[int, ...], float] = {}
        self.model = refit(program, np.flatnonzero(program.always))
        self._null = self.model.value
        self._full = self._relax(program, min(tol, 1e-10)) if full else None
        self._directions = None if self._full is None else Directions(program, self._full)

    @np.errstate(over="ignore", invalid="ignore")
    def row(self, rank: int) -> RankRow:
        """All numbers of one rank."""
        program, low = self.program, self.program.with_matrix(self.factors.at(rank))
        relaxed = self._relaxed(low, None)
        points = self._dual_points(low, relaxed)
        lower = best_cover(program, points).lower
        if lower > self._lower or not self.points:
            self._lower, self.points = lower, points

        found = primalize(low, relaxed, draws=self.draws, random_state=self.seed)
        primal = evaluated(program, found.w, found.b - float(self.factors.center @ found.w))
        purified, promised = self._purified(rank)
        made = [primal] if purified is None else [primal, purified]
        upper = min(self._null, *map(self._kept, made), *self._refits(relaxed, made))

        apart = difference_up(program, points[0], relaxed.point)
        zeta_r, zeta = zeta_up(program, apart), self._zeta(low)
        claimed = found.value if program.k is None else relaxed.value
        row = RankRow(
            rank=rank,
            explained=float(self.factors.explained[rank - 1]),
            stated_lower=float(down(relaxed.dual_value - zeta_r)),
            stated_upper=claimed + zeta,
            lower=lower,
            upper=upper,
            primalized=primal.value,
            n_nonzero=found.n_nonzero,
            sharp_lower=sharpened(program, points[0], relaxed.point),
            zeta_r=zeta_r,
            zeta=zeta,
            relaxed=relaxed.value,
            opt=found.value,
            opt_std=_spread(found.values),
            purified=math.nan if purified is None else purified.value,
            purified_bound=promised,
            purified_nonzero=math.nan if purified is None else self._counted(purified.w),
        )
        self.rows.append(row)
        return row

    def _dual_points(self, low: Program, relaxed: Relaxation) -> list[DualPoint]:
        """The dual vectors of X_r, and their best multiples, on the full X; a_r first."""
        problems, points = [self.program], list[DualPoint]()
        if one_price(self.program) is not None:
            total = float(np.sum(relaxed.u[self.program.free]))
            sizes = sorted({math.floor(total), math.ceil(total)})
            problems += [self.program.with_budget(size) for size in sizes]
        for problem in problems:
            solved = relaxed
            if problem is not self.program:
                solved = self._relaxed(problem.with_matrix(low.matrix), relaxed)
            point = dual_point_at(self.program, solved.point.t)
            points += [point, best_multiple(problem, point)]
        return points

    def _relaxed(self, low: Program, other: Relaxation | None) -> Relaxation:
        """The relaxation, from that of the last rank with the same budget, or from another one."""
        found = self._relax(low, self.tol, self._starts.get(low.k, other))
        self._starts[low.k] = found
        return found

    def _relax(self, program: Program, tol: float, start: Relaxation | None = None) -> Relaxation:
        """One that Ctrl-C cut short is no row, and ends the loop as well."""
        found = relaxation_of(program, tol, start=start, time_limit=self.deadline)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def _refits(self, relaxed: Relaxation, made: list[Model]) -> Iterator[float]:
        """The values of the best models on the supports that this rank suggests."""
        supports = [self._largest(model.w) for model in made]
        floor = self.program.F.infimum
        for support in (*supports, *candidate_supports(self.program, relaxed)):
            # Prices alone may rule a support out; and supports recur from rank to rank.
            if floor + float(np.sum(self.program.prices[support])) >= self._null:
                continue
            key = tuple(support.tolist())
            if key not in self._values:
                self._values[key] = self._kept(refit(self.program, support))
            yield self._values[key]

    def _kept(self, model: Model) -> float:
        """The model's value, inf beyond k nonzeros; the best model so far is kept."""
        if self.program.k is not None and self._counted(model.w) > self.program.k:
            return math.inf
        if model.value < self.model.value:
            self.model = model
        return model.value

    def _largest(self, w: Vector) -> Index:
        """The groups of a model that are free to choose; in the k forms its k largest."""
        size = self.program.groups.lengths(np.abs(w))
        free = np.flatnonzero(self.program.free & (size > 0.0))
        return np.sort(free[np.argsort(-size[free], kind="stable")[: self.program.k]])

    def _counted(self, w: Vector) -> int:
        return len(self.program.counted(np.flatnonzero(w)))

    def _purified(self, rank: int) -> tuple[Model | None, float]:
        """The point purified against `rank` directions, and its promise."""
        if self._directions is None:
            return None, math.nan
        w, b, bound = self._directions.purify(rank)
        return evaluated(self.program, w, b), bound

    def _zeta(self, low: Program) -> float:
        """sqrt(ball) |dX^T a| at the dual vector a of the full X."""
        if self._full is None or self.program.ball is None:
            return math.nan
        point = self._full.point
        apart = difference_up(self.program, point, dual_point_at(low, point.t))
        return zeta_up(self.program, apart)


def _spread(values: Vector) -> float:
    """The standard deviation of the values that are there; NaN without any."""
    found = values[np.isfinite(values)]
    return float(np.std(found)) if len(found) else math.nan
