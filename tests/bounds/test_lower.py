"""Lower bounds never exceed the referee's optimum: no tolerance, every form and loss."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import seeds

from sparsebounds.bounds import (
    ROOT,
    Node,
    best_cover,
    bound_at,
    cardinality_curve,
    dual_point,
    dual_point_at,
    floor,
    lower_bound,
    objective_up,
)
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import KRidge, L0Ridge
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, conic_relaxation, random_program

FORMS = get_args(Form)
SEEDS = st.integers(0, 2**32 - 1)
EVERY = [
    pytest.param(loss, form, intercept, id=f"{loss}-{form}-{'b' if intercept else '0'}")
    for loss, form, intercept in itertools.product(sorted(REGISTRY), FORMS, (False, True))
]


def predictions(program: Program, w: np.ndarray, b: float) -> np.ndarray:
    return program.matrix.columns(np.arange(program.m)) @ w + b


def dual_vectors(program: Program, w: np.ndarray, b: float, seed: int) -> list[np.ndarray]:
    """At the optimum, near it, at random predictions, and nowhere in particular."""
    rng = np.random.default_rng(seed)
    z = predictions(program, w, b)
    best = program.F.gradient(z)
    return [
        best,
        best * (1 + 1e-3 * rng.normal(size=program.n)),
        best + 0.1 * rng.normal(size=program.n) / program.n,
        program.F.gradient(z + rng.normal(size=program.n)),
        program.F.gradient(np.full(program.n, program.null_intercept)),
        rng.normal(size=program.n),
        1e6 * rng.normal(size=program.n),
        np.zeros(program.n),
    ]


@pytest.mark.parametrize(("loss", "form", "intercept"), EVERY)
def test_never_above_the_optimum(loss: str, form: Form, intercept: bool) -> None:
    for seed in seeds(4, loss, form, intercept):
        program = random_program(seed, loss=loss, form=form, fit_intercept=intercept)
        optimum = brute_force(program)
        points = [dual_point(program, a) for a in dual_vectors(program, optimum.w, optimum.b, seed)]
        bounds = [bound_at(program, point) for point in points]
        cover = best_cover(program, points)
        assert max(bounds) <= optimum.value
        assert cover.lower <= optimum.value
        # Several vectors together prove at least as much as each of them.
        assert cover.lower >= max(bounds) - 1e-12 * max(1.0, abs(max(bounds)))


def node_optimum(program: Program, node: Node) -> float:
    """min over the supports A of a node: the best model on A plus the price of all of A."""
    options = {
        "loss": program.loss,
        "fit_intercept": program.fit_intercept,
        "sample_weight": program.weights,
        "offset": program.offset,
        "positive": program.positive,
        "always": np.flatnonzero(program.always),
        "ridge": program.ridge,
        "ball": program.ball,
        "k": program.m,
    }
    X = program.matrix.columns(np.arange(program.m))
    open_features = np.flatnonzero(node.masks(program)[1])
    low, high = node.counts(program, len(open_features))
    best = np.inf
    for size in range(low, high + 1):
        for chosen in itertools.combinations(open_features.tolist(), size):
            support = sorted([*node.inside.tolist(), *chosen])
            never = [i for i in np.flatnonzero(program.free) if i not in support]
            never += np.flatnonzero(program.never).tolist()
            restricted = Program(X, program.y, never=never, **options)
            value = brute_force(restricted).value
            best = min(best, np.nextafter(value + program.prices[support].sum() * (1 + 1e-15), 9e9))
    return best


def random_node(program: Program, rng: np.random.Generator) -> Node:
    kind = np.where(program.free, rng.integers(0, 3, size=program.m), 0)
    low = int(rng.integers(0, 3))
    high = None if rng.random() < 0.5 else low + int(rng.integers(0, 3))
    return Node(np.flatnonzero(kind == 1), np.flatnonzero(kind == 2), low, high)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@given(seed=SEEDS)
def test_node_bounds(loss: str, form: Form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = random_program(
        seed, loss=loss, form=form, fit_intercept=bool(seed % 2), most_columns=4
    )
    optimum = brute_force(program)
    node = random_node(program, rng)
    truth = node_optimum(program, node)
    for a in dual_vectors(program, optimum.w, optimum.b, seed)[:4]:
        point = dual_point(program, a)
        bound = bound_at(program, point, node)
        # With an intercept a bound speaks of models no worse than the null model.
        assert bound <= truth
        if np.isinf(truth):
            assert bound in (np.inf, point.ceiling)
            continue
        # Children cover their parent, and know more.
        opens = np.flatnonzero(node.masks(program)[1])
        if len(opens):
            children = (
                Node(np.append(node.inside, opens[0]), node.outside, node.low, node.high),
                Node(node.inside, np.append(node.outside, opens[0]), node.low, node.high),
            )
            together = min(bound_at(program, point, child) for child in children)
            assert together >= bound - 1e-12 * (1 + abs(bound))


def test_empty_nodes_bound_infinity() -> None:
    program = random_program(3, most_columns=5)
    point = dual_point(program, np.zeros(program.n))
    assert bound_at(program, point, Node(low=program.m + 1)) == np.inf
    full = Node(inside=np.flatnonzero(program.free), high=0)
    assert len(full.inside)
    assert bound_at(program, point, full) == np.inf


@pytest.mark.parametrize("form", ["l0+ridge", "l0+ball"])
@given(seed=SEEDS)
def test_cardinality_curve_bounds_each_cardinality(form: Form, seed: int) -> None:
    program = random_program(seed, form=form, fit_intercept=bool(seed % 2), most_columns=4)
    if np.ndim(program.l0) > 0:
        return
    optimum = brute_force(program)
    points = [dual_point(program, a) for a in dual_vectors(program, optimum.w, optimum.b, seed)]
    truth = [node_optimum(program, Node(low=j, high=j)) for j in range(int(program.free.sum()) + 1)]
    for point in points[:3]:
        for j, value in enumerate(cardinality_curve(program, point)):
            assert value <= max(truth[j], point.ceiling if program.fit_intercept else -np.inf)
    cover = best_cover(program, points)
    lows = [(node.low, node.high) for node in cover.nodes]
    assert lows[0][0] == 0
    assert lows[-1][1] in (None, int(program.free.sum()))
    assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(lows))


def test_integer_cardinality_beats_every_single_vector() -> None:
    """Two vectors, each best for one cardinality, prove more than any one: p** is exceeded."""
    gained = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(8, 5)), rng.normal(size=8)
        program = Program(X, y, l0=0.05, ridge=0.2)
        relaxed = conic_relaxation(program)
        vectors = [relaxed.a]
        for j in (int(np.floor(relaxed.u.sum())), int(np.ceil(relaxed.u.sum()))):
            vectors.append(conic_relaxation(Program(X, y, k=j, ridge=0.2)).a)
        lower, optimum = lower_bound(program, np.stack(vectors)), brute_force(program).value
        assert lower <= optimum
        assert lower >= relaxed.value - 1e-8
        gained += lower > relaxed.value + 1e-6
    assert gained >= 20


@pytest.mark.parametrize(("loss", "form", "intercept"), EVERY)
def test_tight_at_the_optimal_dual_vector(loss: str, form: Form, intercept: bool) -> None:
    """At the conic solver's dual vector the bound is p**, which is below the optimum."""
    for seed in seeds(1, loss, form, intercept):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 5))
        two = REGISTRY[loss].two_class
        y = np.where(rng.normal(size=8) > 0, 1.0, -1.0) if two else rng.poisson(2.0, 8) + 0.0
        y[:2] = (-1.0, 1.0) if two else (0.0, 3.0)
        sparsity = {"k": 2} if form.startswith("k") else {"l0": 0.05 * np.arange(1, 6)}
        size = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 2.0}
        program = Program(X, y, loss=loss, fit_intercept=intercept, **sparsity, **size)
        relaxed = conic_relaxation(program)
        lower = lower_bound(program, relaxed.a)
        assert lower == pytest.approx(relaxed.value, rel=1e-6, abs=1e-7)
        assert relaxed.value <= brute_force(program).value + 1e-8


