"""Lending by supports: what it pays for is exact, and bounds with it hold for every model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction as Q
from itertools import combinations
from typing import Any

import numpy as np
from tests.bounds.test_rows import bounds_of, node_of
from tests.cases import seeds
from tests.truncated import candidates, tiny

from sparsebounds.bounds import INSIDE, Lending, Lent, RowBounds, objective_up
from sparsebounds.bounds.row_tangents import Tilt
from sparsebounds.losses import Truncated
from sparsebounds.program import Program


def exact(x: Any) -> Any:
    """Floats as fractions."""
    return np.vectorize(Q, otypes=[object])(np.asarray(x, dtype=np.float64))


def semidefinite(A: Any) -> bool:
    """Whether a matrix of fractions is positive semidefinite."""
    A = A.copy()
    for j in range(len(A)):
        if A[j, j] < 0 or (A[j, j] == 0 and np.any(A[j, j:] != 0)):
            return False
        if A[j, j] > 0:
            A[j + 1 :, j + 1 :] -= np.outer(A[j + 1 :, j], A[j, j + 1 :]) / A[j, j]
    return True


def off_by_some(weights: Any, rng: Any) -> Any:
    """Weights as fractions, each off by a few roundings."""
    return exact(weights) * [1 + Q(int(x), 2**53) for x in rng.integers(-4, 5, size=len(weights))]


class Case:
    """Random columns with what they may lend: the weights are close to the most that is lent."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, count = int(rng.integers(1, 7)), int(rng.integers(1, 6))
        rows = rng.normal(size=(count, n)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(count, 1))
        if rng.random() < 0.3:
            rows *= 10.0 ** rng.uniform(-60.0, 60.0)
        kind = rng.random()
        if kind < 0.2:
            rows[-1] = rows[0]
        elif kind < 0.3:
            rows[-1] = 0.0
        self.rows, self.inside = rows, rng.random(count) < 0.4
        self.own = 10.0 ** rng.uniform(-2.0, 2.0, size=count)
        self.own *= 10.0 ** rng.choice([0.0, 0.0, -40.0, 40.0])
        self.lends = self.own * rng.choice([INSIDE, 0.9, 0.5], size=count)
        self.eta = 10.0 ** rng.uniform(-2.0, 2.0) if rng.random() < 0.5 else None
        self.room = int(rng.integers(0, np.count_nonzero(~self.inside) + 1))
        size = np.max(np.square(rows) / self.own[:, None], initial=0.0)
        size = max(size, 0.0 if self.eta is None else 1.0 / self.eta, 1e-200)
        self.weights = rng.random(n) * (rng.random(n) < 0.9) / size
        low, high = 0.0, 64.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.lent(middle) else (low, middle)
        self.weights = self.weights * low * rng.choice([0.3, 0.9, 0.999, 1.0])

    def lent(self, share: float = 1.0) -> Lending | None:
        with np.errstate(all="ignore"):
            found = Lending.of(
                self.rows, self.inside, self.own, self.lends, self.eta, share * self.weights,
                self.room,
            )  # fmt: skip
        left = None if found is None else found.lends[found.open] <= INSIDE * self.own[found.open]
        return found if found is not None and np.all(left) else None


def cases(count: int, *of: object) -> Iterator[tuple[Case, Lending, Any]]:
    for seed in seeds(count, "lending", *of):
        case = Case(seed)
        lending = case.lent()
        if lending is not None:
            yield case, lending, np.random.default_rng(seed)


def grams(case: Case, lending: Lending, rng: Any) -> tuple[Any, Any, Any, Any]:
    """N, G_JO, G_OO and K in fractions, with weights that are off by some roundings."""
    weights = off_by_some(lending.weights, rng)
    A, X, P = (exact(part) for part in (lending.held, case.rows[~case.inside], lending.root))
    given = exact([*case.lends[case.inside], *([] if case.eta is None else [case.eta])])
    N = np.diag(given) - (A * weights) @ A.T if len(A) else np.zeros((0, 0), dtype=object)
    mixed, own = (A * weights) @ X.T, (X * weights) @ X.T
    return N, mixed, own, own + mixed.T @ P @ (P.T @ mixed)


