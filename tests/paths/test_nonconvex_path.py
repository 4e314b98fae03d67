"""Paths of non-convex losses: against every support with every set of outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.cases import seeds
from tests.presses import Presser
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.losses import Truncated, Tukey
from sparsebounds.paths import nonconvex

LOSS = Truncated(c=1.0)
GRIDS: dict[str, Any] = {"ks": [0, 1, 2, 3], "l0s": [0.3, 0.05, 0.01]}


def spoiled(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    y = X[:, 0] - X[:, 2] + 0.4 * rng.normal(size=8)
    y[:2] += rng.choice([-1.0, 1.0], size=2) * rng.uniform(1.5, 6.0, size=2)
    return X, y


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("grid", GRIDS)
def test_against_every_set_of_outliers(grid: str, exact: bool) -> None:
    for seed in seeds(1, f"robust path {grid} {exact}"):
        X, y = spoiled(seed)
        # Either grid and either kind of bound with an intercept once, and once without.
        own = (seed + (grid == "ks") + exact) % 2 == 1
        how = {"ridge": 0.1, "loss": LOSS, "fit_intercept": own}
        path = sb.path(X, y, **{grid: GRIDS[grid]}, exact=exact, **how)
        assert path.complete
        for point in path:
            size = {"k": point.k} if grid == "ks" else {"l0": point.l0}
            best = candidates(sb.Program(X, y, **size, **how)).best()
            assert point.lower <= best <= point.upper * (1.0 + 1e-12)
            assert point.certificate.verify(X, y).ok
            assert point.status == "optimal" or not exact
        for sides in ([one.lower for one in path], [one.upper for one in path]):
            assert np.all(np.diff(sides) <= 1e-12 * sides[0])


def test_a_point_takes_the_proof_and_the_model_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = spoiled(1)
    how: dict[str, Any] = {"ridge": 0.1, "loss": LOSS}
    plain = nonconvex.solve_nonconvex

    def poor_but_last(program: Any, *given: Any, **more: Any) -> Any:
        return plain(program, *given, **more | {"exact": program.l0 == 0.02})

    monkeypatch.setattr(nonconvex, "solve_nonconvex", poor_but_last)
    first, last = sb.path(X, y, l0s=[0.03, 0.02], **how)
    alone = sb.solve(X, y, l0=0.03, exact=False, **how)
    assert first.lower >= last.lower > alone.lower
    assert first.lower <= candidates(sb.Program(X, y, l0=0.03, **how)).best()
    assert first.certificate.verify(X, y).ok


def test_stop_is_what_it_claims() -> None:
    X, y = spoiled(2)
    path = sb.path(X, y, ks=[1, 2, 3], ridge=0.1, loss=LOSS, exact=True, stop=0.5)
    assert not path.complete
    best = candidates(sb.Program(X, y, k=3, ridge=0.1, loss=LOSS)).best()
    null = candidates(sb.Program(X, y, k=0, ridge=0.1, loss=LOSS)).best()
    assert path[-1].upper - best <= 0.5 * max(path[-1].upper, null)


def test_limits_and_what_is_refused(tmp_path: Any) -> None:
    X, y = spoiled(3)
    cut = sb.path(X, y, ks=[1, 2, 3], ridge=0.1, loss=LOSS, time_limit=1e-9)
    assert len(cut) == 1
    assert "time limit" in cut.message
    assert cut[0].certificate.verify(X, y).ok
    with pytest.raises(InputError, match="exact=True needs a convex loss, and the tukey loss"):
        sb.path(X, y, ks=[1, 2], ridge=0.1, loss=Tukey(c=1.0), exact=True)
    with pytest.raises(InputError, match="checkpoint needs a convex loss"):
        sb.path(X, y, ks=[1, 2], ridge=0.1, loss=LOSS, checkpoint=tmp_path / "path.npz")


def test_control_c_ends_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = spoiled(4)
    plain = nonconvex.solve_nonconvex

    def struck(program: Any, *given: Any, **more: Any) -> Any:
        if program.k == 2:
            raise KeyboardInterrupt
        return plain(program, *given, **more)

    monkeypatch.setattr(nonconvex, "solve_nonconvex", struck)
    path = sb.path(X, y, ks=[1, 2], ridge=0.1, loss=LOSS)
    assert path.interrupted
    assert len(path) == 1


def test_control_c_in_a_relaxation_ends_the_path() -> None:
    X, y = spoiled(4)
    told: list[Any] = []
    whole = sb.path(X, y, ks=[1, 2], ridge=0.1, loss="tukey", callback=told.append)
    assert not whole.interrupted
    for last in (2, len(told) // 2):
        path = sb.path(X, y, ks=[1, 2], ridge=0.1, loss="tukey", callback=Presser(last))
        assert path.interrupted
        assert len(path) == 2 or "Interrupted" in path.message
