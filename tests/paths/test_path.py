"""path against the referee: bounds at every point, monotone models, proofs, stops and pictures."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from typing import Any, get_args

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds.datasets import make_correlated
from sparsebounds.losses import REGISTRY
from sparsebounds.models import refit
from sparsebounds.paths import PathProgress, walk
from sparsebounds.paths.rows import Row
from sparsebounds.paths.shared import SharedBounds, coarse
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program

EVERY = list(itertools.product(sorted(REGISTRY), ("ridge", "ball")))
SAMPLE = make_correlated(60, 25, nonzeros=5, random_state=0)


def points(program: Program, path: sb.Path) -> Iterator[tuple[Program, Any]]:
    for point in path:
        yield (
            (program.with_budget(point.k) if point.k is not None else program.with_price(point.l0)),
            point,
        )


# Both bounds, at every point.


@pytest.mark.parametrize(("loss", "size"), EVERY)
@pytest.mark.parametrize("kind", ["k", "l0"])
def test_bounds_enclose_the_optimum_everywhere(loss: str, size: str, kind: str) -> None:
    form: Form = next(f for f in get_args(Form) if f == f"{kind}+{size}")
    for seed in seeds(1, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=bool(seed % 8))
        grid = {"ks": range(program.m + 2)} if kind == "k" else {"l0s": [1.0, 0.1, 0.02, 0.001]}
        path = sb.path(program, **grid)
        assert path.complete
        scale = max(abs(program.null), 1e-300)
        for posed, point in points(program, path):
            optimum = brute_force(posed).value
            assert point.lower <= optimum
            assert point.upper >= optimum - 1e-9 * max(abs(optimum), scale)
            value = posed.objective(point.coef, point.intercept)
            assert value == pytest.approx(point.upper, rel=1e-9, abs=1e-9 * scale)
            counted = np.count_nonzero(program.free[point.support])
            assert point.k is None or counted <= point.k
            if point.status == "optimal":
                assert point.upper <= optimum + 1.01e-4 * max(abs(optimum), scale)
        # Fewer features are allowed wherever more are; cheaper features cost less.
        assert np.all(np.diff(path.upper) <= 0)


@given(seed=st.integers(0, 10_000), loss=st.sampled_from(sorted(REGISTRY)), ball=st.booleans())
def test_no_shared_dual_vector_exceeds_an_optimum(seed: int, loss: str, ball: bool) -> None:
    """The curve of a dual vector of ONE budget is below the optimum of EVERY budget."""
    program = random_program(seed, loss=loss, form="k+ball" if ball else "k+ridge")
    relaxed = sb.relax(program)
    flat = program.with_budget(0)
    curve = sb.bounds.budget_curve(flat, relaxed.point)
    assert len(curve) == np.count_nonzero(program.free) + 1
    for k, bound in enumerate(curve):
        assert bound <= brute_force(program.with_budget(k)).value
        direct = sb.bounds.bound_at(program.with_budget(k), relaxed.point)
        assert bound == pytest.approx(direct, rel=1e-12, abs=1e-12 * abs(program.null))


def test_shared_vectors_prove_what_each_of_them_proves() -> None:
    """At every budget the best single bound, at every price more; never above an optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 6))
    program = Program(X, X @ rng.normal(size=6) + rng.normal(size=15), k=0, ridge=0.1)
    for budgets in ([0, 1, 3, 6, 9], None):
        shared = SharedBounds(program, budgets)
        found = [sb.relax(program.with_budget(k)).point for k in (1, 2, 4)]
        for point in found:
            shared.add(point)
        posed = (
            [program.with_price(price) for price in (0.3, 0.05, 0.01)]
            if budgets is None
            else [program.with_budget(k) for k in budgets]
        )
        for one in posed:
            alone = max(sb.bounds.bound_at(one, point) for point in found)
            lower = shared.lower(one)
            assert lower <= brute_force(one).value
            assert lower >= alone - 1e-12
            assert budgets is None or lower == pytest.approx(alone, rel=1e-12)


def test_a_model_is_worth_at_a_price_what_it_costs_there() -> None:
    rng = np.random.default_rng(0)
    program = Program(rng.normal(size=(15, 6)), rng.normal(size=15), l0=0.1, ridge=0.1)
    row = Row.of(program, refit(program, np.array([0, 2])), np.zeros(15))
    for price in (0.01, 0.1, 0.5):
        value = row.unpriced + 2.0 * price
        assert row.upper_at(program.with_price(price)) == pytest.approx(value, rel=1e-12)