def test_what_is_lent_pays_for_the_curvature_of_rows() -> None:
    """The sum is convex, and sparse coefficients pay no more than their features lend."""
    told: Counter[str] = Counter()
    for case, lending, rng in cases(80, "exact"):
        N, mixed, own, K = grams(case, lending, rng)
        assert semidefinite(np.block([[N, -mixed], [-mixed.T, K - own]]))
        paid, count = exact(lending.lends[lending.open]), len(K)
        for support in combinations(range(count), min(case.room, count)):
            some = list(support)
            assert semidefinite(np.diag(paid[some]) - K[np.ix_(some, some)])
        place = np.flatnonzero(lending.open)
        K = K.astype(np.float64)
        far = np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
        assert np.all(np.abs(lending.matrix[np.ix_(place, place)] - K) <= 1e-9 * far)
        told["held"] += count > 0 and len(N) > 0
        told["more than one"] += case.room > 1
        told["for few alone"] += case.room < count and not semidefinite(np.diag(paid) - exact(K))
        told["nearly all of a ridge"] += bool(np.any(paid > 0.9 * case.own[lending.open]))
    assert min(told.values()) >= 10, told


def test_what_points_pull() -> None:
    """Against fractions, of fits that are off."""
    for case, lending, rng in cases(80, "pull"):
        P, A, weights = exact(lending.root), exact(lending.held), off_by_some(lending.weights, rng)
        z = rng.normal(size=(3, case.rows.shape[1])) * 10.0 ** rng.uniform(-20.0, 20.0, size=(3, 1))
        off = np.abs(z) * rng.choice([0.0, 1e-12, 1e-3, 1.0])
        moved, moved_off, square, square_off = lending.pull(z, off)
        for i in range(3):
            true = exact(z[i]) + exact(off[i]) * rng.choice([Q(-1), Q(1)], size=len(z[i]))
            g = A @ (weights * true)
            y = P @ (P.T @ g)
            assert np.all(np.abs(true + y @ A - exact(moved[i])) <= exact(moved_off[i]))
            paid = np.sum(weights * true * true) + g @ y
            assert abs(paid - Q(square[i])) <= Q(square_off[i])


def lent_at(bounds: RowBounds, state: Any, rng: np.random.Generator) -> Lent | None:
    """Thetas next to the most that is lent by supports; None where nothing is."""
    program, (low, high) = bounds.program, bounds.range(state)
    shares = rng.choice([INSIDE, 0.9, 0.5], size=program.m)
    # Of features that are not in, shares say nothing.
    shares[state[: program.m] <= 0] = rng.choice([INSIDE, -1.0, -1e9])
    eta = float(10.0 ** rng.uniform(-2.0, 1.0)) if program.fit_intercept else 0.0
    middle = float(0.5 * (low + high) + rng.choice([0.0, 0.0, 0.3]) * (high - low))
    pull = rng.random(program.n) ** rng.choice([0.2, 1.0, 5.0]) * (rng.random(program.n) < 0.9)

    def at(scale: float) -> Lent:
        return Lent(scale * pull / (1.0 + scale * pull), shares, eta, middle, sparse=True)

    least, most = -60.0, 40.0
    if bounds.lending(state, at(2.0**least)) is None:
        return None
    for _ in range(30):
        half = 0.5 * (least + most)
        least, most = (half, most) if bounds.lending(state, at(2.0**half)) else (least, half)
    lent = at(2.0**least * rng.choice([0.1, 0.3, 0.3, 0.9, 0.999, 1.0]))
    return lent if np.all(lent.theta < 1.0) else None


def models_at(
    bounds: RowBounds, model: tuple[Any, float], state: Any, rng: Any
) -> Iterator[tuple[Any, float]]:
    """A model of the node, and others next to it."""
    program, (low, high), (first, last) = bounds.program, bounds.range(state), bounds.ends(state)
    yield model
    for size in (1e-3, 0.03, 0.3, 1.0):
        w = model[0] * (1.0 + size * rng.normal(size=program.m))
        w = np.where(program.positive, np.abs(w), w)
        b = float(np.clip(model[1] + size * rng.normal() * program.fit_intercept, low, high))
        r = bounds.residuals(w, b)
        inside = program.ball is None or w @ w <= 0.999 * program.ball
        if inside and np.all((r >= first) & (r <= last)):
            yield w, b


