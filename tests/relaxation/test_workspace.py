"""A workspace changes what a relaxation costs, never what it proves; and it knows its data."""

from __future__ import annotations

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.datasets import make_correlated
from sparsebounds.relaxation import Workspace


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("size", [{"ridge": 0.05}, {"ball": 2.0}])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_same_values_for_fewer_passes(
    loss: str, size: dict[str, float], fit_intercept: bool
) -> None:
    data = make_correlated(80, 300, classes=loss == "logistic", random_state=1)
    program = sb.Program(
        data.X, data.y, k=1, loss=loss, fit_intercept=fit_intercept, standardize=True, **size
    )
    workspace, last, warm, cold = Workspace(program), None, 0.0, 0.0
    for posed in [program.with_budget(k) for k in (1, 2, 4, 8)] + [program.with_price(0.01)]:
        last = sb.relax(posed, 1e-7, start=last, workspace=workspace)
        alone = sb.relax(posed, 1e-7)
        scale = max(abs(alone.value), abs(program.null))
        assert last.status == "optimal"
        assert abs(last.value - alone.value) <= 1e-7 * scale
        # The proof does not lean on the workspace: its vector proves the same from scratch.
        again = sb.bounds.bound_at(posed, sb.bounds.dual_point_at(posed, last.point.t))
        assert last.lower == pytest.approx(again, rel=1e-12)
        warm, cold = warm + last.stats.full_passes, cold + alone.stats.full_passes
    assert warm < cold
    assert len(set(workspace.index.tolist())) == len(workspace.index)


def test_other_data_are_refused() -> None:
    data = make_correlated(30, 10)
    program = sb.Program(data.X, data.y, k=2, ridge=0.1)
    workspace = Workspace(program)
    start = sb.relax(program, workspace=workspace)
    other = sb.Program(data.X, -data.y, k=2, ridge=0.1)
    with pytest.raises(ValueError, match="workspace was made for other data"):
        sb.relax(other, start=start, workspace=workspace)


def test_a_foreign_start_is_scored_afresh() -> None:
    """A start of other data may come with a workspace; its scores are not believed."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 10)), rng.normal(size=30)
    program, other = sb.Program(X, y, k=2, ridge=0.1), sb.Program(9 * X, y, k=2, ridge=0.1)
    found = sb.relax(program, start=sb.relax(other), workspace=Workspace(program))
    assert found.value == pytest.approx(sb.relax(program).value, rel=1e-7)
    assert found.lower <= found.value