def test_coarse_bounds_are_below() -> None:
    program = Program(np.eye(3), np.arange(3.0), k=1, ridge=0.1)
    for lower in np.random.default_rng(0).normal(size=50):
        assert lower - 2.0**-42 * max(abs(lower), program.null) <= coarse(program, lower) <= lower
        # Above the least loss, 0, the last bits of a number drawn at random are rounded off.
        assert lower < 0.0 or coarse(program, lower) < lower


def test_a_chord_is_no_lower_bound() -> None:
    """Why no bound here is interpolated in k: the first feature gains most."""
    path = sb.path(np.eye(2), [3.0, 1.0], ks=[0, 1, 2], ridge=0.1)
    assert path.rel_gap[[0, 2]].max() < 1e-9
    assert 0.5 * (path.lower[0] + path.lower[2]) > path.upper[1]


@pytest.mark.parametrize(
    ("loss", "size", "grid"),
    [
        ("squared", {"ball": 3.0}, {"ks": range(14)}),
        ("logistic", {"ridge": 0.05}, {"l0s": np.geomspace(2.0, 1e-3, 8)}),
    ],
)
def test_never_worse_than_one_relaxation_or_one_solve(
    loss: str, size: dict[str, float], grid: dict[str, Any]
) -> None:
    y = SAMPLE.y if loss == "squared" else SAMPLE.y > 0
    options: dict[str, Any] = {"loss": loss, "fit_intercept": True, "standardize": True, **size}
    path = sb.path(SAMPLE.X, y, **grid, **options)
    scale = path.null
    for point in path[1::6]:
        one = {"k": point.k} if point.k is not None else {"l0": point.l0}
        alone = sb.solve(SAMPLE.X, y, exact=False, **one, **options)
        assert point.lower >= alone.relaxation.lower - 1e-6 * scale
        assert point.upper <= alone.upper + 1e-2 * scale
        if loss == "squared":
            assert point.lower >= alone.lower - 1e-6 * scale


def test_all_proofs_verify_and_only_on_their_data() -> None:
    weights = np.where(np.arange(60) % 7, 1.0, 2.0)
    options: dict[str, Any] = {"ridge": 0.1, "fit_intercept": True, "standardize": True}
    for grid in ({"ks": [0, 2, 5, 40]}, {"l0s": [0.5, 0.1, 0.01]}):
        path = sb.path(SAMPLE.X, SAMPLE.y, sample_weight=weights, **grid, **options)
        for point, verdict in zip(path, path.verify(SAMPLE.X, SAMPLE.y, weights), strict=True):
            assert verdict.ok, verdict.message
            # The terms of a minorant are larger than their sum, and so is their rounding.
            tree, terms = point.certificate.tree, point.lower
            if tree is not None and tree.minorant is not None:
                terms += 0.5 * float(np.mean(np.square(tree.minorant.target)))
            assert verdict.lower == pytest.approx(point.lower, rel=0.0, abs=1e-11 * terms)
            assert point.lower <= verdict.lower
            assert verdict.upper <= point.upper == pytest.approx(verdict.upper, rel=1e-12)
        assert not any(verdict.ok for verdict in path.verify(SAMPLE.X, SAMPLE.y))


def test_prices_take_the_best_of_all_dual_vectors() -> None:
    """With many prices the dual vectors of other points raise bounds above what solve proves."""
    path = sb.path(SAMPLE.X, SAMPLE.y, l0s=np.geomspace(1.0, 0.001, 20), ridge=0.02)
    alone = [
        sb.solve(SAMPLE.X, SAMPLE.y, l0=point.l0, ridge=0.02, exact=False).lower for point in path
    ]
    gained = (path.lower - alone) / path.null
    assert np.all(gained > -1e-6)
    assert np.all(path.lower <= path.upper)
    # p is concave and grows with the price, and so is the least of linear functions.
    l0s = path.l0s
    assert l0s is not None
    slopes = np.diff(path.upper) / np.diff(l0s)
    assert np.all(np.diff(slopes) >= -1e-6)


def test_exact_points() -> None:
    path = sb.path(SAMPLE.X, SAMPLE.y, ks=[1, 2, 3], ridge=0.05, exact=True)
    assert [point.status for point in path] == ["optimal"] * 3
    assert any(point.certificate.tree is not None for point in path)
    assert all(verdict.ok for verdict in path.verify(SAMPLE.X, SAMPLE.y))
    for point in path:
        assert point.lower <= brute(point.k) <= point.upper + 1e-12


