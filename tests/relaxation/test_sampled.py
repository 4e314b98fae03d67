"""Samples of rows: starts for work on all rows, whose answers are those without a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparsebounds import Program, solve
from sparsebounds.matrices import dense
from sparsebounds.models.search import Search
from sparsebounds.program import Program as Posed
from sparsebounds.relaxation import relaxation_of, sample, sampled, working_set
from sparsebounds.relaxation.sample import FEW


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are tall, and one row in sixteen is enough."""
    monkeypatch.setattr(dense, "MANY", 1000)
    monkeypatch.setattr(sample, "LEAST", 100)
    monkeypatch.setattr(sample, "PER_COLUMN", 5)


def posed(n: int = 3000, m: int = 12, seed: int = 0, **changes: Any) -> Posed:
    """Correlated columns far from 0, two classes, weights and an offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) + rng.normal(size=(n, 1)) + rng.normal(size=m)
    z = (X - X.mean(axis=0)) @ np.where(np.arange(m) % 3 == 0, 0.5, 0.0)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
    problem: dict[str, Any] = {
        "k": 3,
        "ridge": 1e-2,
        "loss": "logistic",
        "standardize": True,
        "fit_intercept": True,
        "sample_weight": rng.integers(1, 4, size=n),
        "offset": 0.1 * rng.normal(size=n),
    }
    return Program(X, y, **(problem | changes))


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "FEW", 10**9)


def test_a_sample_is_some_of_the_rows_as_they_are() -> None:
    program = posed()
    few = sampled(program)
    assert few is not None
    assert few.n == program.n // sample.SHARE
    every = np.arange(program.m)
    rows, whole = few.matrix.columns(every), program.matrix.columns(every)
    places = [int(np.flatnonzero((whole == row).all(axis=1))[0]) for row in rows]
    assert places == sorted(set(places))
    # One in each stretch.
    ends = np.linspace(0, program.n, few.n + 1).astype(np.int64)
    assert np.all((ends[:-1] <= places) & (places < ends[1:]))
    for name in ("y", "weights", "offset"):
        np.testing.assert_array_equal(getattr(few, name), getattr(program, name)[places])
    again = sampled(program.with_budget(5))
    assert again is not None
    assert again.data is few.data


@pytest.mark.parametrize(
    "changes", [{"n": 100 * FEW - 1, "m": 2}, {"loss": "squared"}, {"loss": "tukey"}]
)
def test_there_is_none(changes: dict[str, Any]) -> None:
    program = posed(**changes)
    assert program.matrix.tall
    assert sampled(program) is None


def test_there_is_none_of_one_class() -> None:
    program = posed()
    few = sampled(program)
    assert few is not None
    y = np.ones(program.n)
    # One row of the other class, which is not in the sample.
    every = np.arange(program.m)
    rows, whole = few.matrix.columns(every), program.matrix.columns(every)
    y[0 if np.any(whole[0] != rows[0]) else 1] = -1.0
    other = Program(program.data.matrix, y, k=3, ridge=1e-2, loss="logistic")
    assert other.matrix.tall
    assert sampled(other) is None


@pytest.mark.parametrize("size", [{"ridge": 1e-2}, {"ridge": None, "ball": 0.3}])
@pytest.mark.parametrize("count", [{"k": 3}, {"k": None, "l0": 3e-3}])
def test_relaxations_are_those_without_a_sample(
    size: dict[str, Any], count: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = posed(seed=1, **size, **count)
    started = relaxation_of(program, 1e-8)
    without(monkeypatch)
    plain = relaxation_of(posed(seed=1, **size, **count), 1e-8)
    assert started.status == plain.status == "optimal"
    assert started.value == pytest.approx(plain.value, rel=2e-8)
    assert max(started.dual_value, plain.dual_value) <= min(started.value, plain.value)
    assert started.stats.newton_steps < plain.stats.newton_steps


@pytest.mark.parametrize("seed", range(4))
def test_models_are_those_of_all_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = {"positive": np.arange(12) < 3, "always": [5]} if seed % 2 else {}
    program = posed(seed=seed, **kind)
    relaxed = relaxation_of(program, 1e-6)
    for way in (Search.run, Search.quick):
        model = way(Search(program, relaxed))
        coef, intercept = program.to_user(model.w, model.b)
        assert program.objective(coef, intercept) == pytest.approx(model.value, rel=1e-12)
        with monkeypatch.context() as patch:
            without(patch)
            other = way(Search(posed(seed=seed, **kind), relaxed))
        assert model.value <= other.value * (1.0 + 1e-12)


def test_interrupting_the_sample_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    program = posed()

    def loop(self: working_set.WorkingSet) -> str:
        assert self.program.n < program.n, "the work goes on"
        raise KeyboardInterrupt

    monkeypatch.setattr(working_set.WorkingSet, "loop", loop)
    found = relaxation_of(program)
    assert found.interrupted
    assert found.lower <= program.null


def test_interrupting_a_search_on_the_sample_returns_its_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = posed()
    relaxed = relaxation_of(program, 1e-6)

    def stop(self: Search, *rest: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_grown", stop)
    search = Search(program, relaxed)
    model = search.run()
    assert search.interrupted
    assert model.value < program.null


def test_certificates_of_what_a_sample_started() -> None:
    program = posed()
    solution = solve(program, exact=True, node_limit=4)
    assert solution.certificate.verify(
        program.data.matrix, program.y, sample_weight=program.weights, offset=program.offset
    )
