"""Models: refits are optimal on their support, exchanges are exact, searches find the optimum."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds._support.rounding import in_ball
from sparsebounds.bounds import objective_up
from sparsebounds.datasets import make_low_rank
from sparsebounds.losses import REGISTRY
from sparsebounds.models import Search, as_returned, exchange, refit
from sparsebounds.models.beam import beam
from sparsebounds.models.exchange import Around, Quadratic, descend, moves
from sparsebounds.models.expansion import Expansion
from sparsebounds.models.moves import Move
from sparsebounds.penalties import Groups
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_refit_is_the_best_on_its_support(loss: str, form: Form) -> None:
    """Against the referee restricted to the support: never worse, and feasible exactly."""
    for seed in seeds(4, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        free = np.flatnonzero(program.free)
        most = len(free) if program.k is None else min(program.k, len(free))
        support = np.sort(np.random.default_rng(seed).permutation(free)[:most])
        model = refit(program, support)
        assert np.isfinite(model.value)
        assert model.value == objective_up(program, model.w, model.b)
        assert np.all(model.w[program.positive] >= 0)
        assert set(model.support) <= set(support) | set(np.flatnonzero(program.always))
        if program.ball is not None:
            assert in_ball(model.w, program.ball)
        never = np.setdiff1d(np.arange(program.m), [*support, *np.flatnonzero(program.always)])
        restricted = Program(
            program.matrix.columns(np.arange(program.m)),
            program.y,
            k=program.m,
            ridge=program.ridge,
            ball=program.ball,
            loss=program.loss,
            fit_intercept=program.fit_intercept,
            sample_weight=program.weights,
            offset=program.offset,
            positive=program.positive,
            never=never,
        )
        truth = brute_force(restricted).value
        charge = float(program.prices[model.support[program.free[model.support]]].sum())
        scale = max(abs(truth), abs(program.null))
        assert model.value - charge <= truth + 1e-9 * scale


def quadratic(seed: int, *, priced: bool) -> tuple[Quadratic, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(15, 8)), rng.normal(size=15)
    price = 0.05 * rng.random(8) if priced else np.zeros(8)
    model = Quadratic(
        A.T @ A / 15, A.T @ y / 15, 0.1 + rng.random(8), price, np.zeros(8, dtype=bool)
    )
    return model, A, y


def best_value(model: Quadratic, support: list[int]) -> float:
    S = np.array(sorted(support), dtype=int)
    M = model.hessian[np.ix_(S, S)] + np.diag(model.ridge[S])
    return float(
        -0.5 * model.linear[S] @ np.linalg.solve(M, model.linear[S]) + model.price[S].sum()
    )


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_exchange_table_is_exact_for_a_quadratic(seed: int, priced: bool) -> None:
    model, _, _ = quadratic(seed, priced=priced)
    inside = np.array([1, 4, 6])
    fixed = np.arange(8) == 6
    found = moves(model, inside, fixed, room=1, most=1000)
    before = best_value(model, inside.tolist())
    for move in found:
        after = set(inside.tolist()) - {move.leave} | ({move.enter} - {None})
        assert best_value(model, list(after)) - before == pytest.approx(move.change, abs=1e-10)
        assert 6 in after
    # Every swap and addition is in the list, and drops where a feature has a price.
    swaps = {(m.leave, m.enter) for m in found if m.leave is not None and m.enter is not None}
    assert swaps == set(itertools.product([1, 4], [0, 2, 3, 5, 7]))
    assert {m.enter for m in found if m.leave is None} == {0, 2, 3, 5, 7}
    assert {m.leave for m in found if m.enter is None} == ({1, 4} if priced else set())
    changes = [move.change for move in found]
    assert changes == sorted(changes)


def test_exchange_table_of_groups_is_exact_for_a_quadratic() -> None:
    """Groups of 1, 2 and 3: all moves, and the best of them where only one is asked for."""
    leaders = np.array([0, 0, 2, 3, 3, 3, 6, 7, 7])
    groups, fixed = Groups(leaders), leaders != np.arange(9)
    members = {head: np.flatnonzero(leaders == head).tolist() for head in groups.heads.tolist()}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, y = rng.normal(size=(15, 9)) @ rng.normal(size=(9, 9)), rng.normal(size=15)
        price = np.where(fixed, 0.0, 0.05 * rng.random(9) * (seed % 2))
        ridge, none = 0.1 + rng.random(9), np.zeros(9, dtype=bool)
        model = Quadratic(A.T @ A / 15, A.T @ y / 15, ridge, price, none, groups)
        heads = {0, 6}
        inside = np.array([i for head in sorted(heads) for i in members[head]])
        found = moves(model, inside, fixed, room=1, most=1000)
        before = best_value(model, inside.tolist())
        for move in found:
            after = heads - {move.leave} | ({move.enter} - {None})
            value = best_value(model, [i for head in after for i in members[head]])
            assert value - before == pytest.approx(move.change, abs=1e-10)
        assert len(found) == 3 + 2 * 3 + 2 * (seed % 2)
        helping = [move for move in found if move.change < 0.0][:1]
        first = moves(model, inside, fixed, room=1, most=1, below=0.0)
        assert [m for m in first if m.change < 0.0] == helping


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("few", [0, exchange.FEW])
def test_best_swap_is_the_first_of_all_that_help(
    one_sided: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that two inequalities rule out are never better; correlated columns and ties too."""
    monkeypatch.setattr(exchange, "FEW", few)
    steps = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(30, 20)) + (seed % 3) * rng.normal(size=(30, 1))
        A[:, 7] = A[:, 3]
        positive = np.full(20, one_sided)
        linear = A.T @ rng.normal(size=30) / 30
        model = Quadratic(A.T @ A / 30, linear, np.full(20, 1e-2), np.zeros(20), positive)
        fixed = np.isin(np.arange(20), rng.choice(20, 2, replace=False))
        here = Around(model, np.sort(rng.choice(20, 6, replace=False)))
        while True:
            first = moves(model, here.inside, fixed, room=0, most=1000, here=here)[0]
            found = here.best_swap(fixed)
            if not first.change < -1e-12:
                assert found is None or found.change >= -1e-12
                break
            steps += 1
            assert found is not None
            assert (found.leave, found.enter) == (first.leave, first.enter)
            assert found.change == pytest.approx(first.change, rel=1e-9)
            here = here.swap(found)
    assert steps > 100