def doubtful(seed: int) -> Program:
    """A feature or two explain most rows, and ridges can lend a good part of their curvature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 3))
    y = 2.0 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=7) + 4.0 * (rng.random(7) < 0.2)
    terms: list[dict[str, Any]] = [{"k": 1, "ridge": 0.3}, {"l0": 0.02, "ridge": 0.5}]
    terms += [{"k": 1, "ridge": 0.5, "always": [1]}, {"k": 2, "ball": 4.0}]
    own = {"fit_intercept": seed % 3 == 0, "loss": Truncated(c=1.0), **terms[seed % 4]}
    return Program(X, y, **own)


def highest(
    bounds: RowBounds,
    state: Any,
    start: tuple[Any, float],
    lent: Lent,
    tilt: Tilt,
    rng: Any,
    scope: Any = None,
) -> tuple[Any, float]:
    """The point of many with the highest bound: what a wrong one would show."""
    (w, b), best, many = start, -np.inf, len(tilt.row)
    spread = np.abs(w) + np.where(w == 0.0, np.max(np.abs(w), initial=1e-3), 0.0)
    for size in (0.0, 1.0, 0.3, 0.3, 0.1, 0.1, 0.03, 0.01, 1e-3):
        W = w + size * spread * rng.normal(size=(many, len(w)))
        B = b + size * rng.normal(size=many) * bounds.program.fit_intercept
        found = bounds.bounds(state, W, B, lent, tilt, scope)
        place = int(np.argmax(found))
        if found[place] > best:
            w, b, best = W[place], float(B[place]), found[place]
    return w, b


@np.errstate(all="ignore")
def test_bounds_hold_at_any_numbers() -> None:
    """Those of a node, with a feature in, and tilted: none exceeds what a model of the node has."""
    told: Counter[str] = Counter()
    for seed in seeds(32, "lent by supports"):
        rng, program = np.random.default_rng(seed), (tiny, doubtful)[seed // 4 % 2](seed)
        found = candidates(program)
        order = np.argsort(found.values, kind="stable")
        used = order[np.any(found.w[order] != 0.0, axis=1)][:1]
        for i in (*used, order[rng.integers(min(len(order), 40))]):
            model = found.w[i], float(found.b[i])
            value = objective_up(program, *model)
            bounds = bounds_of(program, value, rng)
            if not bounds.outer[0][0] <= model[1] <= bounds.outer[0][1]:
                continue
            state = node_of(bounds, found, int(i), rng)
            few_open(bounds, model[0], state, rng)
            lent = lent_at(bounds, state, rng)
            if lent is None:
                continue
            models = [
                (w, b, objective_up(program, w, b)) for w, b in models_at(bounds, model, state, rng)
            ]
            row = int(rng.integers(0, program.n + program.fit_intercept))
            for tau in (0.0, value / bounds.c * 10.0 ** rng.uniform(-1.0, 1.0)):
                tilt = Tilt(np.full(40, row), np.full(40, tau * rng.choice([-1.0, 1.0])))
                w, b = highest(bounds, state, model, lent, tilt, rng)
                one = Tilt(tilt.row[:1], tilt.tau[:1])
                tilted = bounds.bounds(state, w[None], np.array([b]), lent, one)[0]
                lower = bounds.bound(state, w, b, lent)
                features, forced = bounds.forced(state, w, b, lent)
                for v, a, objective in models:
                    assert lower <= objective
                    assert np.all(forced[v[features] != 0.0] <= objective)
                    less, slack = tilted_by(bounds, tilt, v, a)
                    assert tilted <= objective - less + slack
                    told["tilted, close"] += tau > 0.0 and tilted >= objective - less - 0.01 * value
                told["close"] += lower >= 0.99 * value
                told["forced, close"] += bool(np.any(forced >= 0.99 * value))
    assert min(told.values()) >= 5, told


def few_open(bounds: RowBounds, w: Any, state: Any, rng: Any) -> None:
    """Some features stay open, and others are as the model has them: so bounds are high."""
    opened = rng.permutation(np.flatnonzero(state[: len(w)] == 0))
    if rng.random() < 0.3:
        opened = opened[np.argsort(-np.abs(w[opened]))]
    decided = opened[int(rng.choice([1, 1, 2, 4])) :]
    state[decided] = np.where(w[decided] != 0.0, 1, -1)


def tilted_by(bounds: RowBounds, tilt: Tilt, w: Any, b: float) -> tuple[float, float]:
    """tau (x_i.w + b) for a model, and more than its rounding."""
    x, tau = np.column_stack((bounds.rows, np.zeros(len(w))))[:, tilt.row[0]], float(tilt.tau[0])
    return tau * float(w @ x + b), 1e-14 * abs(tau) * float(np.abs(w) @ np.abs(x) + abs(b))
