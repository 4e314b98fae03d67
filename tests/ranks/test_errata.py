"""docs/errata.md, E8 to E10: an approximation of low rank in place of the data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.test_errata import M, N, Rounded, columns, quadratic, smoothness, solved, vertex

from sparsebounds.bounds import bidual_value, dual_value
from sparsebounds.penalties import k_support_dual_norm
from sparsebounds.program import Program
from sparsebounds.relaxation import relax
from sparsebounds.testing import brute_force

# E8: Proposition 5.1.


def perturbed(
    seed: int, r: int = 2, m: int = M, **form: float
) -> tuple[np.ndarray, np.ndarray, Program, Program]:
    """X, X - X_r and the two programs, X_r the best approximation of rank r."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, m)), rng.normal(size=N)
    if form.get("loss") == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    left, s, right = np.linalg.svd(X, full_matrices=False)
    s *= 0.6 ** np.arange(len(s))
    X, low = (left * s) @ right, (left[:, :r] * s[:r]) @ right[:r]
    return X, X - low, Program(X, y, **form), Program(low, y, **form)


def test_e8_as_printed() -> None:
    """X = I + eps 11', X_r = (1/2 + eps) 11', f = |z - 1/2|^2/2, k = 1: .1225 <= 0 is claimed."""
    eps, y = 0.01, np.full(2, 0.5)
    X, low = np.eye(2) + eps, np.full((2, 2), 0.5 + eps)
    left, s, right = np.linalg.svd(X)
    np.testing.assert_allclose(s[0] * np.outer(left[:, 0], right[0]), low, rtol=1e-14)
    assert s[0] > s[1] + eps  # the only best approximation of rank 1
    full, rank_one = (quadratic(A, y, k=1, ball=1.0) for A in (X, low))
    p, p_r = brute_force(full).value, brute_force(rank_one).value
    closed = 0.25 - 0.125 * (1 + 2 * eps) ** 2 / ((1 + eps) ** 2 + eps**2)
    assert p == pytest.approx(closed, rel=1e-12)
    assert round(p, 4) == 0.1225
    assert p_r <= 1e-25
    # p** = 0 for both, at w = (1/2, 1/2)/(1 + 2 eps) with u = (1/2, 1/2); so nu* = nu_r* = 0.
    w, u = np.full(2, 0.5 / (1 + 2 * eps)), np.full(2, 0.5)
    for program in (full, rank_one):
        assert bidual_value(program, w, u) <= 1e-25
        assert dual_value(program, np.zeros(2)) >= -1e-15
    # Left inequality: p(X) - nu*.dX w_r <= p(X_r). Right one, with X and X_r exchanged: the same.
    assert not p - 0.0 <= p_r


