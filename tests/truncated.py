"""The referee for the truncated loss: every support with every set of outliers.

With the outliers known, what is left is a ridge regression on the inliers, or least squares in a
ball. Candidates are found for all sets of outliers at once, on columns centred over the inliers.
Each is a model, so its objective, rounded up, is attained: no valid lower bound is above it. A
support whose free minimiser breaks a sign is skipped, as a smaller one has the minimiser.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.rounding import in_ball
from sparsebounds.bounds import objective_up
from sparsebounds.losses import Truncated
from sparsebounds.program import Program
from sparsebounds.testing import random_program

FORMS = ("k+ridge", "l0+ridge", "k+ball", "l0+ball")


@dataclass(frozen=True)
class Candidates:
    """One model per row: the minimisers over all supports and sets of outliers."""

    program: Program
    w: np.ndarray
    b: np.ndarray
    residuals: np.ndarray
    values: np.ndarray
    """Objectives, as computed."""

    def best(self, among: Any = True) -> float:
        """The least objective of some of them, rounded up; inf where there is none."""
        places = np.flatnonzero(np.broadcast_to(among, self.values.shape))
        order = places[np.argsort(self.values[places], kind="stable")[:3]]
        values = [objective_up(self.program, self.w[i], float(self.b[i])) for i in order]
        return min(values, default=np.inf)

    def inside(self, bounds: Any, state: Any, slack: float = 1e-9) -> Any:
        """Which of them are models of a node (`bounds.rows`), next to its borders at most."""
        switches, w, r = bounds.switches, self.w, self.residuals
        kept = state[: switches.features]
        above, below = switches.sides(state)
        low, high = switches.range(state, (-np.inf, np.inf))
        c = bounds.c
        sides = [(above > 0, r >= c - slack), (above < 0, r <= c + slack)]
        sides += [(below > 0, r <= -c + slack), (below < 0, r >= -c - slack)]
        obeyed = np.all([np.all(obeys | ~asked, axis=1) for asked, obeys in sides], axis=0)
        fits = np.all(w[:, kept < 0] == 0.0, axis=1) & (self.b >= low) & (self.b <= high)
        return obeyed & fits


def candidates(program: Program) -> Candidates:
    """All of them; for at most 10 rows and 5 columns or so."""
    assert isinstance(program.loss, Truncated)
    n, m, p = program.n, program.m, program.F.p
    X = program.matrix.columns(np.arange(m))
    target = program.y if program.offset is None else program.y - program.offset
    shares = np.array(list(itertools.product((0.0, 1.0), repeat=n))) * p
    found = []
    for support in _supports(program):
        w, b = np.zeros((len(shares), m)), np.zeros(len(shares))
        w[:, support], b[:] = _minimisers(program, X[:, support], target, shares, support)
        found.append((w, b))
    w, b = (np.concatenate(parts) for parts in zip(*found, strict=True))
    allowed = np.all(w[:, program.positive] >= 0.0, axis=1)
    w, b = w[allowed], b[allowed]
    if program.ball is not None:
        for i in range(len(w)):
            while not in_ball(w[i], program.ball):
                w[i] *= 1.0 - 2.0**-51
    r = w @ X.T + b[:, None] - target
    values = np.minimum(np.square(r), program.loss.c**2) @ p / 2.0 + (w != 0.0) @ program.prices
    if program.ball is None:
        values = values + 0.5 * np.square(w) @ program.ridges
    return Candidates(program, w, b, r, values)


def tiny(seed: int) -> Program:
    """A tiny program with the truncated loss, of any form, without the features never in."""
    rng = np.random.default_rng(seed)
    form = FORMS[seed % 4]
    own = bool(rng.random() < 0.5)
    drawn = random_program(seed, form=form, fit_intercept=own, most_rows=6, most_columns=4)
    spread = float(np.std(drawn.y)) or 1.0
    drawn = drawn.with_loss(Truncated(c=spread * 10.0 ** rng.uniform(-1.0, 0.3)))
    kept = np.flatnonzero(~drawn.never)
    return drawn.restricted(kept) if len(kept) else tiny(seed + 4)


def _supports(program: Program) -> list[list[int]]:
    free, always = np.flatnonzero(program.free), np.flatnonzero(program.always)
    most = len(free) if program.k is None else min(program.k, len(free))
    base = _subsets(always, len(always)) if program.positive[always].any() else [tuple(always)]
    return [sorted((*one, *some)) for one in base for some in _subsets(free, most)]


def _subsets(items: Any, most: int) -> list[tuple[int, ...]]:
    return [one for size in range(most + 1) for one in itertools.combinations(items, size)]


def _minimisers(program: Program, X: Any, target: Any, shares: Any, support: list[int]) -> Any:
    """argmin sum p_i r_i^2/2 over the inliers, with the ridge or in the ball: one per set."""
    mass = np.maximum(shares.sum(axis=1), 1e-300)[:, None] * program.fit_intercept
    mass = np.where(mass > 0.0, mass, np.inf)
    center, level = shares @ X / mass, shares @ target / mass[:, 0]
    A, y = X[None] - center[:, None], target[None] - level[:, None]
    G = np.einsum("oi,oij,oik->ojk", shares, A, A)
    g = np.einsum("oi,oij,oi->oj", shares, A, y)
    if program.ball is None:
        G = G + np.diag(program.ridges[support])
        unit = 1.0 / np.sqrt(np.einsum("ojj->oj", G))
        scaled = G * unit[:, :, None] * unit[:, None, :]
        w = unit * _solved(scaled, unit * g)
    else:
        w = _in_ball(G, g, program.ball)
    return w, level - np.einsum("oj,oj->o", center, w)


def _solved(G: Any, g: Any) -> Any:
    """G^-1 g; where columns are dependent but for rounding, the least solution of all that are."""
    try:
        return np.linalg.solve(G, g[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return np.einsum("ojk,ok->oj", np.linalg.pinv(G, hermitian=True), g)


def _in_ball(G: Any, g: Any, ball: float) -> Any:
    """The secular equation, by bisection over the logarithm of the multiplier."""
    if not G.shape[1]:
        return np.zeros(g.shape)
    roots, basis = np.linalg.eigh(G)
    roots = np.maximum(roots, 0.0)
    turned = np.einsum("ojk,oj->ok", basis, g)
    tiny = 1e-13 * roots[:, -1:] + 1e-300
    free = np.where(roots > tiny, turned / np.maximum(roots, tiny), 0.0)
    size = np.sqrt(np.sum(np.square(turned), axis=1) / ball) + 1e-300
    low, high = np.log(size * 1e-16), np.log(size) + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        parts = turned / (roots + np.exp(middle)[:, None])
        long = np.sum(np.square(parts), axis=1) > ball
        low, high = np.where(long, middle, low), np.where(long, high, middle)
    bound = turned / (roots + np.exp(high)[:, None])
    inside = np.sum(np.square(free), axis=1) <= ball
    return np.einsum("ojk,ok->oj", basis, np.where(inside[:, None], free, bound))
