"""Supports nearly as good as the best for the truncated loss: against all supports and outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.cases import seeds
from tests.truncated import Candidates, candidates

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.exact import row_enumeration
from sparsebounds.losses import Truncated, Tukey

LOSS = Truncated(c=1.0)
PROBLEMS: dict[str, dict[str, Any]] = {
    "budget": {"k": 2, "ridge": 0.1},
    "price": {"l0": 0.03, "ridge": 0.05},
    "intercept": {"k": 1, "ridge": 0.1, "fit_intercept": True},
    "signs": {"l0": 0.02, "ridge": 0.1, "positive": True},
    "always and never": {"k": 1, "ridge": 0.1, "always": [1], "never": [0]},
}


def spoiled(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 4))
    y = X[:, 0] - X[:, 3] + 0.4 * rng.normal(size=7)
    y[:2] += rng.choice([-1.0, 1.0], size=2) * rng.uniform(1.5, 6.0, size=2)
    return X, y


def values(found: Candidates) -> dict[tuple[int, ...], float]:
    """The best value of each support whose best model is nonzero on all of it."""
    free, best = found.program.free, {}
    for i in np.argsort(found.values, kind="stable"):
        best.setdefault(tuple(np.flatnonzero((found.w[i] != 0.0) & free)), found.values[i])
    return best


@pytest.mark.parametrize("name", PROBLEMS)
def test_against_every_support_and_set_of_outliers(name: str) -> None:
    for seed in seeds(1, f"near rows {name}"):
        X, y = spoiled(seed)
        program = sb.Program(X, y, loss=LOSS, **PROBLEMS[name])
        known = values(candidates(program))
        optimum = min(known.values())
        for eps in (0.0, 0.15):
            near = sb.near_optimal(program, eps)
            assert near.complete, near.message
            assert near.lower <= optimum <= near.upper * (1.0 + 1e-12)
            scale = max(optimum, program.null)
            always = set(np.flatnonzero(program.always).tolist())
            listed = {
                tuple(j for j in support if j not in always): value
                for support, value in zip(near.supports, near.values, strict=True)
            }
            # A support whose best model is that of a smaller one is none of its own.
            for support, value in known.items():
                subsets = [v for s, v in known.items() if set(s) < set(support)]
                if value <= optimum + eps * scale and value < min(subsets, default=np.inf):
                    assert support in listed
            for support, value in listed.items():
                assert value == pytest.approx(known[support], rel=3e-6)
                assert value <= optimum + (eps + 1e-5) * scale


def test_limits_say_what_is_proved() -> None:
    X, y = spoiled(5)
    program = sb.Program(X, y, l0=0.01, ridge=0.1, loss=LOSS)
    optimum = candidates(program).best()
    whole = sb.near_optimal(program, 0.1)
    for limit in ({"node_limit": 5}, {"time_limit": 1e-9}, {"max_supports": 1}):
        cut = sb.near_optimal(program, 0.1, **limit)
        assert cut.lower <= optimum <= cut.upper * (1.0 + 1e-12)
        assert not cut.complete or set(cut.supports) == set(whole.supports)
        if not np.isnan(cut.complete_to):
            inside = whole.upper + cut.complete_to * max(whole.upper, program.null)
            for support, value in zip(whole.supports, whole.values, strict=True):
                assert value > inside - 1e-5 or support in cut.supports


def test_control_c_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = spoiled(6)
    program = sb.Program(X, y, l0=0.01, ridge=0.02, loss=LOSS)

    def struck(*given: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(row_enumeration.RowSearch, "_step", struck)
    assert "Ctrl-C" in sb.near_optimal(program, 0.3).message


def test_other_losses_are_refused() -> None:
    X, y = spoiled(0)
    with pytest.raises(InputError, match="near_optimal needs a convex loss, and the tukey loss"):
        sb.near_optimal(sb.Program(X, y, k=1, ridge=0.1, loss=Tukey(c=1.0)), 0.1)