@pytest.mark.parametrize(
    "form",
    [
        {"k": 2, "ball": 0.5},
        {"l0": 0.02, "ball": 0.5},
        {"k": 2, "ridge": 0.2},
        {"l0": 0.02, "ridge": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_e8_for_the_biduals(form: dict[str, float], loss: str) -> None:
    """p**(X) - nu.dX w_r <= p**(X_r) <= p**(X) - nu_r.dX w, in all four forms."""
    for seed in range(4):
        _, rest, full, low = perturbed(seed, loss=loss, **form)
        a, b = solved(full), solved(low)
        rounding = 1e-6 * full.null  # the gap is 1e-12, so vectors are good to its root
        assert a.value - a.dual @ rest @ b.w <= b.value + rounding
        assert b.value <= a.value - b.dual @ rest @ a.w + rounding


def test_e8_right_inequality_for_least_squares_and_the_svd() -> None:
    """p(X_r) <= p(X) - nu_r.dX w - |dX w|^2/(2n): there it holds for the sparse programs too."""
    for seed in range(4):
        _, rest, full, low = perturbed(seed, k=2, ball=0.5)
        optimum, low_optimum = brute_force(full), brute_force(low)
        moved = rest @ optimum.w
        nu = low.F.gradient(columns(low) @ low_optimum.w)
        right = optimum.value - nu @ moved - moved @ moved / (2 * N)
        assert low_optimum.value <= right + 1e-12


def test_e8_for_a_lipschitz_loss() -> None:
    """|p(X) - p(X_r)| <= Lf sqrt(ball) |dX|, Lf = 1/sqrt(n) for the mean of logistic losses."""
    for seed in range(3):
        _, rest, full, low = perturbed(seed, k=2, ball=0.5, loss="logistic")
        most = math.sqrt(0.5 / N) * np.linalg.norm(rest, 2)
        assert abs(brute_force(full).value - brute_force(low).value) <= most


# E9: Proposition 5.2, constrained.


def test_e9_as_printed_without_a_perturbation() -> None:
    """dX = 0: p_con(k, X) - 0 <= p**(k, X) would say there is no gap; X = I_2 has 1/8 against 0."""
    program = quadratic(np.eye(2), np.full(2, 0.5), k=1, ball=1.0)
    assert brute_force(program).value == pytest.approx(1 / 8, rel=1e-12)
    assert bidual_value(program, np.full(2, 0.5), np.full(2, 0.5)) == 0.0


def test_e9_as_printed_has_the_wrong_sign() -> None:
    """X = diag(1, d), X_r = diag(1, 0), y = (0, 1), k = 2: OPT = 1/2 above p_con(k, X)."""
    y = np.array([0.0, 1.0])
    for d in (0.1, 0.5, 0.9):
        full = quadratic(np.diag([1.0, d]), y, k=2, ball=1.0)
        low = quadratic(np.diag([1.0, 0.0]), y, k=2, ball=1.0)
        opt, p = relax(low).value, brute_force(full).value
        assert opt == pytest.approx(0.5, rel=1e-12)
        assert p == pytest.approx(0.5 * (1 - d) ** 2, rel=1e-9)
        assert not opt <= p  # let alone p - zeta
        assert opt <= p + d  # zeta_r = |dX' nu_r| = d, nu_r = (0, -1)


def test_e9_corrected(rng) -> None:
    """Below, one pass over X beats zeta_r; above, the rank-r model evaluated on X."""
    strict = 0
    for seed in range(8):
        k, r, ball = 1 + seed % 3, 2, 0.05
        _, rest, full, low = perturbed(seed, r, k=k, ball=ball)
        found = solved(low)
        nu = found.dual
        zeta_r = math.sqrt(ball) * np.linalg.norm(rest.T @ nu)
        zeta_k = math.sqrt(ball) * k_support_dual_norm(rest.T @ nu, k)
        one_pass = dual_value(full, nu)
        assert brute_force(full).value >= one_pass
        assert one_pass >= found.dual_value - zeta_k - 1e-12
        assert zeta_k <= zeta_r
        strict += one_pass > found.value - zeta_r + 1e-4
        point = Rounded(low, found, rng)
        assert point.count <= k + r - 1
        moved = rest @ point.w
        attained = full.F.value(columns(full) @ point.w)
        slope = full.F.gradient(columns(full) @ point.w)
        assert brute_force(full.with_budget(k + r - 1)).value <= attained + 1e-12
        assert attained <= found.value + slope @ moved + 1e-9
        second = 0.5 * smoothness(full) * ball * np.linalg.norm(rest, 2) ** 2
        assert attained <= found.value + zeta_r + second + 1e-9
    assert strict >= 4


# E10: Proposition 5.2, penalised.


@pytest.mark.parametrize(("n", "stated"), [(3, 2.84), (8, 2.92)])
def test_e10_as_printed(n: int, stated: float) -> None:
    """X = I + (eps/n) 11', X_r its best of rank 1: p(X) = n, OPT = 1, stated bound below 3."""
    eps, l0 = 0.01, 1.0
    X, low = np.eye(n) + eps / n, np.full((n, n), (1 + eps) / n)
    s = np.linalg.svd(X, compute_uv=False)
    assert np.linalg.norm(X - low, 2) == pytest.approx(s[1], rel=1e-12)
    y, bend = np.full(n, 1 / n), 4 * n**2 * l0
    full, rank_one = (quadratic(A, y, bend, l0=l0, ball=1.0) for A in (X, low))
    p, found = brute_force(full).value, relax(rank_one)
    assert p == pytest.approx(n, rel=1e-9)
    # One fractional weight, rounded up; 1 once the model is refitted.
    opt, refitted = found.value + l0 * (1.0 - found.u.sum()), brute_force(rank_one).value
    assert refitted == pytest.approx(1.0, rel=1e-9)
    assert refitted < opt < 1.2
    # nu* and nu_r* are multiples of 1, which dX = X - X_r sends to 0: zeta = zeta_r = 0.
    for program in (full, rank_one):
        nu = relax(program).dual
        np.testing.assert_allclose(nu, nu[0], rtol=1e-6)
        assert np.linalg.norm((X - low).T @ nu) <= 1e-6 * np.linalg.norm(nu)
    upper = found.value + l0 * (1 + 1)
    assert upper == pytest.approx(2 + 1 / ((1 + eps) ** 2 + 1 / (2 * n)), rel=1e-8)
    assert round(upper, 2) == stated
    assert not p <= opt
    assert not p <= upper
    # The rank-1 model costs what it costs on X itself: above p, as it must be.
    w = brute_force(rank_one).w
    assert full.objective(w) >= p
    assert found.dual_value <= p


def test_e10_corrected(rng) -> None:
    """p**(X_r) - zeta_r <= p(X) <= f(X w) + l0 |w|_0 <= p**(X_r) + l0 r + nu.dX w."""
    for seed in range(5):
        r, ball, l0 = 2, 0.2, 0.01
        _, rest, full, low = perturbed(seed, r, l0=l0, ball=ball)
        found = solved(low)
        p, point = brute_force(full).value, Rounded(low, found, rng)
        zeta_r = math.sqrt(ball) * np.linalg.norm(rest.T @ found.dual)
        assert found.dual_value - zeta_r <= dual_value(full, found.dual) + 1e-12
        assert dual_value(full, found.dual) <= p
        z = columns(full) @ point.w
        attained = full.F.value(z) + l0 * point.count
        assert p <= attained + 1e-12
        assert attained <= found.value + l0 * r + full.F.gradient(z) @ (rest @ point.w) + 1e-9
        second = 0.5 * smoothness(full) * ball * np.linalg.norm(rest, 2) ** 2
        assert attained <= found.value + l0 * r + zeta_r + second + 1e-9


@pytest.mark.parametrize("form", [{"l0": 0.005, "ridge": 0.1}, {"k": 3, "ridge": 0.1}], ids=str)
def test_e10_leading_directions(form: dict[str, float], rng) -> None:
    """A vertex on the j leading directions of the ties: no first-order term in the full X."""
    checked = 0
    for seed in range(8):
        X, _, program, _ = perturbed(seed, m=20, **form)
        found = solved(program)
        u = np.where(found.u < 1e-7, 0.0, np.where(found.u > 1 - 1e-7, 1.0, found.u))
        v = np.divide(found.w, u, where=u > 0, out=np.zeros(20))
        tied = np.flatnonzero((u > 0) & (u < 1))
        A = X[:, tied] * v[tied]
        _, s, right = np.linalg.svd(A, full_matrices=False)
        for j in range(1, len(s)):
            rows, x = s[:j, None] * right[:j], u.copy()
            rows = rows if "l0" in form else np.vstack((rows, np.ones(len(tied))))
            x[tied] = vertex(rows, u[tied], rng.normal(size=len(tied)))
            left, moved = x[(x > 0) & (x < 1)], A @ (x - u)[tied]
            second = 0.5 * smoothness(program) * float(moved @ moved)
            assert second <= 0.5 * smoothness(program) * s[j] ** 2 * len(tied) + 1e-12
            value = program.F.value(X @ (x * v)) + 0.05 * float(np.sum((x * v) ** 2))
            if "l0" in form:
                assert len(left) <= j
                value += 0.005 * np.count_nonzero(x)
                expected = found.value + second + 0.005 * float(np.sum((1.0 - left) ** 2))
            else:
                assert np.count_nonzero(x) <= program.k + j
                expected = found.value + second - found.l0_multiplier * float(left @ (1.0 - left))
            assert value == pytest.approx(expected, rel=1e-8)  # least squares: equal
            checked += 1
    assert checked >= 8
