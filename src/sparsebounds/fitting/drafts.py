"""Drafts: many small supports fitted in one call by plain Newton steps.

A search compares thousands of supports of a dozen columns and returns one model. With columns A_r
of the r-th support, all of them at once,

    H_r = A_r B A_r^T + R - c c^T / mass    g_r = A_r a + R w_r - c slope / mass
    w_r <- w_r - H_r^-1 g_r                 with a = F'(z_r), B = F''(z_r), c = A_r B 1

halved while the objective does not fall. The decrement d = g.H^-1 g is about twice what is left to
gain, and less than that far down an exponential (classes that are separable): a support whose
objective less 4 d is above a limit is given up. A draft's objective is rounded
to nearest and proves nothing; `refit` makes a model of it. What plain steps do not settle (classes
that are separable under a tiny ridge) is left to `refit` as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.fitting.refit import Model
from sparsebounds.losses import MeanLoss
from sparsebounds.program import Program
from sparsebounds.relaxation import least_bend

STEPS, HALVINGS = 12, 6
HOPE = 4.0
"""What may be left to gain, in decrements."""

SETTLED = 1e-10
"""The decrement before the last step, relative to the objective; the step leaves its square."""

NOISE = 4e-16
"""Rounding of an objective."""

ENTRIES = 1 << 21
"""Numbers of columns that are gathered at a time."""


NONE = np.zeros(0)


@dataclass(frozen=True)
class Draft(Model):
    """A model on the way: its value is rounded to nearest."""


def draftable(program: Program) -> bool:
    """Whether plain steps find the best model of a support: there is a ridge, and no box."""
    return program.loss.convex and program.ball is None and program.box is None


@dataclass(frozen=True)
class Drafted:
    """Supports as plain steps leave them: one row per support, zeros after its last feature."""

    w: Vector
    b: Vector
    value: Vector
    """Without prices; NaN where the steps did not settle, inf where the limit is out of reach."""


class Wanted(NamedTuple):
    """Supports whose best coefficients are wanted: places among some columns."""

    ridges: Vector
    """Of all of the columns."""

    supports: Sequence[Index]
    w: Vector
    """Where steps start: a row per support, zeros after its last feature."""

    b: Vector
    limit: Vector
    """What the objective of each is to come below."""

    def of(self, cut: slice) -> Wanted:
        """Some of them."""
        return Wanted(self.ridges, self.supports[cut], self.w[cut], self.b[cut], self.limit[cut])


@np.errstate(all="ignore")
def drafted(program: Program, rows: Callable[[Index], Vector], wanted: Wanted) -> Drafted:
    """The best coefficients on supports, whose columns of X are `rows` of their places."""

    def block(places: Index, real: Mask) -> tuple[MeanLoss, Vector]:
        A = rows(places)
        A[~real] = 0.0
        return program.F, A

    return by_blocks(block, program.n, program.fit_intercept, wanted)


def by_blocks(
    block: Callable[[Index, Mask], tuple[MeanLoss, Vector]],
    depth: int,
    intercept: bool,
    wanted: Wanted,
) -> Drafted:
    """The same where `block` has the data term and the columns of some supports.

    These are zeros where a place is not real, and have `depth` rows at most.
    """
    ridges, supports, w, b, limit = wanted
    most = max(1, max(map(len, supports), default=1))
    share = max(1, ENTRIES // (most * depth))
    if len(supports) > share:
        cuts = [slice(i, i + share) for i in range(0, len(supports), share)]
        parts = [by_blocks(block, depth, intercept, wanted.of(cut)) for cut in cuts]
        return Drafted(
            np.concatenate([np.pad(one.w, ((0, 0), (0, most - one.w.shape[1]))) for one in parts]),
            np.concatenate([part.b for part in parts]),
            np.concatenate([part.value for part in parts]),
        )
    places, real = padded(supports, most)
    F, A = block(places, real)
    return fitted(F, intercept, A, np.where(real, ridges[places], 1.0), w, b, limit)


@np.errstate(all="ignore")
def fitted(
    F: MeanLoss,
    intercept: bool,
    A: Vector,
    ridges: Vector,
    w: Vector,
    b: Vector,
    limit: Vector,
) -> Drafted:
    """The best coefficients on columns A, a block per support; each may have its own F."""
    return _Batch(F, intercept, A, ridges, w, b).run(limit)


def padded(supports: Sequence[Index], size: int) -> tuple[Index, Mask]:
    """(places, real): one row per support, filled up with place 0 where it is not real."""
    places = np.zeros((len(supports), size), dtype=np.int64)
    real = np.zeros((len(supports), size), dtype=bool)
    for i, support in enumerate(supports):
        places[i, : len(support)], real[i, : len(support)] = support, True
    return places, real


def bends(F: MeanLoss, z: Vector) -> Vector:
    """B at predictions z, positive where the loss is flat."""
    found: Vector = np.maximum(F.curvature(z), least_bend(F.loss) * F.p)
    return found


class Sums(NamedTuple):
    """What a step is made of, one row per support; the last three where there is an intercept."""

    H: Vector
    """A B A^T."""

    g: Vector
    """A a."""

    c: Vector = NONE
    """A B 1."""

    mass: Vector = NONE
    """The sum of B."""

    slope: Vector = NONE
    """That of a."""


class Steps(ABC):
    """Newton's method on many supports at once; those that are done are taken out."""

    settled: ClassVar[float] = SETTLED
    hope: ClassVar[float] = HOPE

    def __init__(self, intercept: bool, ridges: Vector, w: Vector, b: Vector) -> None:
        self.intercept, self.ridges = intercept, ridges
        self.w, self.b = w[:, : ridges.shape[1]].copy(), b.copy()
        self.kept, self.value = self.at(np.arange(len(ridges)), self.w, self.b)

    @abstractmethod
    def at(self, some: Index, w: Vector, b: Vector) -> tuple[Vector, Vector]:
        """(what `sums` are made of, objectives) of some of the supports, one row each."""

    @abstractmethod
    def sums(self, some: Index) -> Sums:
        """Those of some of the supports, where they are."""

    def steps(self, some: Index) -> tuple[Vector, Vector, Vector]:
        """Newton's steps in w and b, and the decrements."""
        w, ridges = self.w[some], self.ridges[some]
        H, g, c, mass, slope = self.sums(some)
        g += ridges * w
        if self.intercept:
            H -= (c / mass[:, None])[:, :, None] * c[:, None, :]
            g -= c * (slope / mass)[:, None]
        diagonal = np.einsum("ijj->ij", H)
        diagonal += ridges
        unit = 1.0 / np.sqrt(diagonal)
        H *= unit[:, :, None]
        H *= unit[:, None, :]
        try:
            step = -unit * np.linalg.solve(H, (unit * g)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            step = np.full(w.shape, np.nan)
        rise = np.zeros(len(some))
        decrement = -np.einsum("ij,ij->i", g, step)
        if self.intercept:
            rise = -(slope + np.einsum("ij,ij->i", c, step)) / mass
            decrement += slope**2 / mass
        return step, rise, decrement

    def run(self, limit: Vector) -> Drafted:
        left = np.flatnonzero(np.isfinite(self.value))
        result = np.full(len(self.value), np.nan)
        for _ in range(STEPS):
            if not len(left):
                break
            step, rise, decrement = self.steps(left)
            value = self.value[left]
            limit = self.limits(limit)
            hopeless = value - self.hope * decrement > limit[left]
            result[left[hopeless]] = np.inf
            fine = np.isfinite(decrement) & ~hopeless
            left, step, rise = left[fine], step[fine], rise[fine]
            value, decrement = value[fine], decrement[fine]
            near = decrement <= self.settled * np.abs(value)
            moved = self.ended(left, step, rise, np.where(near, decrement, np.nan))
            rest = np.flatnonzero(~moved)
            most = value[rest] + NOISE * np.abs(value[rest])
            moved[rest] = self.move(left[rest], step[rest], rise[rest], most)
            done = near & (moved | (decrement <= NOISE * np.abs(value)))
            result[left[done]] = self.value[left[done]]
            left = left[~done & moved]
        return Drafted(self.w, self.b, result)

    def limits(self, limit: Vector) -> Vector:
        """What objectives are to come below, from what they were to at first."""
        return limit

    def ended(self, left: Index, step: Vector, rise: Vector, last: Vector) -> Mask:
        """Which steps were taken that need no look at where they lead.

        `last` has the decrements of last steps, NaN for others.
        """
        return np.zeros(len(left), dtype=bool)

    def move(self, left: Index, step: Vector, rise: Vector, most: Vector) -> Mask:
        """Take the steps, halved while objectives exceed `most`; which ones were taken."""
        taken, length = np.zeros(len(left), dtype=bool), 1.0
        for _ in range(HALVINGS):
            still = np.flatnonzero(~taken)
            if not len(still):
                break
            some = left[still]
            w = self.w[some] + length * step[still]
            b = self.b[some] + length * rise[still]
            kept, value = self.at(some, w, b)
            good = value <= most[still]
            chosen = some[good]
            self.w[chosen], self.b[chosen] = w[good], b[good]
            self.kept[chosen], self.value[chosen] = kept[good], value[good]
            taken[still[good]] = True
            length *= 0.5
        return taken


class _Batch(Steps):
    """On columns at hand: what is kept are predictions."""

    def __init__(
        self, F: MeanLoss, intercept: bool, A: Vector, ridges: Vector, w: Vector, b: Vector
    ) -> None:
        self.F, self.A = F, A
        super().__init__(intercept, ridges, w, b)

    def at(self, some: Index, w: Vector, b: Vector) -> tuple[Vector, Vector]:
        z = (w[:, None, :] @ self._taken(some))[:, 0] + b[:, None]
        ridge = 0.5 * np.einsum("ij,ij,ij->i", self.ridges[some], w, w)
        return z, self._loss(some).values(z) + ridge

    def _loss(self, some: Index) -> MeanLoss:
        """F of some supports."""
        F = self.F
        return F if F.p.ndim == 1 or len(some) == len(self.A) else F.of(some)

    def _taken(self, some: Index) -> Vector:
        """The columns of some supports."""
        return self.A if len(some) == len(self.A) else self.A[some]

    def sums(self, some: Index) -> Sums:
        F, A, z = self._loss(some), self._taken(some), self.kept[some]
        a, bend = F.gradient(z), bends(F, z)
        scaled = A * bend[:, None, :]
        H = scaled @ A.transpose(0, 2, 1)
        g = (A @ a[:, :, None])[:, :, 0]
        if not self.intercept:
            return Sums(H, g)
        return Sums(H, g, (A @ bend[:, :, None])[:, :, 0], bend.sum(axis=1), a.sum(axis=1))