def brute(k: int) -> float:
    found = sb.solve(SAMPLE.X, SAMPLE.y, k=k, ridge=0.05, exact=True, tol=1e-7)
    assert found.status == "optimal"
    return found.upper


# Awkward data.


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_degenerate_data(loss: str) -> None:
    rng = np.random.default_rng(0)
    tied = np.repeat(rng.normal(size=(9, 2)), 2, axis=1)
    badly = rng.normal(size=(9, 4)) * [1e-8, 1.0, 1e8, 0.0]
    cases = {
        "duplicates": (tied, rng.normal(size=9)),
        "badly scaled": (badly, rng.normal(size=9)),
        "constant response": (rng.normal(size=(9, 4)), np.full(9, 3.0)),
        "zero response": (rng.normal(size=(9, 4)), np.zeros(9)),
        "one row": (np.array([[1.0, -2.0, 0.0]]), np.array([2.0])),
        "one column": (rng.normal(size=(9, 1)), rng.normal(size=9)),
        "no signal": (np.zeros((9, 3)), rng.normal(size=9)),
    }
    for name, (X, y) in cases.items():
        for grid in ({"ks": range(X.shape[1] + 3)}, {"l0s": [10.0, 0.1, 1e-4]}):
            program = Program(X, y, k=0, ridge=0.3, loss=loss)
            path = sb.path(program, **grid)
            for posed, point in points(program, path):
                optimum = brute_force(posed).value
                assert point.lower <= optimum, name
                assert point.upper >= optimum - 1e-9 * max(abs(optimum), 1e-12), name
            assert all(verdict.ok for verdict in path.verify(X, y)), name


# Stopping.


def test_stop_is_what_it_claims() -> None:
    program = Program(SAMPLE.X, SAMPLE.y, k=0, ridge=0.3)
    whole = sb.path(program, ks=range(26))
    path = sb.path(program, ks=range(26), stop=0.05)
    assert not path.complete
    assert len(path) < 26
    assert path.message.startswith("Stopped early: no model with up to 25 features is better than")
    last = path[-1]
    scale = max(abs(last.upper), path.null)
    assert last.upper - whole.upper.min() <= 0.05 * scale
    # and the point before it did not allow the claim by the best bound that there is
    before = path[-2]
    assert before.upper - whole[-1].lower > 0.05 * scale * (1 - 1e-3)

    prices = np.geomspace(1.0, 1e-4, 20)
    whole, path = sb.path(program, l0s=prices), sb.path(program, l0s=prices, stop=0.05)
    assert 1 < len(path) < 20
    model = path[-1]
    for posed, point in points(program, whole):
        if point.l0 <= model.l0:
            value = posed.objective(model.coef, model.intercept)
            assert value - point.lower <= (0.05 + 1e-3) * max(abs(value), path.null)


