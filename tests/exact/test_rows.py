"""The search over rows for the truncated loss: against every set of outliers, and cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from tests.cases import seeds
from tests.truncated import candidates, tiny

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.exact import RowSearch, row_bounding, row_models, rows
from sparsebounds.fitting.refit import evaluated
from sparsebounds.losses import Truncated, Tukey
from sparsebounds.models import LocalSearch
from sparsebounds.solving.solve import solve_program

LOSS = Truncated(c=1.0)


def spoiled(seed: int, n: int = 8, m: int = 3, level: float = 0.0) -> tuple[Any, Any]:
    """Rows that a model explains, and two that it does not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    y = X[:, 0] - X[:, -1] + 0.4 * rng.normal(size=n) + level
    y[:2] += rng.choice([-1.0, 1.0], size=2) * rng.uniform(1.5, 6.0, size=2)
    return X, y


PROBLEMS: dict[str, dict[str, Any]] = {
    "price": {"l0": 0.03, "ridge": 0.05},
    "intercept": {"k": 1, "ridge": 0.1, "fit_intercept": True, "level": 3.0},
    "prices and signs": {
        "l0": np.array([0.0, 0.1, 0.02]),
        "ridge": np.array([0.1, 0.3, 0.05]),
        "positive": True,
    },
    "always and never": {"k": 1, "ridge": 0.1, "always": [1], "never": [0]},
    "standardized": {"l0": 0.02, "ridge": 0.1, "standardize": True, "fit_intercept": True},
    "weights": {"k": 2, "ridge": 0.1, "sample_weight": [2, 1, 0, 1, 0.5, 1, 1, 3]},
    "nothing": {"k": 0, "ridge": 0.1},
    "ball": {"k": 2, "ball": 1.0},
    "price and ball": {"l0": 0.03, "ball": 0.5, "fit_intercept": True},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_against_every_set_of_outliers(name: str) -> None:
    options = dict(PROBLEMS[name])
    X, y = spoiled(len(name), level=options.pop("level", 0.0))
    offset = 0.1 * np.arange(8.0)
    program = sb.Program(X, y, loss=LOSS, offset=offset, **options)
    found = candidates(program)
    best = found.best()
    data = {"offset": offset, "sample_weight": options.get("sample_weight")}
    # A ball's multiplier is the same for all nodes: not every gap closes.
    most = None if program.ball is None else 6
    for exact in (False, True):
        solution = sb.solve(
            X,
            y,
            loss=LOSS,
            offset=offset,
            exact=exact,
            node_limit=most if exact else None,
            **options,
        )
        assert solution.lower <= best
        assert solution.upper >= best * (1.0 - 1e-12)
        assert solution.certificate.verify(X, y, **data).ok
        assert (solution.outliers is None) or exact
    if program.ball is None:
        assert solution.status == "optimal"
        assert solution.upper == pytest.approx(best, rel=1e-4)
        given = sb.certify(program, solution.coef, solution.intercept)
        assert 0.5 * best <= given.lower <= best
        assert given.verify(X, y, **data).ok
    outliers = solution.outliers
    if outliers is None:
        return
    # In every best model: those that every set of outliers finds.
    places = np.arange(program.n) if program.data.kept is None else program.data.kept
    rows_ = np.concatenate((outliers.proved_out, outliers.proved_in, outliers.in_doubt))
    assert np.array_equal(np.sort(rows_), places)
    sizes = np.abs(found.residuals[found.values <= best * (1.0 + 1e-10)])
    assert np.all(sizes[:, np.isin(places, outliers.proved_out)] >= LOSS.c * (1.0 - 1e-9))
    assert np.all(sizes[:, np.isin(places, outliers.proved_in)] <= LOSS.c * (1.0 + 1e-9))


def test_the_referee_takes_equal_columns() -> None:
    """With next to no ridge their matrix is singular: two of them are worth one."""
    X, y = spoiled(4)
    twins = sb.Program(np.column_stack((X[:, 0], X[:, 0])), y, k=2, ridge=1e-30, loss=LOSS)
    alone = sb.Program(X[:, :1], y, k=1, ridge=1e-30, loss=LOSS)
    one, two = candidates(alone).best(), candidates(twins).best()
    assert np.isclose(one, two, rtol=1e-12)
    assert two < alone.null


@pytest.mark.parametrize("exact", [False, "auto", True])
def test_awkward_programs(exact: Any) -> None:
    """Ties, columns of zeros and of any size, few rows: bounds, and rows of all best models."""
    for seed in seeds(4, f"rows {exact}"):
        program = tiny(seed)
        found = candidates(program)
        solution = solve_program(program, exact=exact, node_limit=4)
        best, c = min(found.best(), solution.upper), program.loss.parameters()["c"]
        assert solution.lower <= best
        assert program.objective(solution.coef, solution.intercept) <= solution.upper
        if solution.outliers is not None:
            places = np.arange(program.n) if program.data.kept is None else program.data.kept
            sizes = np.abs(found.residuals[found.values <= best * (1.0 + 1e-10)])
            slack = 1e-9 * (c + np.max(np.abs(program.y)))
            out, inside = solution.outliers.proved_out, solution.outliers.proved_in
            assert np.all(sizes[:, np.isin(places, out)] >= c - slack)
            assert np.all(sizes[:, np.isin(places, inside)] <= c + slack)


def test_rows_are_proved() -> None:
    """Gross errors are outliers of every best model; most others are inliers."""
    X, y = spoiled(3, 40, 3)
    y[:2] += 30.0 * np.sign(y[:2])
    solution = sb.solve(X, y, k=2, ridge=0.1, loss=LOSS, exact=True)
    outliers = solution.outliers
    assert outliers is not None
    assert {0, 1} <= set(outliers.proved_out.tolist())
    assert len(outliers.proved_in) >= 30
    assert f"{len(outliers.proved_out)} rows are outliers of every best model" in str(outliers)
    weight = np.where(np.arange(40) == 5, 0.0, 1.0)
    other = sb.solve(X, y, k=2, ridge=0.1, loss=LOSS, exact=True, sample_weight=weight).outliers
    assert other is not None
    listed = np.concatenate((other.proved_out, other.proved_in, other.in_doubt))
    assert sorted(listed.tolist()) == [row for row in range(40) if row != 5]


HARD = {"l0": 0.01, "ridge": 0.02, "loss": Truncated(c=0.5), "exact": True}


def hard() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(16, 3)), 1.5 * rng.normal(size=16)


