"""The list of nearly best supports against exhaustive enumeration: none missing, none too many."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.datasets import make_correlated
from sparsebounds.exact.enumeration import Enumeration
from sparsebounds.exact.near import NearProgress
from sparsebounds.losses import REGISTRY
from sparsebounds.models import refit
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program
from sparsebounds.testing._referee import _on_support

EVERY = list(itertools.product(sorted(REGISTRY), get_args(Form)))
EPS = (0.0, 0.08)

Support = tuple[int, ...]


def every_support(program: Program) -> dict[Support, float]:
    """The values of all sets of free features on which the best model is nonzero."""
    free = np.flatnonzero(program.free).tolist()
    most = len(free) if program.k is None else min(program.k, len(free))
    norms = program.matrix.norms
    found = {}
    for size in range(most + 1):
        for chosen in itertools.combinations(free, size):
            model = refit(program, np.array(chosen, dtype=np.int64))
            parts = np.abs(model.w) * norms
            whole = parts.sum() + abs(model.b) * np.sqrt(program.n)
            if np.all(parts[list(chosen)] > 1e-12 * whole):
                found[chosen] = model.value
    return found


def chosen_sets(program: Program, result: sb.NearOptimal) -> list[Support]:
    free = program.free
    return [tuple(i for i in support if free[i]) for support in result.supports]


def check_list(
    program: Program, result: sb.NearOptimal, eps: float, values: dict[Support, float]
) -> None:
    """Everything within eps is there, and nothing beyond eps + tol."""
    optimum = min(values.values())
    scale = max(abs(optimum), abs(program.null), program.rounding)
    listed = chosen_sets(program, result)
    assert result.complete
    assert result.complete_to == eps
    assert len(set(listed)) == len(listed)
    # 1e-12: the last digits of a value differ between refits of the same support.
    assert {s for s, v in values.items() if v <= optimum + (eps - 1e-12) * scale} <= set(listed)
    if eps == 0.0:
        assert {s for s, v in values.items() if v == optimum} <= set(listed)
    assert set(listed) <= {s for s, v in values.items() if v <= optimum + (eps + 2e-9) * scale}
    assert list(result.values) == sorted(result.values)
    assert result.lower <= optimum + 1e-12 * scale
    assert result.upper == pytest.approx(optimum, abs=1e-9 * scale)


def small_program(seed: int, loss: str, form: Form) -> Program:
    """Five correlated columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 5)) + rng.normal(size=(20, 1))
    signal = X[:, :3] @ rng.normal(size=3) + rng.normal(size=20)
    y = signal
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(signal, -2, 2))).astype(np.float64)
    elif REGISTRY[loss].two_class:
        y = np.where(signal > 0, 1.0, -1.0)
    sparsity, size = form.split("+")
    options: dict[str, Any] = {"k": 3} if sparsity == "k" else {"l0": 0.02}
    options |= {"ridge": 0.05} if size == "ridge" else {"ball": 0.8}
    return Program(X, y, loss=loss, fit_intercept=bool(seed % 2), **options)


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_the_list_is_that_of_exhaustive_enumeration(loss: str, form: Form) -> None:
    for seed in range(1 if form.endswith("ball") else 2):
        program = small_program(seed, loss, form)
        values = every_support(program)
        for eps in EPS:
            check_list(program, sb.near_optimal(program, eps), eps, values)


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_awkward_programs(loss: str, form: Form) -> None:
    """Signs, always, never, prices of 0, constant and repeated columns, ..."""
    for seed in range(3, 5):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 2))
        check_list(program, sb.near_optimal(program, 0.05), 0.05, every_support(program))


