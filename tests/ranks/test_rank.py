"""Bounds by numerical rank, against the referee, the paper's printed statements and by hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import LONG
from tests.ranks.small import FORMS, M, case, data, posed
from tests.test_errata import quadratic

import sparsebounds as sb
from sparsebounds.datasets import load_leukemia, make_bell_spectrum
from sparsebounds.program import Form, Program
from sparsebounds.ranks.directions import Directions
from sparsebounds.relaxation import relax
from sparsebounds.testing import brute_force, random_program

CASES: list[tuple[Form, str, int]] = [
    (form, loss, seed)
    for i, form in enumerate(FORMS)
    for j, loss in enumerate(("squared", "logistic"))
    for seed in (range(5) if LONG else {(i + 2 * j) % 5, (i + 2 * j + 3) % 5})
]
"""Every form with either loss, every rank, with and without an intercept."""
every_case = pytest.mark.parametrize(("form", "loss", "seed"), CASES)


# Every row is a pair of bounds.


@every_case
def test_every_row_bounds_the_optimum(form: Form, loss: str, seed: int) -> None:
    program, bounds, optimum = case(form, loss, seed)
    assert [row.rank for row in bounds.rows] == list(range(1, M + 1))
    for row in bounds.rows:
        assert row.lower <= optimum
        assert row.upper >= optimum * (1 - 1e-12)
        assert row.lower >= program.F.infimum - 1e-12  # a = 0 proves that much
        assert row.gap == row.upper - row.lower
        if program.k is None or row.n_nonzero <= program.k:
            assert row.upper <= row.primalized
    lower, upper = max(row.lower for row in bounds.rows), min(row.upper for row in bounds.rows)
    # The certificate's claims are rounded a little further.
    assert bounds.lower <= lower == pytest.approx(bounds.lower, rel=1e-12, abs=1e-12)
    assert bounds.upper >= upper == pytest.approx(bounds.upper, rel=1e-12, abs=1e-12)
    assert bounds.best.gap == min(row.gap for row in bounds.rows)
    assert bounds.gap <= bounds.best.gap + 1e-12 * max(1.0, abs(upper))


@every_case
def test_the_full_rank_is_the_full_problem(form: Form, loss: str, seed: int) -> None:
    program, bounds, _ = case(form, loss, seed)
    last = bounds.rows[-1]
    relaxed = relax(program)
    assert last.explained == pytest.approx(1.0, abs=1e-12)
    assert last.relaxed == pytest.approx(relaxed.value, rel=1e-6)
    assert last.lower >= relaxed.lower - 1e-7 * program.null
    assert last.primalized == pytest.approx(last.opt, rel=1e-9)
    if program.ball is not None:
        assert last.zeta_r <= 1e-12
        assert last.stated_lower == pytest.approx(last.relaxed, rel=1e-6)


@every_case
def test_the_certificate_proves_the_best_of_both_sides(form: Form, loss: str, seed: int) -> None:
    program, bounds, _ = case(form, loss, seed)
    X, y = data(seed, loss)
    verdict = bounds.certificate.verify(X, y)
    assert verdict.ok
    assert bounds.lower <= verdict.lower == pytest.approx(bounds.lower, rel=1e-12, abs=1e-12)
    assert bounds.upper >= verdict.upper == pytest.approx(bounds.upper, rel=1e-12, abs=1e-12)
    assert program.k is None or len(bounds.certificate.support) <= program.k


@given(st.integers(0, 10**6), st.sampled_from(FORMS), st.booleans())
def test_awkward_programs(seed: int, form: Form, intercept: bool) -> None:
    """Ties, zero columns, weights, offsets, signs, fixings, many scales."""
    loss = ("squared", "logistic", "huber", "poisson", "squared_hinge")[seed % 5]
    program = random_program(seed, loss=loss, form=form, fit_intercept=intercept, most_columns=4)
    optimum = brute_force(program).value
    for row in sb.rank_bounds(program, method=("svd", "randomized")[seed % 2]).rows:
        assert row.lower <= optimum
        # The referee's Newton steps may end a rounding short of a perfect fit.
        scale = max(abs(optimum), abs(program.null))
        assert row.upper >= optimum - max(1e-9 * scale, program.rounding)
        assert 0.0 <= row.explained <= 1.0


# The paper's numbers, and what is sharper.


@pytest.mark.parametrize(("form", "loss", "seed"), [case for case in CASES if "ball" in case[0]])
def test_never_wider_than_the_valid_part_of_the_paper(form: Form, loss: str, seed: int) -> None:
    """lower >= sharp_lower >= stated_lower: sqrt(S_j) is a norm, and S_j a part of the whole."""
    program, bounds, optimum = case(form, loss, seed)
    rounding = 1e-10 * program.null
    for row in bounds.rows:
        assert row.stated_lower <= optimum
        assert row.lower >= row.sharp_lower - rounding
        assert row.sharp_lower >= row.stated_lower - rounding
        if row.rank < M:
            assert row.lower > row.stated_lower
        if row.rank < M and program.k is not None:
            # dX^T a_r has M nonzero entries, and a support sees k < M of them.
            assert row.sharp_lower > row.stated_lower + 1e-6 * row.zeta_r


@pytest.mark.parametrize("seed", range(5))
def test_zetas_by_hand(seed: int) -> None:
    program, bounds, _ = case("k+ball", "squared", seed)
    X, _ = data(seed)
    mean = X.mean(axis=0) if program.fit_intercept else np.zeros(M)
    U, s, Vt = np.linalg.svd(X - mean, full_matrices=False)
    a = relax(program, 1e-10).dual
    for row in bounds.rows:
        r = row.rank
        low = (U[:, :r] * s[:r]) @ Vt[:r] + mean
        assert row.explained == pytest.approx(np.sum(s[:r] ** 2) / np.sum(s**2), abs=1e-12)
        a_r = relax(Program(low, program.y, k=program.k, ball=1.0,
                            fit_intercept=program.fit_intercept)).dual  # fmt: skip
        difference = np.abs((X - low).T @ a_r)
        assert row.zeta_r == pytest.approx(np.linalg.norm(difference), rel=1e-3, abs=1e-10)
        assert row.zeta == pytest.approx(np.linalg.norm((X - low).T @ a), rel=1e-3, abs=1e-10)
        kept = np.linalg.norm(np.sort(difference)[-program.k :])  # type: ignore[operator]
        gained = row.sharp_lower - row.stated_lower
        assert gained == pytest.approx(row.zeta_r - kept, rel=1e-3, abs=1e-9)
        assert row.stated_upper == row.relaxed + row.zeta


def test_the_second_experiment() -> None:
    """At rank 5, X ten times as large: far above the paper's p** - zeta, far below OPT + zeta."""
    sample = make_bell_spectrum(scale=10.0)
    program = Program(sample.X, sample.y, l0=0.01, ball=30.0)
    (row,) = sb.rank_bounds(program, [5]).rows
    assert row.stated_lower == pytest.approx(0.2713, abs=5e-4)
    assert row.lower > 0.80
    assert row.upper < 1.0 < 2.0 < row.stated_upper  # which of several vertices is up to rounding
    # Small as it is in the paper, with l0 = 0.01, rank 1 proves that no feature is worth its price.
    sample = make_bell_spectrum()
    bounds = sb.rank_bounds(Program(sample.X, sample.y, l0=0.01, ball=30.0), [1])
    assert bounds.gap <= 1e-12
    assert len(bounds.certificate.support) == 0