def test_swap_after_swap_as_factored_anew() -> None:
    """Changes of rank one add up to the support's own inverse, weights and slopes."""
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(40, 30)) + rng.normal(size=(40, 1)), rng.normal(size=40)
    model = Quadratic(
        A.T @ A / 40, A.T @ y / 40, np.full(30, 1e-3), np.zeros(30), np.zeros(30, dtype=bool)
    )
    here = Around(model, np.arange(0, 30, 3))
    for _ in range(40):
        leave = int(rng.choice(here.inside))
        enter = int(rng.choice(np.setdiff1d(np.arange(30), here.inside)))
        here = here.swap(Move(leave, enter, 0.0))
    anew = Around(model, here.inside)
    outside = np.setdiff1d(np.arange(30), here.inside)
    for name in ("x", "spread", "weights"):
        np.testing.assert_allclose(getattr(here, name), getattr(anew, name), atol=1e-9)
    for name in ("rho", "schur"):
        np.testing.assert_allclose(
            getattr(here, name)[outside], getattr(anew, name)[outside], atol=1e-10
        )


@pytest.mark.parametrize("intercept", [False, True])
def test_the_quadratic_of_the_squared_loss_is_the_objective(intercept: bool) -> None:
    """Wherever it is taken: values on supports differ as those of the refits do."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 5)) + 1.0, 3.0 + rng.normal(size=15)
    weights, offset = rng.uniform(0.5, 2.0, 15), rng.normal(size=15)
    X[:, :2] -= np.average(X[:, :2], axis=0, weights=weights) - 5e-4  # too small to be subtracted
    program = Program(
        X, y, k=5, ridge=0.1, fit_intercept=intercept, sample_weight=weights, offset=offset
    )
    search = Search(program, relax(program))
    assert search.exact
    for w, b in ((np.zeros(5), 0.0), (rng.normal(size=5), 0.7 if intercept else 0.0)):
        model = Expansion.at(
            program, search.pool, search._columns, search.image(w, b), float("nan")
        ).quadratic
        supports = [[0], [1, 3], [0, 2, 4], [0, 1, 2, 3, 4]]
        values = [refit(program, search.pool[one]).value for one in supports]
        changes = model.values([np.array(one) for one in supports])
        assert np.diff(changes) == pytest.approx(np.diff(values), abs=1e-12)


def test_descents_fill_the_budget() -> None:
    """Without prices one more feature never hurts: from nothing to k, where no swap helps."""
    rng = np.random.default_rng(0)
    for loss in ("squared", "logistic"):
        X = rng.normal(size=(30, 7))
        y = X @ rng.normal(size=7) + rng.normal(size=30)
        program = Program(X, y if loss == "squared" else y > 0.0, loss=loss, k=3, ridge=0.05)
        search = Search(program, relax(program))
        search.improve(np.zeros(0, dtype=np.int64))
        support = set(search.incumbent.support.tolist())
        assert len(support) == 3
        for leave, enter in itertools.product(support, set(range(7)) - support):
            other = np.array(sorted(support - {leave} | {enter}))
            assert refit(program, other).value >= search.incumbent.value * (1.0 - 1e-12)


def test_search_finds_nearly_every_small_optimum() -> None:
    total = found = 0
    for seed, (loss, form) in [(s, one) for one in EVERY for s in seeds(2, *one)]:
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        relaxed = relax(program)
        model = Search(program, relaxed).run()
        optimum = brute_force(program).value
        scale = max(abs(optimum), abs(program.null))
        assert relaxed.lower <= model.value
        assert model.value >= optimum - 1e-9 * scale
        found += model.value <= optimum + 1e-8 * scale
        total += 1
    assert found >= 0.97 * total


def test_search_is_deterministic() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 3, axis=1)
    y = X[:, 0] + X[:, 3]
    program = Program(X, y, k=2, ridge=0.1)
    relaxed = relax(program)
    supports = [tuple(Search(program, relaxed).run().support) for _ in range(3)]
    assert len(set(supports)) == 1


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_the_problem_finds_the_optimum(seed: int, priced: bool) -> None:
    """Width 2^8 keeps every support: best first, at most `room` more features, fixed ones kept."""
    model, _, _ = quadratic(seed, priced=priced)
    start, fixed = np.array([6]), np.arange(8) == 6
    found = beam(model, [start], fixed, room=3, width=256)
    supports = [
        [6, *more]
        for size in range(4)
        for more in itertools.combinations([j for j in range(8) if j != 6], size)
    ]
    best = min(best_value(model, support) for support in supports)
    assert best_value(model, found[0].tolist()) == pytest.approx(best, abs=1e-12)
    values = [best_value(model, support.tolist()) for support in found]
    assert values == pytest.approx(sorted(values), abs=1e-12)
    assert all(6 in support and len(support) <= 4 for support in found)


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_descents_end_where_no_move_helps(seed: int, priced: bool) -> None:
    model, _, _ = quadratic(seed, priced=priced)
    fixed = np.zeros(8, dtype=bool)
    for start in ([], [0], [1, 5], [2, 3, 7]):
        inside = np.array(start, dtype=np.int64)
        end = descend(model, inside, fixed, room=3 - len(inside))
        assert best_value(model, end.tolist()) <= best_value(model, start)
        assert len(end) <= 3
        here = best_value(model, end.tolist())
        others = set(range(8)) - set(end.tolist())
        swaps = [[*(set(end.tolist()) - {i}), j] for i in end.tolist() for j in others]
        adds = [[*end.tolist(), j] for j in others] if len(end) < 3 else []
        drops = [list(set(end.tolist()) - {i}) for i in end.tolist()]
        assert here <= min(best_value(model, s) for s in [*swaps, *adds, *drops]) + 1e-10


def test_experiment_1_at_ten_features() -> None:
    """0.59252864, the best known (OKRidge's beam search finds it too): 0.59569 by swaps alone."""
    data = make_low_rank(random_state=0)
    program = Program(data.X, data.y, k=10, ridge=0.01)
    assert Search(program, relax(program)).run().value == pytest.approx(0.5925286435250, abs=1e-10)


def test_a_column_of_other_units_does_not_mislead_the_search() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(20, 8))
        X[:, 0] *= 1e7
        y = X[:, 1:] @ rng.normal(size=7) + 0.1 * rng.normal(size=20)
        program = Program(X, y, k=3, ridge=1e-3)
        found = Search(program, relax(program)).run().value
        assert found == pytest.approx(brute_force(program).value, rel=1e-8)


def test_coefficients_in_the_users_units_stay_in_the_ball() -> None:
    """The round trip through the units rounds: 2 of these 60 were outside, and refused."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 6))
        program = Program(X, 3.0 * X[:, 0] + rng.normal(size=12), k=2, ball=1.0, standardize=True)
        model, coef, intercept = as_returned(program, refit(program, np.array([0, 1])))
        assert program.objective(coef, intercept) <= model.value
        assert np.array_equal(program.to_program(coef, intercept)[0], model.w)