@pytest.mark.parametrize("kind", ["plain", "duplicates", "ties", "zeros", "scales"])
@pytest.mark.parametrize("terms", [{"k": 4}, {"k": 2}, {"l0": 0.02}], ids=["k", "few", "l0"])
def test_smaller_programs_and_leaves_lose_nothing(
    monkeypatch: pytest.MonkeyPatch, kind: str, terms: dict[str, Any]
) -> None:
    """Curvature is moved into the ridge; nodes with few supports are listed at once."""
    real, searches = Enumeration.start, []

    def started(self: Enumeration, *arguments: Any) -> None:
        searches.append(self)
        real(self, *arguments)

    monkeypatch.setattr(Enumeration, "start", started)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 5)) + 0.5 * rng.normal(size=(20, 1))
        if kind == "duplicates":
            X[:, 3:] = X[:, :2] * [1.0, -1.0]
        elif kind == "zeros":
            X[:, 3] = 0.0
        elif kind == "ties":
            X = np.kron(np.eye(5), np.ones((4, 1)))
        y = X @ (rng.normal(size=5) * (rng.random(5) < 0.7)) + rng.normal(size=20)
        y = np.ones(20) if kind == "ties" else y
        ridge: Any = 0.02
        if kind == "scales":
            X, ridge = X * np.logspace(-4, 4, 5), 0.02 * np.logspace(-8, 8, 5)
        program = Program(
            X,
            y,
            ridge=ridge,
            fit_intercept=bool(seed % 2),
            sample_weight=rng.uniform(0.5, 2.0, 20) if seed else None,
            positive=seed == 2,
            always=[1] if seed == 1 else None,
            **terms,
        )
        values = every_support(program)
        for eps in EPS:
            check_list(program, sb.near_optimal(program, eps), eps, values)
    if terms == {"k": 2}:
        assert searches[0].nodes == searches[2].nodes == 1
    elif kind == "plain":
        assert all(search.reduction.minorant is not None for search in searches)


@pytest.mark.parametrize("form", get_args(Form))
def test_an_independent_referee_agrees(form: Form) -> None:
    program = small_program(3, "logistic", form)
    result = sb.near_optimal(program, 0.1)
    optimum = brute_force(program).value
    scale = max(abs(optimum), abs(program.null))
    most = program.m if program.k is None else program.k
    cache: dict[Support, Any] = {}
    near = set()
    for size in range(most + 1):
        for chosen in itertools.combinations(range(program.m), size):
            if _on_support(program, cache, chosen).value <= optimum + 0.1 * scale:
                near.add(chosen)
    assert near == set(result.supports)
    assert len(near) > 1


