"""Curvature of losses whose curvature is not the same everywhere: on a region of good models.

Let V be a level, t a dual vector with scores g and conjugate F*, (w', b') any model and z' its
predictions, c_i >= 0 and 0 <= s_j < 1. B_i(z) = loss_i(z) - t_i z + loss_i*(t_i) >= 0 is convex.

1. With v_j = -g_j / ridge_j and q_j = g_j^2 / (2 ridge_j), a model of objective at most V has
   sum_i p_i B_i(z_i) + sum_{j in} (ridge_j (w_j - v_j)^2/2 - q_j + l0_j) <= V + F*. As
   s (w - w')^2 <= (w - v)^2 + s/(1 - s) (v - w')^2, and w_j = 0 where j is out,
       Psi = sum_i p_i B_i(z_i) + sum_j s_j ridge_j (w_j - w'_j)^2/2  <=  T,
   T = V + F* + sum_j o_j + the largest sum of q_j - l0_j + e_j - o_j over a support, with
   e_j = ridge_j s_j/(1 - s_j) (v_j - w'_j)^2/2 and o_j = ridge_j s_j w'_j^2/2.
2. Let H(w, b) = sum_i p_i c_i (z_i - z'_i)^2/2 + sum_j s_j ridge_j (w_j - w'_j)^2/2. H <= T' gives
   |z_i - z'_i| <= rho_i = sqrt(2 T' h_i), h_i the leverage of row i in H.
3. Suppose that loss_i lies above its tangent at z'_i by c_i d^2/2 for |d| <= rho_i, and that
   T' > T + sum_i p_i |loss'_i(z'_i) - t_i| rho_i. Then every model of objective at most V has
   H <= T'. For on the way to another one, where H = T' is passed, Psi exceeds T, and its value at
   (w', b'); it is convex, and so exceeds T at the end.
4. There F(z) >= -F* + sum_i p_i (t_i z_i + c_i (z_i - z'_i)^2/2 - |loss'_i(z'_i) - t_i| rho_i): a
   quadratic function of (w, b), whose minorants are those of the loss (`bounds.minorant`).

So the optimum is at least V, or at least what the minorant proves. For features with a sign v_j is
0 where g_j > 0. Step 3 is checked at the ends of the intervals: where loss'' rises, then falls, so
does 2 (loss(z' + d) - tangent)/d^2 on each side, and it is loss''(z') at d = 0. As |loss'''| <=
loss'', the same at a point e away is exp(-e) times as large at least: z' is known up to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas

from sparsebounds._support.array import Vector
from sparsebounds._support.rounding import TINY, U, down, gamma, sum_up, up
from sparsebounds.bounds.curvature import Curvature
from sparsebounds.bounds.dual import WIDER, DualPoint, dual_point_at, widened
from sparsebounds.bounds.lower import best_sum_up, gathered_up, ridge_gains
from sparsebounds.bounds.many import MORE
from sparsebounds.bounds.upper import predicted, weighted_mean_up
from sparsebounds.losses import ULPS, Loss
from sparsebounds.program import Program

MOST_SHARE = 0.99
"""Shares s_j are at most this."""

MORE_TOTAL = 1.0 + 2.0**-20
"""T' beyond what it must exceed."""


class RegionCurvature(Curvature):
    """The quadratic function that lies below the loss on a region.

    `point` is the dual point, and `center` are the predictions z' with their rounding.
    """

    def __init__(
        self, program: Program, bend: Vector, point: DualPoint, center: tuple[Vector, Vector]
    ) -> None:
        super().__init__(program, weights=program.F.p * bend)
        self.point, self.center = point, center
        self.lost = math.inf
        """What the distance of t from the gradients at z' costs; inf: nothing is proved yet."""

        self.reach = np.full(program.n, math.inf)
        """rho."""

    @property
    def sound(self) -> bool:
        return self.lost < math.inf

    def target(self) -> tuple[Vector, Vector]:
        (z, doubt), offset = self.center, self.program.offset
        return (z if offset is None else z - offset), doubt

    def linear(self, wider: float = 1.0) -> tuple[float, Vector, Vector]:
        kappa, slope, unsure = super().linear(wider)
        point = self.point
        size = abs(kappa) + abs(point.conjugate) + self.lost
        kappa = kappa - point.conjugate - self.lost - wider * 2.0**-48 * size
        unsure = unsure + point.radius + wider * 4.0 * U * (np.abs(slope) + np.abs(point.scores))
        return kappa, slope - point.scores, unsure


