"""Non-convex losses from end to end: models, boxes, the chain of section 3.3, certificates."""

from __future__ import annotations

import itertools
import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.bounds import objective_up
from sparsebounds.fitting.refit import local_refit
from sparsebounds.losses import NONCONVEX, NonConvexLoss, Truncated, Tukey
from sparsebounds.relaxation import RelaxationWarning

LOSSES = sorted(NONCONVEX)


def response(loss: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A response that a linear predictor z explains, but for a few rows."""
    if NONCONVEX[loss].two_class:
        y = np.where(z + 0.3 * rng.normal(size=len(z)) > 0, 1.0, -1.0)
        y[:2] = (1.0, -1.0)
        return y
    z = z + 0.1 * rng.normal(size=len(z))
    if loss == "quartic":
        return z**2
    if loss == "amplitude":
        return np.abs(z)
    z[:3] += 15.0
    return z


def problem(loss: str, seed: int = 0, n: int = 25, m: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, response(loss, 2.0 * X[:, 0] - 1.5 * X[:, 2], rng)


def optimum(program: sb.Program, k: int) -> float:
    """The best local optimum over all supports of at most k features, from several starts."""
    roomy, rng, best = program.with_budget(k), np.random.default_rng(1), np.inf
    for size in range(min(k, program.m) + 1):
        for chosen in itertools.combinations(range(program.m), size):
            support = np.array(chosen, dtype=np.int64)
            columns = program.matrix.columns(support)
            z = [columns @ rng.normal(size=size) * 2.0 for _ in range(2)]
            best = min(best, local_refit(roomy, support, columns, z).value)
            best = min(best, local_refit(roomy, support, columns).value)
    return best


@pytest.mark.parametrize("loss", LOSSES)
def test_the_chain_of_section_3_3(loss: str) -> None:
    """p(k + r - 1) - rho <= OPT <= p**(k) <= p(k), r the rank; and f - f** at the point."""
    sizes: list[dict[str, float]] = [{"ridge": 0.2}, {"ball": 4.0}]
    shapes = list(enumerate([(3, 4, 1), (2, 4, 2)]))
    place = LOSSES.index(loss)
    for seed, (n, m, k) in shapes if LONG else [shapes[place // 2 % 2]]:
        size = sizes[(seed + place) % 2]
        X, y = problem(loss, seed, n, m)
        program = sb.Program(X, y, k=k, loss=loss, **size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelaxationWarning)
            relaxed = sb.relax(program)
            primal = sb.primalize(program, relaxed)
            bounds = sb.gap_bounds(program, relaxed)
        rank = int(np.linalg.matrix_rank(X))
        at_k, at_more = optimum(program, k), optimum(program, min(k + rank - 1, m))
        slack = 1e-6 * max(1.0, abs(program.null))
        assert at_more - bounds.rho <= primal.value + slack
        assert primal.value <= relaxed.value + slack
        assert relaxed.lower <= at_k
        # The number at the point stands in for rho, which is never smaller.
        assert at_more <= primal.value + primal.lack + slack
        assert primal.lack <= bounds.rho + slack
        assert bounds.lack == pytest.approx(primal.lack, abs=slack)
        roomy = program.with_budget(max(k, primal.n_nonzero))
        assert objective_up(roomy, primal.w, primal.b) <= primal.value + primal.lack + slack
        assert primal.refit_value <= primal.value + primal.lack + slack
        for bound in (bounds.stated, bounds.refined, bounds.exact, bounds.same_k):
            assert bound.cardinality is not None
            assert optimum(program, bound.cardinality) <= bound.value + slack
            assert loss in str(bound)


@pytest.mark.parametrize(("loss", "form"), list(zip(LOSSES, itertools.cycle(range(4)))))
def test_certificates_travel(loss: str, form: int, tmp_path: Path) -> None:
    X, y = problem(loss)
    options: dict[str, Any] = ({"k": 2}, {"l0": 0.02})[form % 2] | (
        {"ridge": 0.1} if form < 2 else {"ball": 8.0}
    )
    weight = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y))
    solution = sb.solve(
        X,
        y,
        loss=loss,
        fit_intercept=NONCONVEX[loss].intercept,
        standardize=form < 2,
        sample_weight=weight,
        **options,
    )
    assert solution.lower <= solution.upper
    assert list(solution.stats.tightening) == sorted(solution.stats.tightening)
    solution.certificate.save(tmp_path / "c.json")
    loaded = sb.Certificate.load(tmp_path / "c.json")
    verdict = loaded.verify(X, y, sample_weight=weight)
    assert verdict.ok, verdict.message
    assert verdict.lower == pytest.approx(solution.lower, rel=1e-9, abs=1e-9)
    assert not loaded.verify(X + 1e-3, y, sample_weight=weight).ok


def test_a_tampered_certificate_is_refused(tmp_path: Path) -> None:
    X, y = problem("sigmoid", n=40)
    solution = sb.solve(X, y, k=2, ridge=0.3, loss="sigmoid")
    certificate = solution.certificate
    assert certificate.rows is None  # or they would be a proof without boxes
    assert certificate.verify(X, y).ok
    assert certificate.boxes
    for forged in (
        replace(certificate, lower=certificate.lower + 0.01),
        replace(certificate, boxes=()),
        replace(certificate, boxes=(3.0 * certificate.boxes[0], *certificate.boxes[1:])),
        # A worse model justifies a larger box only.
        replace(certificate, coef=0.1 * certificate.coef),
        replace(certificate, boxes=(certificate.boxes[0][:-1],)),
    ):
        assert not forged.verify(X, y).ok
    certificate.save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert len(document["boxes"]) == len(certificate.boxes)


def test_certify_takes_models_from_anywhere() -> None:
    X, y = problem("tukey", n=40)
    program = sb.Program(X, y, k=2, ridge=0.3, loss="tukey")
    solution = sb.solve(X, y, k=2, ridge=0.3, loss="tukey")
    good = sb.certify(program, solution.coef)
    poor = sb.certify(program, np.zeros(6))
    assert good.verify(X, y).ok
    assert poor.verify(X, y).ok
    assert max(poor.lower, good.lower) <= solution.upper <= poor.upper
    assert good.lower == pytest.approx(solution.lower, rel=1e-3)


def test_outliers_do_not_move_a_robust_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 30))
    truth = [3, 17, 21]
    y = X[:, truth] @ [2.0, -2.0, 1.5] + 0.2 * rng.normal(size=70)
    bad = rng.choice(70, size=21, replace=False)
    y[bad] = 20.0 * rng.normal(size=21)
    for loss in (Tukey(c=1.0), NONCONVEX["truncated"](c=0.8), NONCONVEX["welsch"](c=0.8)):
        robust = sb.solve(X, y, k=3, ridge=0.01, loss=loss, fit_intercept=True)
        assert robust.support.tolist() == truth
        assert np.allclose(robust.coef[truth], [2.0, -2.0, 1.5], atol=0.25)
    squared = sb.solve(X, y, k=3, ridge=0.01, fit_intercept=True)
    assert squared.support.tolist() != truth


def test_phases_are_retrieved() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 20))
    truth = np.zeros(20)
    truth[[2, 9, 13]] = [1.5, -1.0, 2.0]
    for loss, y in (("amplitude", np.abs(X @ truth)), ("quartic", (X @ truth) ** 2)):
        found = sb.solve(X, y, k=3, ridge=1e-4, loss=loss)
        sign = np.sign(found.coef[2])
        assert np.allclose(sign * found.coef, truth, atol=0.02)


def test_a_weight_of_two_is_a_row_written_twice() -> None:
    X, y = problem("welsch", n=12)
    twice = sb.solve(np.vstack([X, X[:4]]), np.append(y, y[:4]), k=2, ridge=0.2, loss="welsch")
    weight = np.where(np.arange(12) < 4, 2.0, 1.0)
    once = sb.solve(X, y, k=2, ridge=0.2, loss="welsch", sample_weight=weight)
    assert once.upper == pytest.approx(twice.upper, rel=1e-6)
    assert once.lower == pytest.approx(twice.lower, rel=1e-4)


def test_what_needs_a_convex_loss_says_so() -> None:
    X, y = problem("tukey")
    program = sb.Program(X, y, k=2, ridge=0.1, loss="tukey")
    with pytest.raises(InputError, match="exact=True needs a convex loss, and the tukey loss"):
        sb.solve(X, y, k=2, ridge=0.1, loss="tukey", exact=True)
    with pytest.raises(InputError, match="near_optimal needs a convex loss"):
        sb.near_optimal(program, 0.1)
    with pytest.raises(InputError, match="rank_bounds needs a convex loss"):
        sb.rank_bounds(program, [1])
    with pytest.raises(InputError, match="pass fit_intercept=False"):
        sb.Program(X, np.abs(y), k=2, ridge=0.1, loss="amplitude", fit_intercept=True)
    with pytest.raises(InputError, match="y holds a negative amplitude"):
        sb.Program(X, y - 100.0, k=2, ridge=0.1, loss="amplitude")
    with pytest.raises(InputError, match="relaxed has no box for the tukey loss"):
        sb.primalize(program, sb.relax(sb.Program(X, y, k=2, ridge=0.1)))


@dataclass(frozen=True)
class LogCosine(NonConvexLoss):
    """A user's own: value, derivative, and a bound of the second derivative."""

    name: ClassVar[str] = "ripple"
    smoothness: ClassVar[float] = 1.5

    def value(self, y, z):  # type: ignore[no-untyped-def]
        r = z - y
        return r * r / (2.0 + r * r) + 0.1 * np.sin(r) ** 2

    def gradient(self, y, z):  # type: ignore[no-untyped-def]
        r = z - y
        return 4.0 * r / (2.0 + r * r) ** 2 + 0.1 * np.sin(2.0 * r)


def test_a_loss_of_ones_own() -> None:
    X, y = problem("tukey", n=20)
    program = sb.Program(X, y, k=1, ridge=0.2, loss=LogCosine())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelaxationWarning)
        relaxed = sb.relax(program)
    best = optimum(program, 1)
    assert 0.0 < relaxed.lower <= best
    # The spline lies below the envelope by what the grid does not see.
    assert relaxed.value - relaxed.lower <= 1e-3
    solution = sb.solve(X, y, k=1, ridge=0.2, loss=LogCosine())
    assert solution.lower <= best <= solution.upper * (1 + 1e-6)
    assert solution.certificate.verify(X, y, loss=LogCosine()).ok
    assert not solution.certificate.verify(X, y).ok  # not in the registry