@pytest.mark.parametrize("form", get_args(Form))
def test_a_refit_that_fails_is_no_proof(monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    """A model of zeros does not show that its support is a smaller one."""
    failing = (0, 1)
    program = small_program(3, "poisson", form)
    values = every_support(program)
    optimum = min(values.values())
    scale = max(abs(optimum), abs(program.null))
    eps = (values[failing] - optimum) / scale + 0.01

    def refitted(part: Program, chosen: Any) -> Any:
        return refit(part, chosen[:0] if tuple(chosen.tolist()) == failing else chosen)

    monkeypatch.setattr("sparsebounds.exact.near.features_left", lambda p, *_: np.arange(p.m))
    monkeypatch.setattr("sparsebounds.exact.enumeration.refit", refitted)
    result = sb.near_optimal(program, eps)
    assert failing not in result.supports
    assert not result.complete
    assert "not known well enough" in result.message
    if not np.isnan(result.complete_to):
        assert optimum + result.complete_to * scale < values[failing]
        must = {s for s, v in values.items() if v <= optimum + result.complete_to * scale}
        assert must <= set(result.supports)


def test_counts_so_large_that_the_first_step_overflows() -> None:
    program = Program(
        [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [2e3, 1e3, 0.0], k=2, ridge=1e-3, loss="poisson"
    )
    result = sb.near_optimal(program, 0.1)
    assert result.supports == ((0, 1),)
    assert result.complete


def test_a_column_far_from_zero_hides_no_other(rng: np.random.Generator) -> None:
    """Its norm is far above what it moves the fit by, once it is standardized."""
    X = rng.normal(loc=[0.0, 1e12], size=(10, 2))
    y = X[:, 0] + (X[:, 1] - 1e12)
    program = Program(X, y, k=2, ridge=1e-6, fit_intercept=True, standardize=True)
    assert (0, 1) in sb.near_optimal(program, 0.01).supports


@pytest.mark.parametrize("terms", [{"k": 2}, {"l0": 0.05}], ids=["k", "l0"])
@pytest.mark.parametrize("size", [{"ridge": 0.01}, {"ball": 10.0}], ids=["ridge", "ball"])
def test_twins_both_appear(rng: np.random.Generator, terms: Any, size: Any) -> None:
    X = rng.normal(size=(30, 6))
    X[:, 4] = -X[:, 1]
    y = X[:, 0] + 2.0 * X[:, 1] + 0.1 * rng.normal(size=30)
    result = sb.near_optimal(Program(X, y, **terms, **size), 0.0)
    assert set(result.supports) == {(0, 1), (0, 4)}
    assert result.complete
    assert result.core.tolist() == [0]
    assert result.frequency.tolist() == [1.0, 0.5, 0.0, 0.0, 0.5, 0.0]
    assert result.unused.tolist() == [2, 3, 5]


def test_smaller_supports_count_and_empty_columns_do_not(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 4))
    X[:, 2] = 0.0
    y = X[:, 0] + 0.01 * rng.normal(size=30)
    result = sb.near_optimal(Program(X, y, k=2, ridge=0.01), 0.01)
    assert set(result.supports) == {(0,), (0, 1), (0, 3)}


@cache
def crowded() -> Program:
    data = make_correlated(60, 20, 0.7, random_state=1)
    return Program(data.X, data.y, k=6, ridge=0.01)


@cache
def crowd() -> sb.NearOptimal:
    return sb.near_optimal(crowded(), 0.02)


@pytest.mark.parametrize(
    ("limits", "named"),
    [({"max_supports": 5}, "max_supports=5"), ({"node_limit": 12}, "node_limit=12")],
)
def test_limits_leave_a_list_whose_claims_hold(limits: dict[str, int], named: str) -> None:
    program = crowded()
    whole = crowd()
    part = sb.near_optimal(program, 0.02, **limits)
    assert whole.complete
    assert not part.complete
    assert named in part.message
    assert 1 <= len(part) <= limits.get("max_supports", len(whole))
    assert part.lower <= whole.lower + 1e-12
    assert part.upper >= whole.lower
    scale = max(abs(whole.upper), abs(program.null))
    if not np.isnan(part.complete_to):
        must = whole.values <= whole.upper + part.complete_to * scale
        near = {s for s, is_near in zip(whole.supports, must, strict=True) if is_near}
        assert near <= set(part.supports)


def test_a_cap_that_is_just_enough_is_no_limit() -> None:
    program = crowded()
    whole = crowd()
    assert sb.near_optimal(program, 0.02, max_supports=len(whole)).complete
    short = sb.near_optimal(program, 0.02, max_supports=len(whole) - 1)
    assert not short.complete
    assert len(short) == len(whole) - 1


def test_no_time_proves_nothing() -> None:
    result = sb.near_optimal(crowded(), 0.02, time_limit=1e-9)
    assert not result.complete
    assert "time_limit" in result.message
    assert len(result) == 1
    assert result.lower < result.upper


def test_ctrl_c_returns_what_is_there() -> None:
    seen: list[NearProgress] = []

    def press(now: Any) -> None:
        if isinstance(now, NearProgress):
            seen.append(now)
            if len(seen) == 3:
                raise KeyboardInterrupt

    result = sb.near_optimal(crowded(), 0.02, callback=press)
    assert not result.complete
    assert "Ctrl-C" in result.message
    assert "supports, complete below" in seen[-1].line()


@pytest.mark.parametrize("place", ["_choice", "settle", "_keep", "start"])
def test_an_interrupt_anywhere_claims_nothing_false(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    real, calls = getattr(Enumeration, place), []

    def interrupted(self: Enumeration, *arguments: Any) -> Any:
        calls.append(1)
        done = real(self, *arguments)
        if len(calls) == (1 if place == "start" else 3):
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Enumeration, place, interrupted)
    part = sb.near_optimal(crowded(), 0.02)
    assert not part.complete
    assert part.lower <= crowd().upper


def test_depth_first_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    best_first = crowd()
    monkeypatch.setattr("sparsebounds.exact.feature_search.MEMORY", 0)
    depth_first = sb.near_optimal(crowded(), 0.02)
    assert depth_first.complete
    assert depth_first.supports == best_first.supports


def test_models_are_in_the_users_units(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0] + 5.0
    y = X[:, 1] + rng.normal(size=40)
    program = Program(X, y, k=2, ridge=0.1, fit_intercept=True, standardize=True)
    result = sb.near_optimal(program, 0.05)
    assert len(result) > 1
    for row, intercept, value in zip(result.coef, result.intercepts, result.values, strict=True):
        assert program.objective(row, intercept) == pytest.approx(value, rel=1e-12)
    for row, support in zip(result.coef, result.supports, strict=True):
        assert tuple(np.flatnonzero(row).tolist()) == support
    assert result.optimum == (result.lower, result.upper)


def test_words_table_and_picture(rng: np.random.Generator) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    X = rng.normal(size=(30, 4))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=30)
    program = Program(X, y, k=3, ridge=0.01, feature_names=["a", "b", "c", "d"])
    result = sb.near_optimal(program, 0.05)
    assert "no others" in str(result)
    assert "a, b" in str(result)
    table = result.to_frame()
    assert table["value"].tolist() == result.values.tolist()
    assert table["support"].iloc[0][:2] == ("a", "b")
    assert table["coef a"].tolist() == result.coef[:, 0].tolist()
    figure, axes = plt.subplots()
    assert result.plot(axes) is axes
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert shown[:2] == ["a", "b"]
    cells = axes.collections[0].get_array().reshape(len(result), -1)
    assert cells.sum(axis=1).tolist() == [len(support) for support in result.supports]
    plt.close(figure)