@pytest.mark.skipif(
    not (Path(os.environ.get("SPARSEBOUNDS_DATA", "")) / "leukemia.npz").is_file(),
    reason="the leukemia data are not here: name their folder in SPARSEBOUNDS_DATA",
)
def test_the_third_experiment() -> None:
    """At rank 40 the paper's bound is below that of a = 0, and ours near that of the full X."""
    sample = load_leukemia(download=False)
    program = Program(sample.X, sample.y, loss="logistic", l0=0.1, ball=50.0, standardize=True)
    row, full = sb.rank_bounds(program, [40, 72]).rows
    assert row.stated_lower == pytest.approx(-1.07, abs=0.01)
    assert row.lower > 0.105
    assert full.lower > 0.119
    assert max(row.upper, full.upper) < 0.31


# Counterexamples: the printed statements fail, ours hold.


def test_e8_the_optimum_on_the_approximation_is_no_upper_bound() -> None:
    X = np.eye(2) + 0.01
    program = quadratic(X, np.full(2, 0.5), k=1, ball=1.0)
    optimum = brute_force(program).value
    assert optimum == pytest.approx(0.1225, abs=1e-4)
    row = sb.rank_bounds(program, [1]).rows[0]
    low = quadratic(np.full((2, 2), 0.505), np.full(2, 0.5), k=1, ball=1.0)
    assert brute_force(low).value == pytest.approx(0.0, abs=1e-12)
    # nu* = 0, so that the proposition reads p(X) <= p(X_r).
    assert row.zeta <= 1e-6
    assert row.stated_upper < 1e-6 < optimum
    assert row.lower <= optimum <= row.upper