def test_estimators_take_them() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 8))
    y = 2.0 * X[:, 1] - X[:, 4] + 0.1 * rng.normal(size=60)
    y[:12] = 30.0
    robust = sb.SparseRegressor(k=2, loss=Tukey(c=1.0)).fit(X, y)
    assert np.flatnonzero(robust.coef_).tolist() == [1, 4]
    assert robust.certificate_.verify(X, y).ok
    labels = np.where(X[:, 1] - X[:, 4] > 0, "up", "down")
    for loss in ("ramp", "sigmoid"):
        model = sb.SparseClassifier(k=2, loss=loss).fit(X[:30], labels[:30])
        assert model.score(X, labels) > 0.85
        assert model.certificate_.verify(X[:30], labels[:30]).ok


def test_a_time_limit_leaves_valid_bounds() -> None:
    X, y = problem("tukey", n=60, m=40)
    hurried = sb.solve(X, y, k=3, ridge=0.05, loss="tukey", time_limit=1e-3)
    patient = sb.solve(X, y, k=3, ridge=0.05, loss="tukey")
    assert hurried.lower <= patient.upper <= hurried.upper
    assert hurried.certificate.verify(X, y).ok


def test_a_large_c_is_least_squares() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = 3.0 * X[:, 0] + rng.normal(size=60)
    plain = sb.solve(X, y, k=2, ridge=1.0)
    for c in (1e9, 1e100):
        robust = sb.solve(X, y, k=2, ridge=1.0, loss=Tukey(c))
        assert robust.lower <= plain.upper * (1.0 + 1e-9)
        # Nothing of the box lies where the loss is not convex: only its width is lost, and the
        # curvature that the squared loss can move into the ridge.
        assert robust.lower == pytest.approx(plain.relaxation.lower, rel=1e-3)


def test_no_bound_below_the_least_loss() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    solution = sb.solve(X, y, k=2, ridge=1e-300, loss="tukey")
    assert solution.lower == pytest.approx(0.0, abs=1e-9) or solution.lower > 0.0
    assert solution.certificate.verify(X, y).ok


def test_a_verdict_names_its_problem() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    said = set()
    for options in ({"loss": "tukey"}, {"loss": Tukey(50.0)}, {"loss": "tukey", "never": [1]}):
        said.add(sb.Program(X, y, k=1, ridge=0.1, **options).describe())
    assert len(said) == 3


def test_an_exact_search_that_leaves_a_gap_says_why() -> None:
    rng = np.random.default_rng(10)
    X, y = rng.standard_normal((6, 1)), 3.0 * rng.standard_normal(6)
    how = {"loss": Truncated(1.0), "fit_intercept": True, "exact": True}
    for k, reason in ((0, "was not begun"), (1, "is done, but its bounds come no closer")):
        solution = sb.solve(X, y, k=k, ball=0.2, **how)
        assert solution.status == "bounded"
        assert f"The search over rows {reason}" in solution.message