@pytest.mark.parametrize(
    ("package", "method", "extra"),
    [("matplotlib.pyplot", "plot", "plot"), ("pandas", "to_frame", "data")],
)
def test_without_the_extra_it_is_named(
    monkeypatch: pytest.MonkeyPatch, package: str, method: str, extra: str
) -> None:
    result = sb.near_optimal(Program([[1.0], [2.0]], [1.0, 0.0], k=1, ridge=1.0), 0.1)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"sparsebounds\[{extra}\]"):
        getattr(result, method)()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"eps": -0.1}, "eps=-0.1 must be a number from 0"),
        ({"eps": 1.0}, "eps=1.0 must be a number from 0"),
        ({"eps": 0.1, "tol": 0.0}, "tol=0.0 must be a number from 1e-12 to below 1"),
        ({"eps": 0.1, "max_supports": 0}, "max_supports=0 must be a whole number, 1 or more"),
        ({"eps": 0.1, "node_limit": 0}, "node_limit=0 must be a whole number, 1 or more"),
        ({"eps": "a"}, "eps='a' must be a number from 0"),
        ({"eps": True}, "eps=True must be a number from 0"),
        ({"eps": 0.1, "max_supports": 2.5}, "max_supports=2.5 must be a whole number"),
        ({"eps": 0.1, "node_limit": "a"}, "node_limit='a' must be a whole number"),
        ({"eps": 0.1, "callback": 3}, "callback=3 cannot be called"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], sentence: str) -> None:
    program = Program([[1.0], [2.0]], [1.0, 0.0], k=1, ridge=1.0)
    before = program.matrix.passes
    with pytest.raises((ValueError, TypeError), match=sentence):
        sb.near_optimal(program, **arguments)
    assert program.matrix.passes == before


def test_a_solution_is_no_program() -> None:
    found = sb.solve([[1.0], [2.0]], [1.0, 0.0], k=1, ridge=1.0)
    with pytest.raises(InputTypeError, match="program is a Solution; pass a sparsebounds"):
        sb.near_optimal(found, 0.1)


def test_a_program_without_a_choice_has_one_support() -> None:
    X = [[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]]
    never = Program(X, [1.0, 0.0, 1.0], k=1, ridge=1.0, never=[0, 1])
    always = Program(X, [1.0, 0.0, 1.0], k=0, ridge=1.0, always=[0], never=[1])
    assert sb.near_optimal(never, 0.1).supports == ((),)
    assert sb.near_optimal(always, 0.1).supports == ((0,),)
    assert sb.near_optimal(always, 0.1).complete


def test_data_in_the_place_of_the_problem_or_of_eps() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 0.0]})
    with pytest.raises(TypeError, match=r"program is a DataFrame; pass a sparsebounds.Program\(X"):
        sb.near_optimal(table, table["a"])
    program = sb.Program(table[["b"]], table["a"], k=1, ridge=0.1)
    with pytest.raises(
        ValueError, match=r"eps is a DataFrame; it must be a number from 0 to below"
    ):
        sb.near_optimal(program, table)