@pytest.mark.parametrize("sparsity", ["k", "l0"])
def test_ridge_bounds_are_conjugates_of_the_penalties(sparsity: str) -> None:
    """-F*(a) - h*(-X^T a) with the penalty layer's h*: the same number by another road."""
    for seed in range(40):
        form: Form = "k+ridge" if sparsity == "k" else "l0+ridge"
        program = random_program(seed, form=form)
        a = program.F.gradient(np.random.default_rng(seed).normal(size=program.n))
        options = {
            "ridge": program.ridges,
            "outside": program.never,
            "positive": program.positive,
        }
        if sparsity == "k":
            penalty = KRidge(k=program.k, inside=program.always, **options)
        else:
            penalty = L0Ridge(l0=program.prices, inside=program.always, **options)
        plain = -program.F.conjugate(a) - penalty.conjugate(-program.matrix.scores(a))
        found = bound_at(program, dual_point(program, a), lagrangian=True)
        assert found == pytest.approx(plain, rel=1e-10, abs=1e-12)
        assert lower_bound(program, a) == max(found, floor(program))


def test_clipping_after_balancing_would_be_wrong() -> None:
    """Subtract-then-clip leaves sum(a) != 0 and gives false bounds; our repair does not."""
    false_bounds = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 3))
        y = np.where(rng.normal(size=8) > 1.2, 1.0, -1.0)
        y[:2] = (-1.0, 1.0)
        program = Program(X, y, k=1, ridge=0.1, loss="logistic", fit_intercept=True)
        optimum = brute_force(program)
        at_best = program.F.gradient(predictions(program, optimum.w, optimum.b))
        a = at_best + 3.0 * rng.normal(size=8) / 8
        inside = program.F.clip(a)
        penalty = KRidge(k=1, ridge=0.1)
        for vector in (program.F.clip(a - a.mean()), program.F.clip(inside - inside.mean())):
            plain = -program.F.conjugate(vector) - penalty.conjugate(X.T @ vector)
            false_bounds += plain > optimum.value
            assert lower_bound(program, vector) <= optimum.value
        assert lower_bound(program, a) <= optimum.value
    assert false_bounds > 0


