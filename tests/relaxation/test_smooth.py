"""The smooth part in its two implementations: against each other, and against differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sparsebounds import Program
from sparsebounds._support.array import HOST
from sparsebounds.losses import REGISTRY
from sparsebounds.relaxation.general_part import GeneralPart
from sparsebounds.relaxation.gram_part import GramPart
from sparsebounds.relaxation.smooth import Smooth
from sparsebounds.relaxation.sparse_part import smooth_part

N, M = 12, 5
LOSSES = sorted(REGISTRY)
Pose = Callable[[str, bool, int], Program]


@pytest.fixture
def program(response: Callable[..., np.ndarray]) -> Pose:
    """(loss, intercept, seed) -> weights and an offset, columns away from the origin."""

    def pose(loss: str, intercept: bool, seed: int) -> Program:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, M)) + rng.normal(size=M)
        return Program(
            X,
            response(rng, X, loss),
            loss=loss,
            k=2,
            ridge=0.1,
            fit_intercept=intercept,
            sample_weight=rng.uniform(0.5, 2.0, N) if seed % 2 else None,
            offset=0.3 * rng.normal(size=N) if seed % 3 else None,
        )

    return pose


def filled(part: Smooth) -> Smooth:
    """All columns, in two batches: the store grows in between."""
    columns = part.program.matrix.columns(np.arange(M))
    part.add(columns[:, :2])
    part.add(columns[:, 2:])
    return part


def both(posed: Program) -> tuple[GramPart, GeneralPart]:
    gram, general = GramPart(posed, HOST), GeneralPart(posed, HOST)
    filled(gram)
    filled(general)
    return gram, general


@pytest.mark.parametrize("intercept", [False, True])
def test_gram_and_general_are_one_function(program: Pose, intercept: bool) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        gram, general = both(program("squared", intercept, seed))
        w, other = rng.normal(size=M), np.where(rng.random(M) < 0.8, 0.0, 1.0)
        for x in (w, other):  # many nonzeros, and few
            one = gram.at(x, 0.0)
            two = general.at(x, one.b)
            assert one.value == pytest.approx(two.value, rel=1e-12)
            assert one.gradient == pytest.approx(two.gradient, abs=1e-12)
            assert two.slope == pytest.approx(0.0, abs=1e-12)  # the best intercept
            assert one.dual == pytest.approx(two.dual, rel=1e-11)
            assert gram.predictions(x, one.b) == pytest.approx(general.predictions(x, one.b))
        start, end = gram.at(w, 0.0), gram.at(other, 0.0)
        far = general.along(general.at(w, start.b), general.at(other, end.b))
        near = gram.along(start, end)
        assert [near(t) for t in (0.0, 0.3, 1.0)] == pytest.approx(
            [far(t) for t in (0.0, 0.3, 1.0)]
        )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_and_dual_value(program: Pose, loss: str, intercept: bool) -> None:
    step = 1e-6
    for seed in range(3):
        posed, rng = program(loss, intercept, seed), np.random.default_rng(seed)
        part = filled(smooth_part(posed))
        assert isinstance(part, GramPart) == (loss == "squared")
        w = 0.5 * rng.normal(size=M)
        b = float(part.at_many(w[None], np.zeros(1)).b[0])  # the best intercept, or 0
        point = part.at(w, b)
        F, z = posed.F, part.predictions(w, b)
        assert point.value == pytest.approx(F.value(z), rel=1e-12)
        assert point.dual == pytest.approx(-F.conjugate(F.gradient(z)), rel=1e-7, abs=1e-9)
        difference = np.array(
            [
                (part.at(w + step * e, b).value - part.at(w - step * e, b).value) / (2.0 * step)
                for e in np.eye(M)
            ]
        )
        assert point.gradient == pytest.approx(difference, abs=1e-7)
        if part.has_intercept:
            slope = (part.at(w, b + step).value - part.at(w, b - step).value) / (2.0 * step)
            assert point.slope == pytest.approx(slope, abs=1e-7)
            assert abs(point.slope) < 1e-9
        move, lift = rng.normal(size=M), 0.2 if part.has_intercept else 0.0
        along = part.along(point, part.at(w + move, b + lift))
        for t in (0.0, 0.4, 1.0):
            ends = [part.at(w + r * move, b + r * lift).value for r in (t - step, t + step)]
            assert along(t) == pytest.approx((ends[1] - ends[0]) / (2.0 * step), abs=1e-6)


def slopes(part: Smooth, active: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    """The derivatives in the active features, and in b where it is a coordinate."""
    at = part.at(w, b)
    return np.append(at.gradient[active], [at.slope] * part.has_intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_the_system_is_the_second_order_model(program: Pose, loss: str, intercept: bool) -> None:
    """Its matrix is f'' (differences of the gradient), its right side f'' (w, b) - f'."""
    step = 1e-5
    for seed in range(3):
        posed, rng = program(loss, intercept, seed), np.random.default_rng(seed)
        part = filled(smooth_part(posed))
        w, active = 0.5 * rng.normal(size=M), np.array([0, 2, 3])
        w[[1, 4]] = 0.0
        point = part.at(w, 0.2 if intercept else 0.0)
        matrix, right = part.system(point, active)
        moves = [(e, 0.0) for e in np.eye(M)[active]]
        moves += [(np.zeros(M), 1.0)] * part.has_intercept
        hessian = np.stack(
            [
                slopes(part, active, w + step * e, point.b + step * c)
                - slopes(part, active, w - step * e, point.b - step * c)
                for e, c in moves
            ]
        ) / (2.0 * step)
        assert matrix == pytest.approx(hessian, abs=1e-7)
        x = np.append(w[active], [point.b] * part.has_intercept)
        assert right == pytest.approx(hessian @ x - slopes(part, active, w, point.b), abs=1e-6)
        # The metric: the diagonal, with the mean curvature in place of each row's own.
        metric = part.metric(point)
        if loss == "squared":
            assert metric[active] == pytest.approx(np.diagonal(matrix)[: len(active)])
        else:
            columns, F = posed.matrix.columns(np.arange(M)), posed.F
            bend = float(np.sum(F.curvature(part.predictions(w, point.b))))
            assert metric == pytest.approx((F.p @ columns**2) * bend)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_many_points_are_single_points(program: Pose, loss: str, intercept: bool) -> None:
    posed, rng = program(loss, intercept, 1), np.random.default_rng(1)
    part = filled(smooth_part(posed))
    w = 0.5 * rng.normal(size=(4, M)) * (rng.random((4, M)) < 0.7)
    many = part.at_many(w, np.zeros(4))
    metrics = np.broadcast_to(part.metrics(many), w.shape)
    for i in range(4):
        one, row = part.at(w[i], float(many.b[i])), many.row(i)
        for found in (row, many.take(np.array([i])).row(0)):
            assert found.value == pytest.approx(one.value, rel=1e-12)
            assert found.gradient == pytest.approx(one.gradient, abs=1e-12)
            assert found.slope == pytest.approx(one.slope, abs=1e-12)
            assert found.dual == pytest.approx(float(many.dual[i]), rel=1e-12)
        assert metrics[i] == pytest.approx(part.metric(one))
        if intercept and part.has_intercept:
            assert abs(one.slope) < 1e-9


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_parts_are_the_same_function_of_fewer_features(program: Pose, loss: str) -> None:
    posed, rng = program(loss, True, 1), np.random.default_rng(2)
    part, index = filled(smooth_part(posed)), np.array([3, 1])
    x = rng.normal(size=2)
    w = np.zeros(M)
    w[index] = x
    one, two = part.part(index).at(x, 0.1), part.at(w, 0.1)
    assert one.value == pytest.approx(two.value, rel=1e-13)
    assert one.gradient == pytest.approx(two.gradient[index], abs=1e-13)


def test_a_curbed_part_has_less_curvature(program: Pose) -> None:
    gram, _ = both(program("squared", True, 1))
    index, diagonal, x = (
        np.array([0, 2, 4]),
        np.array([0.1, -0.2, 0.05]),
        np.array([1.0, -2.0, 0.5]),
    )
    whole, curbed = gram.part(index).at(x, 0.0), gram.curbed(index, diagonal).at(x, 0.0)
    assert curbed.value == pytest.approx(whole.value - 0.5 * float(diagonal @ x**2), rel=1e-13)
    assert curbed.gradient == pytest.approx(whole.gradient - diagonal * x, abs=1e-13)
    assert gram.part(index).at(x, 0.0).value == whole.value  # the parent is left as it was