@dataclass(frozen=True, eq=False)
class Region:
    """Where all models of objective at most `level` are, and the least curvature there."""

    level: float
    """V."""

    center: Vector = field(repr=False)
    """w', one number per feature."""

    intercept: float = field(repr=False)
    """b'."""

    share: Vector = field(repr=False)
    """s_j, the part of its ridge that each feature gives to H."""

    bend: Vector = field(repr=False)
    """c_i, one number per row."""

    @staticmethod
    def known(program: Program) -> bool:
        """Whether a program may have such regions."""
        return program.loss.self_concordant and program.ball is None and program.matrix.elementwise

    @np.errstate(all="ignore")
    def curvature(
        self, program: Program, t: Vector, *, claim: bool = False, point: DualPoint | None = None
    ) -> RegionCurvature | None:
        """The quadratic below the loss on this region; None where the region is not proved.

        t is the dual vector per sample, and `point` its dual point where that is at hand. With
        `claim`, there is the room for rounding that claims leave (`bounds.dual`).
        """
        if not (self.known(program) and self._fits(program)):
            return None
        wider, point = WIDER if claim else 1.0, point or dual_point_at(program, t)
        if claim:
            point = widened(program, point)
        z, doubt = predicted(program, self.center, self.intercept)
        found = RegionCurvature(program, self.bend, point, (z, doubt))
        reach = leverages(found, self.share * program.ridges, wider)
        if reach is None or not np.all(wider * doubt <= 1.0):
            return None
        loss, y, doubt = program.loss, program.y, wider * doubt
        total = self.total(program, point, wider)
        slopes, curves = loss.gradient(y, z), loss.curvature(y, z)
        off = np.abs(t - slopes) + _room(z, wider) * (np.abs(slopes) + np.abs(y))
        off = (off + 4.0 * curves * doubt) * MORE
        # T' is below 4 T, so that rho is at most twice, and what is lost at most two times this.
        lost = 2.0 * MORE * weighted_mean_up(program, off * reach * math.sqrt(2.0 * total))
        larger = (total + lost) * MORE_TOTAL
        rho = reach * (math.sqrt(2.0 * larger) * MORE)
        least = secants(loss, y, z, rho, wider) * (1.0 - doubt)
        if not (larger < 3.9 * total and np.all(least >= self.bend)):
            return None
        found.lost, found.reach = lost, rho
        return found

    def _fits(self, program: Program) -> bool:
        features = self.center.shape == self.share.shape == (program.m,)
        return (
            features
            and self.bend.shape == (program.n,)
            and bool(np.all((self.share >= 0.0) & (self.share <= MOST_SHARE)))
            and bool(np.all((self.bend >= 0.0) & np.isfinite(self.bend)))
            and bool(np.all(np.isfinite(self.center)))
            and math.isfinite(self.level)
            and (program.fit_intercept or self.intercept == 0.0)
        )

    def total(self, program: Program, point: DualPoint, wider: float) -> float:
        """T, rounded up; inf where it is not finite."""
        ridges, w, share = program.ridges, self.center, self.share
        best = -point.scores / ridges
        best = np.where(program.positive, np.maximum(best, 0.0), best)
        away = np.abs(best - w) + point.radius / ridges + 4.0 * U * (np.abs(best) + np.abs(w))
        into = 0.5 * ridges * np.square(away) * (share / (1.0 - share)) * MORE + TINY
        out = 0.5 * ridges * np.square(w) * share
        groups = program.groups
        gains = up(ridge_gains(program, point, ridges) + gathered_up(into, groups))
        spared = groups.gather(out) * (1.0 - 2.0 * U * (groups.largest + 2.0))
        chosen = up(gains - spared * (2.0 - MORE))[program.free]
        most = len(chosen) if program.k is None else min(program.k, len(chosen))
        parts = (
            self.level,
            point.conjugate,
            sum_up(gains[program.always]),
            sum_up(out[~program.always] * MORE + TINY),
            best_sum_up(chosen, 0, most),
        )
        size = float(np.sum(np.abs(parts)))
        total = float(np.sum(parts)) + wider * 2.0**-46 * size
        if not (np.all(np.isfinite(gains)) and np.all(np.isfinite(out)) and math.isfinite(total)):
            return math.inf
        return max(total, 2.0**-60 * size, 1e-290)