@pytest.mark.parametrize("form", FORMS)
def test_vectors_off_balance_pay_for_every_intercept(form: Form) -> None:
    """A dual vector from a file need not be balanced: what an intercept could gain is charged."""
    for seed in range(10):
        program = random_program(seed, loss="huber", form=form, fit_intercept=True)
        best = brute_force(program)
        t = program.loss.gradient(program.y, predictions(program, best.w, best.b))
        for off in (1e-12, 1e-3, 0.5):
            moved = program.loss.clip(program.y, t + off)
            assert bound_at(program, dual_point_at(program, moved)) <= best.value
    # Far from the origin the charge is all: F(0) is no bound where b explains the response.
    far = Program(np.eye(4), 1e4 + np.arange(4.0), k=1, ridge=1.0, fit_intercept=True)
    assert bound_at(far, dual_point_at(far, -far.y)) <= brute_force(far).value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [False, True])
def test_squared_bounds_scale(form: Form, intercept: bool) -> None:
    """(X, y, ridge, ball, l0) -> (cX, dy, c^2 ridge, (d/c)^2 ball, d^2 l0) scales by d^2."""
    rng = np.random.default_rng(5)
    X, y, a = rng.normal(size=(12, 6)), rng.normal(size=12), rng.normal(size=12) / 12
    for c, d in itertools.product((1e-6, 3e-3, 1.0, 7e2, 1e6), repeat=2):

        def program(c: float, d: float) -> Program:
            sparsity = {"k": 3} if form.startswith("k") else {"l0": 0.02 * d**2}
            size = {"ridge": 0.3 * c**2} if form.endswith("ridge") else {"ball": 1.5 * (d / c) ** 2}
            return Program(c * X, d * y, fit_intercept=intercept, **sparsity, **size)

        expected = lower_bound(program(1.0, 1.0), a) * d**2
        assert lower_bound(program(c, d), d * a) == pytest.approx(expected, rel=1e-9)
        w = np.array([0.3, 0, 0, -0.5, 0, 0])
        assert objective_up(program(c, d), w * d / c, 0.2 * d * intercept) == pytest.approx(
            objective_up(program(1.0, 1.0), w, 0.2 * intercept) * d**2, rel=1e-9
        )


def test_root_is_every_support() -> None:
    program = random_program(11, form="l0+ridge")
    mandatory, chosen = ROOT.masks(program)
    assert np.array_equal(mandatory, program.always)
    assert np.array_equal(chosen, program.free)
