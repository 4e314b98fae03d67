"""solve and certify against the referee: both bounds, the constraint, the certificate."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression
from tests.cases import seeds
from tests.presses import Presser

import sparsebounds as sb
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.datasets import make_correlated, make_low_rank
from sparsebounds.losses import REGISTRY
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Progress
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))
WHOLE = "must be a whole number, 1 or more, or None for no limit."


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_bounds_enclose_the_optimum(loss: str, form: Form) -> None:
    for seed in seeds(4, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        solution = solve_program(program)
        optimum = brute_force(program).value
        scale = max(abs(optimum), abs(program.null), 1e-300)
        assert solution.lower <= optimum
        assert solution.upper >= optimum - 1e-9 * scale
        # The model attains the upper bound and obeys the constraint.
        value = program.objective(solution.coef, solution.intercept)
        assert value == pytest.approx(solution.upper, rel=1e-9, abs=1e-9 * scale)
        if program.k is not None:
            assert np.count_nonzero(program.free[solution.support]) <= program.k
        if solution.status == "optimal":
            assert solution.upper <= optimum + 1.01e-4 * scale
        assert set(solution.fixed_in) <= set(solution.support)
        assert not set(solution.fixed_out) & set(solution.support)


def test_a_program_is_solved_as_it_is_posed() -> None:
    sample = make_correlated(40, 8, random_state=0)
    program = Program(sample.X, sample.y, k=2, ridge=0.1)
    posed, stated = sb.solve(program), sb.solve(sample.X, sample.y, k=2, ridge=0.1)
    np.testing.assert_array_equal(posed.coef, stated.coef)
    assert posed.lower == stated.lower
    with pytest.raises(InputTypeError, match="its own data and problem, and y, k too"):
        sb.solve(program, sample.y, k=3)
    with pytest.raises(InputTypeError, match="solve needs y, one number per row"):
        sb.solve(sample.X, k=2, ridge=0.1)


@pytest.mark.parametrize("seed", [18, 23, 104])
def test_a_search_that_rounding_keeps_open_returns_no_model_worse_than_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 5)) + 10.0 ** rng.uniform(4, 7)
    y = X @ rng.standard_normal(5) * rng.uniform(0.2, 1) + 0.1 * rng.standard_normal(60)
    l0, ridge = rng.uniform(0.3, 1.3) * np.var(y) / 2, 10.0 ** rng.uniform(-7, -3)
    program = Program(X, y, l0=l0, ridge=ridge, fit_intercept=True)
    solution = sb.solve(program, exact=True)
    assert solution.upper <= program.null * (1 + 1e-12)


def test_certificates_verify_with_several_leaves() -> None:
    sample = make_correlated(80, 40, random_state=3)
    many = 0
    for l0 in (0.003, 0.01, 0.03, 0.1):
        # For the squared loss curvature would be moved, and one dual vector prove more.
        solution = sb.solve(
            sample.X, sample.y, l0=l0, ridge=0.1, loss="huber", fit_intercept=True, exact=False
        )
        verdict = solution.certificate.verify(sample.X, sample.y)
        assert verdict.ok, verdict.message
        assert verdict.lower >= solution.lower >= verdict.lower - 1e-12 * verdict.upper
        assert solution.lower >= solution.relaxation.lower - 1e-12
        many += len(solution.certificate.leaves) > 1
    assert many > 0


def test_planted_model_is_found_and_reported() -> None:
    sample = make_correlated(300, 600, 0.5, nonzeros=5, snr=20.0, random_state=0)
    names = [f"gene {j}" for j in range(600)]
    solution = sb.solve(sample.X, sample.y, k=5, ridge=0.05, feature_names=names)
    assert np.array_equal(solution.support, np.flatnonzero(sample.coef))
    assert solution.feature_names == tuple(names)
    assert 0 <= solution.rel_gap < 0.2
    assert solution.gap == solution.upper - solution.lower
    assert "The model is at most" in solution.message
    assert solution.stats.models >= 1
    assert solution.stats.full_passes > 0


def test_units_of_standardized_models() -> None:
    rng = np.random.default_rng(1)
    X = 50.0 + 10.0 ** rng.uniform(-2, 2, size=8) * rng.normal(size=(60, 8))
    y = X[:, 2] / X[:, 2].std() + 0.1 * rng.normal(size=60)
    options = {"k": 2, "ridge": 0.05, "fit_intercept": True, "standardize": True}
    solution = sb.solve(X, y, **options)
    program = Program(X, y, **options)
    assert program.objective(solution.coef, solution.intercept) == pytest.approx(solution.upper)
    assert np.mean((X @ solution.coef + solution.intercept - y) ** 2) < 0.1


def test_certify_any_model() -> None:
    sample = make_correlated(100, 30, random_state=4)
    program = Program(sample.X, sample.y, k=10, ridge=0.1, fit_intercept=True)
    ours = solve_program(program)
    certificate = sb.certify(program, ours.coef, ours.intercept)
    assert certificate.upper == pytest.approx(ours.upper, rel=1e-12)
    assert certificate.lower <= ours.upper
    lasso = Lasso(alpha=0.8).fit(sample.X, sample.y)
    assert np.count_nonzero(lasso.coef_) <= 10
    theirs = sb.certify(program, lasso, relaxation=ours.relaxation)
    assert theirs.upper == pytest.approx(program.objective(lasso.coef_, lasso.intercept_))
    assert theirs.lower <= ours.upper <= theirs.upper
    assert theirs.verify(sample.X, sample.y).ok


def test_certify_a_classifier() -> None:
    sample = make_correlated(100, 8, classes=True, random_state=5)
    program = Program(sample.X, sample.y, k=8, ridge=0.1, loss="logistic", fit_intercept=True)
    fitted = LogisticRegression(C=1 / (100 * 0.1)).fit(sample.X, sample.y)
    certificate = sb.certify(program, fitted)
    # With k = m scikit-learn solves the same problem: it is certified optimal.
    assert certificate.gap <= 1e-5


@pytest.mark.parametrize(
    ("options", "coef", "sentence"),
    [
        (
            {"k": 1, "ridge": 1.0},
            [1.0, 1.0, 0.0],
            "more than k=1; pose the problem with k=2 to certify",
        ),
        ({"k": 3, "ball": 1.0}, [1.0, 1.0, 0.0], r"\|w\|\^2 exceeds ball=1"),
        ({"k": 3, "ridge": 1.0, "never": [0]}, [1.0, 0.0, 0.0], "`never` rules out"),
        ({"k": 3, "ridge": 1.0, "positive": True}, [-1.0, 0.0, 0.0], "`positive` asks for none"),
    ],
)
def test_certify_refuses_models_outside_the_constraints(
    options: dict[str, object], coef: list[float], sentence: str
) -> None:
    program = Program(np.eye(3), np.ones(3), **options)
    with pytest.raises(ValueError, match=sentence):
        sb.certify(program, coef)


def test_time_limit_still_gives_a_certified_model() -> None:
    sample = make_correlated(200, 2000, 0.9)
    solution = sb.solve(sample.X, sample.y, k=10, ridge=0.01, time_limit=0.01)
    assert solution.lower <= solution.upper
    assert len(solution.support) <= 10
    with pytest.raises(ValueError, match="tol=0 must be a number greater than 0"):
        sb.solve(sample.X, sample.y, k=10, ridge=0.01, tol=0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time_limit": "a"}, "time_limit='a' must be a number of seconds greater than 0."),
        ({"time_limit": 0}, "time_limit=0 must be a number of seconds greater than 0."),
        ({"tol": "a"}, "tol='a' must be a number greater than 0, such as 1e-4."),
        (
            {"node_limit": "a"},
            f"node_limit='a' {WHOLE}",
        ),
        (
            {"node_limit": True},
            f"node_limit=True {WHOLE}",
        ),
        (
            {"node_limit": 1.5},
            f"node_limit=1.5 {WHOLE}",
        ),
        ({"tol": True}, "tol=True must be a number greater than 0, such as 1e-4."),
        ({"checkpoint": 3, "exact": True}, "checkpoint=3 must be the name of a file."),
        ({"callback": 3}, "callback=3 cannot be called; pass a function, or None."),
    ],
)
def test_wrong_limits_are_sentences(options: dict[str, object], sentence: str) -> None:
    with pytest.raises((InputError, InputTypeError)) as caught:
        sb.solve(np.eye(3), np.arange(3.0), k=1, ridge=0.1, **options)
    assert str(caught.value) == sentence


def test_with_budget_shares_the_data() -> None:
    sample = make_correlated(50, 20)
    program = Program(sample.X, sample.y, l0=0.1, ridge=0.1)
    other = program.with_budget(3)
    assert other.form == "k+ridge"
    assert program.form == "l0+ridge"
    assert other.matrix is program.matrix
    assert np.all(other.prices == 0)
    assert np.all(program.prices == 0.1)


def test_a_constant_response_is_solved_not_bounded() -> None:
    """The null model fits exactly; what is left is rounding, not a gap."""
    X = np.random.default_rng(0).normal(size=(20, 5))
    for value in (0.0, 0.3, 1e6):
        solution = sb.solve(X, np.full(20, value), k=2, ridge=0.1, fit_intercept=True)
        assert solution.status == "optimal"
        assert solution.rel_gap == 0.0


def test_solutions_know_their_primalization_and_gap_bounds() -> None:
    data = make_low_rank(200, 30, rank=4, nonzeros=5, random_state=0)
    found = sb.solve(data.X, data.y, k=3, ridge=0.05)
    assert found.primalization.value <= found.relaxation.value * (1 + 1e-9)
    assert found.bounds.rank == 4
    pickled = pickle.loads(pickle.dumps(found))
    assert pickled.program is None
    assert pickled.upper == found.upper
    for copied in (copy.copy(found), copy.deepcopy(found)):
        assert copied.program is found.program
        assert copied.bounds.rank == 4
    assert not np.shares_memory(copied.coef, found.coef)
    fresh = replace(found, program=None)
    with pytest.raises(ValueError, match=r"sb.gap_bounds\(program, solution.relaxation\)"):
        _ = fresh.bounds


def test_an_interrupted_search_returns_its_best_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_correlated(60, 80, nonzeros=6, random_state=0)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsebounds.models.search.Search.improve", interrupted)
    found = sb.solve(data.X, data.y, k=4, ridge=0.01)
    assert "The search was interrupted: a longer one may find a better model." in found.message
    assert found.certificate.verify(data.X, data.y)


def test_the_filters_of_warnings_stay_as_they_are() -> None:
    """They belong to the whole process: a thread must not find those of another one."""
    data = make_correlated(30, 12, nonzeros=3, random_state=0)
    given = {"X": data.X, "y": data.y, "ridge": 0.01}
    calls = [
        lambda report: sb.solve(**given, k=3, exact=True, callback=report),
        lambda report: sb.solve(**given, l0=0.01, loss="tukey", callback=report),
        lambda report: sb.path(**given, ks=[1, 2], callback=report),
        lambda report: sb.near_optimal(Program(**given, k=2), 0.0, callback=report),
        lambda report: sb.rank_bounds(Program(**given, k=2), [2], callback=report),
    ]
    for call in calls:
        seen: list[list[object]] = []
        before = list(warnings.filters)
        call(lambda _, seen=seen: seen.append(list(warnings.filters)))
        assert seen
        assert all(filters == before for filters in seen)


def test_only_relax_itself_warns_of_an_early_end() -> None:
    data = make_correlated(30, 12, nonzeros=3, random_state=0)
    program = Program(data.X, data.y, k=3, ridge=0.01)
    with pytest.warns(sb.relaxation.RelaxationWarning):
        sb.relax(program, time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve_program(program, time_limit=1e-9)
        sb.certify(program, found.coef, time_limit=1e-9)


def test_results_are_equal_to_themselves_alone() -> None:
    data = make_correlated(20, 5, nonzeros=2, random_state=0)
    one, two = (sb.solve(data.X, data.y, k=2, ridge=0.1) for _ in range(2))
    first, second = (sb.path(data.X, data.y, ks=[1, 2], ridge=0.1) for _ in range(2))
    pairs = [(one, two), (one.certificate, two.certificate), (first, second), (first[0], second[0])]
    for mine, other in pairs:
        assert mine == mine
        assert mine != other
        assert len({mine, other}) == 2
    assert one.certificate.problem == two.certificate.problem


@pytest.mark.parametrize(
    ("loss", "exact"),
    [("logistic", "auto"), ("logistic", True), ("tukey", False), ("truncated", True)],
)
def test_control_c_in_a_relaxation_ends_the_work(loss: str, exact: Any) -> None:
    """Nothing that takes time comes after it; the model and its bounds are valid."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(12, 5))
    y = X[:, :3] @ [1.0, -1.0, 0.6] + 0.5 * rng.normal(size=12)
    y = np.sign(y) if loss == "logistic" else y
    program = Program(X, y, k=2, ridge=1e-3, loss=loss)
    told: list[Any] = []
    whole = sb.solve(program, exact=exact, callback=told.append)
    relaxing = sum(isinstance(one, Progress) for one in told)
    assert relaxing
    for last in range(1, relaxing + 1, 1 + relaxing // 8):
        press = Presser(last)
        found = sb.solve(program, exact=exact, callback=press)
        # Of a search that is over by then nothing is left to be ended.
        assert press.count == last
        assert found.stats.interrupted
        assert found.stats.nodes == 0
        assert found.lower <= whole.upper
        assert program.objective(found.coef, found.intercept) <= found.upper
        assert found.certificate.verify(X, y)


def test_what_was_not_done_is_said() -> None:
    """A limit that cut the work short, and a search that is too large to begin unasked."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 60))
    y = X[:, 0] + rng.normal(size=30)
    cut = sb.solve(X, y, k=3, ridge=0.01, time_limit=1e-6)
    assert "The time limit ended the work" in cut.message
    assert "The time limit" not in sb.solve(X, y, k=3, ridge=0.01, time_limit=60.0).message


def test_a_search_that_is_not_begun_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 40))
    y = X[:, 0] + rng.normal(size=30)
    given = {"k": 5, "ridge": 0.01}
    monkeypatch.setattr("sparsebounds.exact.search.BEGIN", 100.0)
    found = sb.solve(X, y, **given)
    assert found.stats.nodes == 0
    assert "No exact search was begun: " in found.message
    assert "features are left to choose among" in found.message
    assert sb.solve(X, y, exact=True, **given).status == "optimal"