@pytest.mark.parametrize("limit", [{"node_limit": 1}, {"node_limit": 12}, {"time_limit": 0.2}])
def test_limits_leave_a_proof(limit: dict[str, Any]) -> None:
    X, y = hard()
    solution = sb.solve(X, y, **HARD, **limit)
    assert 0.0 < solution.lower <= solution.upper
    assert solution.certificate.verify(X, y).ok
    assert "time_limit" not in limit or solution.stats.seconds < 5.0


def test_control_c_leaves_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes, nodes are not lost: as they are bounded, written down, or refitted."""
    X, y = (part[:10] for part in hard())
    best, lower = candidates(sb.Program(X, y, l0=0.01, ridge=0.02, loss=HARD["loss"])).best(), []
    struck = [(row_bounding, "best_shares", at) for at in (1, 2, 4)]
    struck += [(rows, "relaxed_node", 3)]
    struck += [(row_models, "local_refit", at) for at in (1, 3)]
    struck += [(rows.Record, "split", at) for at in (1, 2, 5)]
    for owner, name, at in struck:
        plain, calls = getattr(owner, name), count(1)
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, struck_at(plain, calls, at))
            solution = sb.solve(X, y, **HARD)
        assert next(calls) == at + 1, "nothing goes on after Ctrl-C"
        assert solution.stats.interrupted
        assert solution.lower <= best
        assert solution.certificate.verify(X, y).ok
        lower.append(solution.lower)
    assert len(set(lower)) > 2


@pytest.mark.parametrize("name", ["improve", "_predictions"])
def test_control_c_before_the_search_begins(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Who ends the search for models does not wait for one over rows."""
    X, y = hard()
    with monkeypatch.context() as patched:
        patched.setattr(LocalSearch, name, struck_at(getattr(LocalSearch, name), count(1), 1))
        solution = sb.solve(X, y, **HARD)
    assert solution.stats.interrupted
    assert solution.stats.nodes == 0
    assert "was interrupted before it had a bound" in solution.message
    assert solution.certificate.verify(X, y).ok


def struck_at(plain: Callable[..., Any], calls: Iterator[int], at: int) -> Any:
    """The same, with Ctrl-C in its place once."""

    def struck(*given: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise KeyboardInterrupt
        return plain(*given, **more)

    return struck


def test_what_the_search_does_not_take() -> None:
    X, y = spoiled(0)
    with pytest.raises(InputError, match="exact=True needs a convex loss, and the tukey loss"):
        sb.solve(X, y, k=1, ridge=0.1, loss=Tukey(c=1.0), exact=True)
    assert sb.solve(X, y, k=1, ridge=0.1, loss=Tukey(c=1.0)).outliers is None


def test_the_search_takes_a_model_that_is_not_the_best() -> None:
    """Its bounds hold for every model up to the level; its own model improves."""
    X, y = spoiled(4)
    program = sb.Program(X, y, k=2, ridge=0.1, loss=LOSS)
    best = candidates(program).best()
    search = RowSearch(program, evaluated(program, np.zeros(3), 0.0), 1e-4, 0.0)
    search.start()
    search.run()
    assert search.lower <= best <= search.model().value * (1.0 + 1e-12)
    assert search.model().value == pytest.approx(best, rel=1e-4)


@np.errstate(all="ignore")
def test_spans_of_a_range_that_a_better_model_rules_out() -> None:
    """Its intercepts are beyond what the better level leaves: all that is said of it holds."""
    program = tiny(100020)
    solution = sb.solve(program, exact=False)
    assert solution.lower <= candidates(program).best() <= solution.upper


@pytest.mark.parametrize("loss", [sb.losses.Truncated(c=1.5), sb.losses.Tukey(c=3.0)])
def test_the_root_is_split_by_leading_features(
    loss: sb.losses.Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 12))
    y = X[:, [1, 4, 7]] @ [2.0, -1.5, 1.5] + 0.4 * rng.normal(size=60)
    y[:10] += 9.0
    found = sb.solve(X, y, k=3, ridge=0.05, loss=loss, exact=False)
    tree = found.certificate.rows
    assert found.certificate.verify(X, y).ok
    # One part leaves out the first, the next has it and not the second: four leaves.
    assert sorted(tree.switch.tolist()) == found.support.tolist()
    assert tree.parent.tolist() == [0, 2, 4]
    monkeypatch.setattr("sparsebounds.exact.rows.by_features", lambda *_: None)
    alone = sb.solve(X, y, k=3, ridge=0.05, loss=loss, exact=False)
    assert alone.certificate.rows.size == 1
    assert alone.upper == found.upper
    assert found.upper - found.lower < 0.7 * (alone.upper - alone.lower)
