"""docs/errata.md, put to the referee: printed statements that fail, and those that replace them.

E1 to E12 are the numbers of that page; E8 to E10 are in tests/ranks. Optima are found by trying
every support.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

from sparsebounds.bounds import bidual_value, dual_value
from sparsebounds.penalties import perspective
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning, relax
from sparsebounds.testing import brute_force

N, M = 9, 6


def quadratic(X: np.ndarray, y: np.ndarray, bend: float = 1.0, **form: float) -> Program:
    """The program with f(z) = bend/2 |z - y|^2: F is a mean, so its data are scaled."""
    root = math.sqrt(bend * len(y))
    return Program(root * X, root * y, **form)


def solved(program: Program) -> Relaxation:
    """The relaxation to the last digit that float64 allows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        return relax(program, tol=1e-13)


def low_rank(form: Form, seed: int, r: int) -> tuple[Program, Relaxation]:
    """Nine rows, six columns, rank r, every third one logistic; and its relaxed optimum.

    The ball is the size sum_i w_i^2/u_i of a ridge problem's relaxed optimum, which is then that of
    the ball as well, with eta = ridge: its ties are as exact as the ridge's.
    """
    rng = np.random.default_rng([seed, r])
    X = rng.normal(size=(N, r)) @ rng.normal(size=(r, M))
    y = 0.3 * X @ rng.normal(size=M) + rng.normal(size=N)
    loss, ridge = "squared", 10.0 ** rng.uniform(-2, 0.5)
    if seed % 3 == 2:
        loss, y = "logistic", np.where(y > np.median(y), 1.0, -1.0)
    sparsity: dict[str, float] = {"k": 1 + seed % 3}
    program = Program(X, y, loss=loss, ridge=ridge, **sparsity)
    if form.startswith("l0"):
        # A share of the price above which no feature is worth its while.
        gains = (X.T @ program.F.gradient(np.zeros(N))) ** 2 / (2.0 * ridge)
        sparsity = {"l0": 10.0 ** rng.uniform(-2, -0.3) * gains.max()}
        program = Program(X, y, loss=loss, ridge=ridge, **sparsity)
    found = solved(program)
    if form.endswith("ball"):
        ball = float(np.sum(perspective(found.w, found.u)))
        program = Program(X, y, loss=loss, ball=ball, **sparsity)
    return program, found


def columns(program: Program) -> np.ndarray:
    return program.matrix.columns(np.arange(program.m))


def smoothness(program: Program) -> float:
    """L: the Lipschitz constant of F'."""
    return program.loss.smoothness / program.n