def leverages(
    curvature: Curvature, added: Vector, wider: float, *, proof: bool = True
) -> Vector | None:
    """The roots of the rows' leverages in Q + diag(added), the intercept's part among them.

    Rounded up, or, where no `proof` is asked, as they come. None where there are none.
    """
    program, live = curvature.program, np.arange(curvature.program.m)
    d = -down(added)
    unit = curvature.units(live, d)
    room = curvature.room(live, d, unit)
    # In these units the exact matrix exceeds L L^T by `room` at least.
    factor = curvature.factored(live, d, (wider + 1.0) * room)
    if factor is None:
        return None
    # One column per row of A, in the order of LAPACK when transposed: v = L^-1 x for each.
    scaled = curvature.centred * unit[:, None]
    sides = {"side": 1, "trans_a": 1, "lower": 1}
    solved = blas.dtrsm(1.0, factor, scaled.T, overwrite_b=not proof, **sides).T
    size = _column_lengths(solved)
    if proof:
        # x = L v + r has at most the length |v| + |r| / sqrt(room), however v was found.
        back = blas.dtrmm(1.0, factor, solved.T, **sides).T
        left = _column_lengths(scaled - back)
        # Of the residual itself; of the columns, and of what they are centred by.
        slack = 4.0 * gamma(program.m + 8)
        left += slack * (np.linalg.norm(factor) * size + _column_lengths(scaled))
        roundings = 8.0 + program.matrix.entry_roundings
        left += roundings * U * (unit @ (np.abs(curvature.sizes) + np.abs(curvature.centred)))
        if program.fit_intercept:
            mean = curvature.lengths / math.sqrt(curvature.whole)
            left += 4.0 * gamma(program.n + 16) * float(unit @ mean)
        left *= (1.0 + slack) * MORE
        # Squares may underflow.
        size = size * (1.0 + slack) + wider * left / math.sqrt(room) + 1e-150
    if program.fit_intercept:
        size = np.sqrt(np.square(size) + (1.0 + 4.0 * gamma(program.n + 16)) / curvature.whole)
    found: Vector = size * MORE
    return found


def _column_lengths(x: Vector) -> Vector:
    lengths: Vector = np.sqrt(np.einsum("ij,ij->j", x, x))
    return lengths


def secants(loss: Loss, y: Vector, z: Vector, reach: Vector, wider: float) -> Vector:
    """The largest c with loss(z + d) >= loss(z) + loss'(z) d + c d^2/2 for |d| <= reach.

    Rounded down, for losses that are self-concordant.
    """
    room = _room(z, wider)
    curve, slope = loss.curvature(y, z) * (1.0 - room), loss.gradient(y, z)
    here, terms = loss.value(y, z), loss.value_terms(y, z)
    least = curve
    for end in (down(z - reach), up(z + reach)):
        d = end - z
        rise = loss.value(y, end) - here - slope * d
        size = loss.value_terms(y, end) + terms + np.abs(slope * d)
        doubt = 4.0 * wider * ULPS * (U * size + TINY)
        doubt = doubt + room * (np.abs(slope) + np.abs(y)) * np.abs(d)
        secant = 2.0 * (rise - doubt) / np.square(d) * (1.0 - 16.0 * wider * U)
        least = np.fmin(least, np.where(np.isnan(secant), 0.0, secant))
    # By self-concordance alone, which needs no difference of nearly equal numbers.
    near = curve * (1.0 - reach / 3.0) * (1.0 - 16.0 * wider * U)
    found: Vector = np.fmax(np.fmax(least, near), 0.0)
    return found


def _room(z: Vector, wider: float) -> Vector:
    """What first and second derivatives are off by, relative to their terms."""
    room: Vector = 4.0 * wider * ULPS * U * (8.0 + np.abs(z))
    return room