def test_time_limit_and_interrupts_keep_the_points_done(monkeypatch: pytest.MonkeyPatch) -> None:
    big = make_correlated(200, 1000, 0.9)
    path = sb.path(big.X, big.y, ks=range(1, 500), ridge=0.01, time_limit=0.3)
    assert 1 <= len(path) < 499
    assert not path.complete
    assert path.message.startswith("The time limit was reached with")
    assert all(verdict.ok for verdict in path.verify(big.X, big.y)[-2:])

    def interrupt(progress: object) -> None:
        if isinstance(progress, PathProgress) and progress.done == 3:
            raise KeyboardInterrupt

    path = sb.path(SAMPLE.X, SAMPLE.y, ks=range(1, 20), ridge=0.1, callback=interrupt)
    assert len(path) == 3
    assert path.message == "Interrupted with 16 points left to do."

    def within(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(walk.Search, "_starts", within)
    path = sb.path(SAMPLE.X, SAMPLE.y, ks=range(1, 20), ridge=0.1)
    assert len(path) == 1
    assert path[0].lower <= path[0].upper


def test_progress() -> None:
    seen: list[Any] = []
    sb.path(SAMPLE.X, SAMPLE.y, ks=[1, 3], ridge=0.1, callback=seen.append)
    done = [one for one in seen if isinstance(one, PathProgress)]
    assert [one.line().split(":")[0] for one in done] == ["k=1, 1 of 2", "k=3, 2 of 2"]
    assert len(seen) > len(done)


# The result.


def test_a_path_is_a_sequence() -> None:
    names = [f"gene {j}" for j in range(25)]
    frame = pd.DataFrame(SAMPLE.X, columns=names)
    path = sb.path(frame, SAMPLE.y, ks=[5, 1, 3, 3], ridge=0.1)
    assert path.ks is not None
    assert path.ks.tolist() == [1, 3, 5]
    assert path.l0s is None
    assert len(path) == 3
    assert path[1] is path.at(3)
    assert path[:2] == path.points[:2]
    assert path.coefs.shape == (3, 25)
    assert path.sizes.tolist() == [1, 3, 5]
    assert np.array_equal(path.rel_gap, [point.rel_gap for point in path])
    assert path[0].gap == path[0].upper - path[0].lower
    with pytest.raises(ValueError, match="no point at k=2; it has 1, 3, 5"):
        path.at(2)
    text = repr(path)
    assert text.splitlines()[0].startswith("Path of 3 points: squared loss on 60 x 25 data with at")
    assert len(text.splitlines()) == 6
    table = path.to_frame()
    assert table["k"].tolist() == [1, 3, 5]
    assert table["upper"].tolist() == path.upper.tolist()
    for name in (names[i] for i in path[-1].support):
        assert np.array_equal(table[f"coef {name}"], path.coefs[:, names.index(name)])
    copy = pickle.loads(pickle.dumps(path))
    assert np.array_equal(copy.coefs, path.coefs)
    assert all(verdict.ok for verdict in copy.verify(frame, SAMPLE.y))


@pytest.mark.parametrize("grid", [{"ks": range(12)}, {"l0s": np.geomspace(1.0, 1e-3, 9)}])
def test_the_picture_shows_the_path(grid: dict[str, Any]) -> None:
    mpl.use("Agg")
    path = sb.path(SAMPLE.X, SAMPLE.y, ridge=0.1, **grid)
    axes = path.plot()
    objective, coefficients, members = axes
    curves = [line.get_ydata() for line in objective.lines]
    assert any(np.array_equal(curve, path.upper) for curve in curves)
    assert any(np.array_equal(curve, path.lower) for curve in curves)
    assert len(coefficients.lines) == 1 + np.count_nonzero(np.any(path.coefs != 0, axis=0))
    assert len(members.collections[0].get_offsets()) == path.sizes.sum()
    inside = sum(len(point.fixed_in) for point in path)
    assert inside == (len(members.collections[1].get_offsets()) if inside else 0)
    assert members.xaxis_inverted() == ("l0s" in grid)
    again = path.plot(axes)
    assert again[0] is objective
    with pytest.raises(ValueError, match="pass three"):
        path.plot(objective)
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Neither ks nor l0s was given"),
        ({"ks": [1], "l0s": [1.0]}, "Both ks and l0s were given"),
        ({"ks": 3}, "ks=3 must be a list of integers, such as range"),
        ({"ks": []}, "ks is empty; pass one number of features or more"),
        ({"ks": [1, -1]}, "ks holds -1, which is negative"),
        ({"ks": np.array(3)}, "must be a list of integers"),
        ({"l0s": np.array(0.1)}, "must be a list of prices"),
        ({"ks": [1], "k": 3}, "path has no argument 'k'. Did you mean 'ks'?"),
        ({"ks": [1], "l0": 3}, "path has no argument 'l0'. Did you mean 'l0s'?"),
        ({"ks": [1], "kk": 3}, "path has no argument 'kk'.$"),
        ({"ks": [1], "timelimit": 3}, "path has no argument 'timelimit'. Did you mean 'time_l"),
        ({"ks": [1.5]}, "ks holds 1.5, which must be an integer"),
        ({"l0s": "0.1"}, "l0s='0.1' must be a list of prices"),
        ({"l0s": []}, "l0s is empty"),
        ({"l0s": [0.1, 0.0]}, "l0s holds 0.0, which must be finite and greater than 0"),
        ({"ks": [1], "stop": 2}, "stop=2 must be a number between 0 and 1"),
        ({"ks": [1], "tol": 0}, "tol=0 must be a number greater than 0"),
        ({"ks": [1], "node_limit": 0}, "node_limit=0 must be a whole number, 1 or more"),
        ({"ks": [1], "time_limit": -1}, "time_limit=-1 must be a number of seconds"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        sb.path(SAMPLE.X, SAMPLE.y, ridge=0.1, **options)