def vertex(A: np.ndarray, u: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """A vertex of {x in [0, 1]^t : A x = A u} that costs no more than u, by the simplex method."""
    _, s, right = np.linalg.svd(A, full_matrices=False)
    rank = int(np.count_nonzero(s > 1e-10 * s[0]))
    rows = s[:rank, None] * right[:rank]
    found = linprog(cost, A_eq=rows, b_eq=rows @ u, bounds=(0, 1), method="highs-ds")
    x = np.asarray(found.x)
    return np.where(x < 1e-8, 0.0, np.where(x > 1 - 1e-8, 1.0, x))


class Rounded:
    """E1 (c), E2 (b): a vertex on the ties of an optimal relaxed point, rounded up."""

    def __init__(self, program: Program, found: Relaxation, rng: np.random.Generator) -> None:
        u = np.where(found.u < 1e-7, 0.0, np.where(found.u > 1 - 1e-7, 1.0, found.u))
        v = np.divide(found.w, u, where=u > 0, out=np.zeros(program.m))
        tied = np.flatnonzero((u > 0) & (u < 1))
        self.u, self.rank = u, 0
        if len(tied):
            A = columns(program)[:, tied] * v[tied]
            self.rank = int(np.linalg.matrix_rank(A, tol=1e-9 * np.linalg.norm(A, 2)))
            self.u[tied] = vertex(A, u[tied], rng.normal(size=len(tied)))
        self.w = self.u * v
        self.left = self.u[(self.u > 0) & (self.u < 1)]
        self.partial = np.flatnonzero((self.u > 0) & (self.u < 1))
        self.count = int(np.count_nonzero(self.w))
        value = program.F.value(columns(program) @ self.w)
        if program.ball is None:
            value += 0.5 * program.ridge * float(self.w @ self.w)
        self.value = value + (0.0 if program.l0 is None else program.l0 * self.count)
        self.relaxed = bidual_value(program, found.w, found.u)


CASES = [(seed, r) for seed in range(5) for r in (1, 2, 3)]


# E1, E3: at most k nonzeros.


@pytest.mark.parametrize("form", ["k+ridge", "k+ball"])
def test_r_minus_1_more_features_are_enough(form: Form, rng) -> None:
    """p_con(k + r - 1) <= p**(k), and the rounded vertex has exactly the value the page gives."""
    fractional = 0
    for seed, r in CASES:
        program, found = low_rank(form, seed, r)
        point, k = Rounded(program, found, rng), program.k
        optimum, rounding = brute_force(program).value, 1e-10 * program.null
        assert optimum >= dual_value(program, found.dual)
        assert point.relaxed == pytest.approx(dual_value(program, found.dual), rel=1e-9)
        assert brute_force(program.with_budget(k + r - 1)).value <= point.relaxed + rounding
        if k >= r:
            assert optimum <= solved(program.with_budget(k - r + 1)).value + rounding
        if r == 1:
            assert optimum == pytest.approx(point.relaxed, rel=1e-9)
        fractional += len(point.left) > 0
        assert len(point.left) <= point.rank <= r
        total = float(point.left.sum())
        assert abs(total - round(total)) <= 1e-7  # an integer, between 1 and |S| - 1
        assert point.count == k + len(point.left) - round(total) <= k + r - 1
        spared = point.left @ (1.0 - point.left)
        expected = point.relaxed - (found.l0_multiplier * spared if form == "k+ridge" else 0.0)
        assert point.value == pytest.approx(expected, rel=1e-9)
        if form == "k+ball":
            assert point.w @ point.w <= program.ball * (1.0 + 1e-9)
    assert fractional >= 6


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_r_minus_1_is_best_possible(k: int, r: int) -> None:
    """X holds k copies of e_1 beside e_2, ..., e_r; p**(k) = k ridge/2 + (r ridge)^2/2."""
    weights = np.array([1.0] if r == 1 else [0.6, *[0.4 / (r - 1)] * (r - 1)])
    X = np.eye(r)[:, [0] * (k - 1) + list(range(r))]
    z, ridge = weights + (k - 1) * np.eye(r)[0], 1e-3
    program = Program(X, z + r * ridge, k=k, ridge=ridge)
    relaxed = 0.5 * k * ridge + 0.5 * (r * ridge) ** 2
    assert dual_value(program, np.full(r, -ridge)) == pytest.approx(relaxed, rel=1e-12)
    v = np.ones(k + r - 1)
    u = np.concatenate((np.ones(k - 1), weights))
    assert bidual_value(program, u * v, u) == pytest.approx(relaxed, rel=1e-12)
    assert brute_force(program.with_budget(k + r - 1)).value <= relaxed * (1.0 + 1e-12)
    assert brute_force(program.with_budget(k + r - 2)).value > 1.1 * relaxed
    # With the ball |w|^2 <= k in place of the ridge z is within reach of the relaxation.
    ball = Program(X, z, k=k, ball=float(k))
    assert bidual_value(ball, u * v, u) == pytest.approx(0.0, abs=1e-30)
    assert brute_force(ball.with_budget(k + r - 1)).value <= 1e-12
    assert brute_force(ball.with_budget(k + r - 2)).value > 1e-3


def test_from_any_relaxed_point(rng) -> None:
    """E1 (b), E2 (a): without optimality, k + r nonzeros; l0 |S| with |S| <= r."""
    for _ in range(40):
        r, k, ridge, l0 = int(rng.integers(1, 4)), int(rng.integers(1, 5)), 0.3, 0.2
        X = rng.normal(size=(N, r)) @ rng.normal(size=(r, M))
        v, u = rng.normal(size=M), rng.dirichlet(np.ones(M)) * k
        u = np.minimum(u, 1.0)
        size = 0.5 * ridge * v**2
        for rows, cost, most in (
            (np.vstack((X * v, np.ones(M))), size, r + 1),
            (X * v, size + l0, r),
        ):
            x = vertex(rows, u, cost)
            left = x[(x > 0) & (x < 1)]
            assert len(left) <= most
            assert np.allclose(X @ (x * v), X @ (u * v), atol=1e-9)
            if most == r + 1:
                assert np.count_nonzero(x) <= k + r
                assert 0.5 * ridge * np.sum((x * v) ** 2) <= size @ u + 1e-9
            else:
                paid = 0.5 * ridge * np.sum((x * v) ** 2) + l0 * np.count_nonzero(x)
                assert paid <= (size + l0) @ u + l0 * np.sum(1.0 - left) + 1e-9


def test_from_any_relaxed_point_with_its_cheapest_weights(rng) -> None:
    """The last column of the table: k + r - 1 nonzeros at most; at most l0 phi for each of S."""
    fractional = 0
    for _ in range(40):
        r, k, ridge, l0 = int(rng.integers(1, 4)), int(rng.integers(1, 5)), 0.3, 0.2
        X = rng.normal(size=(N, r)) @ rng.normal(size=(r, M))
        w, y = rng.normal(size=M) * rng.uniform(0.1, 1.5, size=M), rng.normal(size=N)
        # sum u = k by bisection, then u = min(1, |w|/beta); and the l0 form's own beta.
        low, high = 1e-9, 10.0 * np.abs(w).sum()
        for _ in range(200):
            beta = 0.5 * (low + high)
            low, high = (beta, high) if np.minimum(1.0, np.abs(w) / beta).sum() > k else (low, beta)
        for budget, knee in ((True, high), (False, math.sqrt(2.0 * l0 / ridge))):
            u = np.minimum(1.0, np.abs(w) / knee)
            v, tied = w / u, np.flatnonzero(u < 1.0)
            if len(tied) == 0:
                continue
            x = u.copy()
            x[tied] = vertex(X[:, tied] * v[tied], u[tied], np.ones(len(tied)))
            left = x[(x > 0) & (x < 1)]
            fractional += len(left) > 0
            assert len(left) <= r
            assert x.sum() <= u.sum() + 1e-9
            assert np.allclose(X @ (x * v), X @ w, atol=1e-9)
            if budget:
                assert np.count_nonzero(x) <= (k + r - 1 if len(left) else k)
                continue
            program = Program(X, y, l0=l0, ridge=ridge)
            c = np.sum(X**2, axis=0) * smoothness(program) / ridge
            S = np.flatnonzero((x > 0) & (x < 1))
            least = np.minimum((1.0 - left) ** 2, c[S] * left * (1.0 - left))
            bound = bidual_value(program, w, u) + l0 * float(np.sum(least))
            assert brute_force(program).value <= bound + 1e-9
    assert fractional >= 20


@pytest.mark.parametrize("form", ["k+ridge", "k+ball"])
def test_the_gap_at_the_same_k(form: Form, rng) -> None:
    """E1 (d), E3: p_con(k) - p**(k) <= L sum_S |v_i x_i|^2 u_i (1 - u_i), v_i^2 = 2 tau/ridge."""
    some = 0
    for seed, r in CASES:
        program, found = low_rank(form, seed, r)
        point = Rounded(program, found, rng)
        moved = columns(program)[:, point.partial] * (point.w[point.partial] / point.left)
        if form == "k+ridge":
            sizes = 2.0 * found.l0_multiplier / program.ridge
            np.testing.assert_allclose(
                np.sum(moved**2, axis=0),
                sizes * np.sum(columns(program)[:, point.partial] ** 2, axis=0),
                rtol=1e-6,
            )
        spread = float(np.sum(moved**2, axis=0) @ (point.left * (1.0 - point.left)))
        gap = brute_force(program).value - dual_value(program, found.dual)
        assert gap <= smoothness(program) * spread + 1e-9 * program.null
        some += spread > 0
    assert some >= 6


# E2, E4: a price for each.


@pytest.mark.parametrize("form", ["l0+ridge", "l0+ball"])
def test_the_gap_is_at_most_r_prices(form: Form, rng) -> None:
    fractional = 0
    for seed, r in CASES:
        program, found = low_rank(form, seed, r)
        point = Rounded(program, found, rng)
        lower = dual_value(program, found.dual)
        assert point.relaxed == pytest.approx(lower, rel=1e-9)
        assert lower <= brute_force(program).value <= lower + program.l0 * r
        fractional += len(point.left) > 0
        assert len(point.left) <= point.rank <= r
        missing = 1.0 - point.left
        excess = missing @ missing if form == "l0+ridge" else missing.sum()
        assert point.value == pytest.approx(point.relaxed + program.l0 * excess, rel=1e-9)
        if form == "l0+ball":
            assert point.w @ point.w <= program.ball * (1.0 + 1e-9)
    assert fractional >= 8


def test_the_gap_with_randomised_rounding(rng) -> None:
    """E2 (c): each fractional feature costs the less of (1 - u)^2 and c u (1 - u)."""
    better = 0
    for seed, r in CASES:
        program, found = low_rank("l0+ridge", seed, r)
        point, norms = Rounded(program, found, rng), np.sum(columns(program) ** 2, axis=0)
        gap = brute_force(program).value - found.dual_value
        c = smoothness(program) * norms / program.ridge
        u = point.left
        least = np.minimum((1.0 - u) ** 2, c[point.partial] * u * (1.0 - u))
        bound = program.l0 * float(np.sum(least))
        assert gap <= bound + 1e-9 * program.null
        steepest = c.max()
        phi = steepest / 4.0 if steepest <= 1.0 else (steepest / (1.0 + steepest)) ** 2
        assert bound <= program.l0 * r * phi * (1.0 + 1e-12)
        assert phi <= min(1.0, steepest / 4.0)
        better += phi < 0.9
    assert better >= 4


@pytest.mark.parametrize("r", [1, 2, 5])
def test_r_prices_are_best_possible(r: int) -> None:
    """X = I, a steep loss at a short vector: p = l0 r, and p** next to nothing."""
    y = np.full(r, 1e-3)
    for size in ({"ridge": 1.0}, {"ball": 1.0}):
        program = quadratic(np.eye(r), y, bend=1e8, l0=0.01, **size)
        gap = brute_force(program).value - relax(program).value
        assert 0.98 * r <= gap / 0.01 <= r


# E6: the pseudo-inverse.


def test_the_pseudo_inverse_would_cost_nothing(rng) -> None:
    X, y = rng.normal(size=(6, 4)), rng.normal(size=6)
    program = Program(X, y, k=1, ridge=0.5)
    w = np.linalg.lstsq(X, y)[0]

    def printed(u: np.ndarray) -> float:
        return program.F.value(X @ w) + 0.25 * float(w @ np.linalg.pinv(np.diag(u)) @ w)

    nothing = np.zeros(4)
    assert printed(nothing) == program.F.value(X @ w)
    assert printed(nothing) < relax(program).dual_value - 0.01
    assert bidual_value(program, w, nothing) == math.inf


# E11: losses that are not convex.


def envelope(t: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The largest convex function below the points (t, f), at t."""
    hull: list[tuple[float, float]] = []
    for x, y in zip(t.tolist(), f.tolist(), strict=True):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    at, value = np.array(hull).T
    return np.interp(t, at, value)


def test_e11_rho_of_a_bounded_loss_tends_to_its_whole_range() -> None:
    """min(t^2, 1)/2 on [-B, B]: rho = (1 - p)^2/2, p = B - sqrt(B^2 - 1), to 1/2 as B grows."""
    for B in (1.0, 2.0, 5.0, 50.0):
        t = np.linspace(-B, B, 40_001)
        f = np.minimum(t * t, 1.0) / 2.0
        p = B - math.sqrt(B * B - 1.0)
        assert np.max(f - envelope(t, f)) == pytest.approx((1.0 - p) ** 2 / 2.0, abs=1e-6)
    assert (1.0 - p) ** 2 / 2.0 > 0.98 * 0.5
    # Sublinear losses fare no better: the envelope of log(1 + t^2)/2 at 1 falls to 0.
    at_one = []
    for B in (10.0, 1e2, 1e3):
        t = np.linspace(-B, B, 40_001)
        at_one.append(np.interp(1.0, t, envelope(t, np.log1p(t * t) / 2.0)))
    assert np.all(np.diff(at_one) < 0)
    assert at_one[-1] < 0.01