def test_e9_without_any_error_the_printed_bound_claims_no_duality_gap() -> None:
    program = quadratic(np.eye(2), np.full(2, 0.5), k=1, ball=1.0)
    row = sb.rank_bounds(program, [2]).rows[0]
    optimum = brute_force(program).value
    assert optimum == pytest.approx(1 / 8)
    assert row.zeta <= 1e-12
    assert row.stated_upper < 1e-6 < optimum
    assert row.lower <= optimum <= row.upper


def test_e9_the_sign_of_zeta() -> None:
    """Printed: OPT <= p(X) - zeta. Here OPT is 1/2 and p(X) is 0."""
    program = quadratic(np.diag([1.0, 0.9]), np.array([0.0, 1.0]), k=2, ball=4.0)
    row = sb.rank_bounds(program, [1]).rows[0]
    optimum = brute_force(program).value
    assert optimum <= 1e-12
    assert row.opt == pytest.approx(0.5)
    assert row.opt > optimum - row.zeta
    assert row.lower <= optimum <= row.upper


@pytest.mark.parametrize("n", [3, 6])
def test_e10_the_printed_upper_bound_is_n_times_too_small(n: int) -> None:
    """OPT + zeta is near l0, p** + l0 (r + 1) below 3 l0, and the optimum is n l0."""
    X = np.eye(n) + 0.01 / n
    program = quadratic(X, np.full(n, 1 / n), bend=4.0 * n**2, l0=1.0, ball=1.0)
    optimum = brute_force(program).value
    assert optimum == pytest.approx(n, rel=1e-6)
    row = sb.rank_bounds(program, [1]).rows[0]
    assert row.zeta <= 1e-4
    assert 1.0 < row.stated_upper < 1.2
    assert row.relaxed + 2.0 < 3.0
    assert row.lower <= optimum <= row.upper


# Purified against the leading directions only.


@every_case
def test_purified_points_keep_their_promise(form: Form, loss: str, seed: int) -> None:
    program, bounds, optimum = case(form, loss, seed)
    directions = Directions(program, relax(program, 1e-12))
    exact = 1e-6 * program.null  # the promise is for the exact optimum of the relaxation
    for row in bounds.rows:
        assert row.purified <= row.purified_bound + exact
        whole, _, promised = directions.purify(row.rank)
        v, w = (point := directions.point).w[point.tied] / point.u[point.tied], whole[point.tied]
        extra = 0 if form == "l0+ridge" else 1
        assert np.count_nonzero((w != 0) & (w != v)) <= row.rank + extra
        if program.k is None:
            assert row.purified >= optimum * (1 - 1e-12)
            assert row.upper <= row.purified
            # l0 j, or l0 (j + 1), and the movement in the other directions.
            moved = promised - directions.point.value
            assert moved <= 0.03 * (row.rank + extra) + _quadratic_term(directions, row.rank)
        else:
            assert row.purified_nonzero <= program.k + row.rank
            roomy = program.with_budget(program.k + row.rank)
            assert row.purified >= brute_force(roomy).value * (1 - 1e-12)
    if loss == "squared" and form == "l0+ridge":
        for row in bounds.rows:
            assert row.purified == pytest.approx(row.purified_bound, abs=exact)


def _quadratic_term(directions: Directions, j: int) -> float:
    """L/2 |A (u' - u)|^2, from the point itself."""
    program, point = directions.program, directions.point
    w, _, _ = directions.purify(j)
    columns = program.matrix.columns(np.arange(M))
    moved = columns @ (w - point.w)
    if program.fit_intercept:
        moved -= program.F.p @ moved
    return 0.5 * program.loss.smoothness * float(program.F.p @ moved**2) + 1e-12


def test_purifying_against_all_directions_is_primalization() -> None:
    for seed in range(5):
        program = posed("l0+ridge", "squared", seed)
        relaxed = relax(program, 1e-12)
        purified, _, _ = Directions(program, relaxed).purify(M)
        primal = sb.primalize(program, relaxed)
        assert program.objective(purified) == pytest.approx(primal.value, rel=1e-6)
