"""Groups with what takes them: files, Dask, checkpoints, estimators, bounds by ties, robust losses.

Each against exhaustive search over groups, or against the same on an array in memory.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.testing import brute_force

GROUPS = [0, 0, 0, 1, 1, 2, 2, 3, 4, 3]
MEMBERS = [[0, 1, 2], [3, 4], [5, 6], [7, 9], [8]]
ASKED: dict[str, Any] = {"ridge": 0.05, "groups": GROUPS}
SIZES: list[dict[str, Any]] = [{"k": 2}, {"k": None, "l0": [0.1, 0.05, 0.05, 0.02, 0.01]}]


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10))
    return X, X[:, :3] @ [1.0, -1.0, 0.5] + X[:, [4, 7]] @ [0.5, 0.4] + 0.5 * rng.normal(size=40)


@pytest.mark.parametrize("where", ["file", "dask"])
def test_data_elsewhere(where: str, table: Any, tmp_path: Path) -> None:
    X, y = table
    if where == "file":
        np.save(tmp_path / "X.npy", X)
        other: Any = sb.open_matrix(tmp_path / "X.npy", memory="4 KiB")
    else:
        other = pytest.importorskip("dask.array").from_array(X, chunks=(15, 4))  # cuts groups
    for size in SIZES:
        best = brute_force(sb.Program(X, y, **size, **ASKED)).value
        found = sb.solve(other, y, exact=True, tol=1e-6, **size, **ASKED)
        assert found.status == "optimal"
        assert found.lower <= best <= found.upper * (1.0 + 1e-12)
        assert found.upper == pytest.approx(best, rel=1e-6)
        assert found.certificate.verify(X, y).ok
        assert found.certificate.verify(other, y).ok


def test_checkpoints(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 40))
    y = X[:, :9] @ rng.normal(size=9) + 2.0 * rng.normal(size=60)
    asked: dict[str, Any] = {"ridge": 0.005, "groups": np.arange(40) // 3}
    search = {"k": 6, "exact": True, "tol": 1e-9, "checkpoint": tmp_path / "search.npz"}
    first = sb.solve(X, y, node_limit=3, **search, **asked)
    with pytest.raises(InputError, match="another problem"):
        sb.solve(X, y, **search, **(asked | {"groups": np.arange(40) // 4}))
    second = sb.solve(X, y, **search, **asked)
    whole = sb.solve(X, y, **(search | {"checkpoint": None}), **asked)
    assert (first.status, second.status) == ("bounded", "optimal")
    assert first.lower < second.lower <= second.upper == whole.upper

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    course = {"ks": range(4), "checkpoint": tmp_path / "path.npz"}
    assert len(sb.path(X, y, callback=stop, **course, **asked)) < 4
    resumed = sb.path(X, y, **course, **asked)
    fresh = sb.path(X, y, ks=range(4), **asked)
    assert [(p.lower, p.upper) for p in resumed] == [(p.lower, p.upper) for p in fresh]


def test_estimators(table: Any) -> None:
    X, y = table
    alone = sb.solve(X, y, k=2, fit_intercept=True, standardize=True, groups=GROUPS)
    selector = sb.SparseSelector(k=2, groups=GROUPS).fit(X, y)
    assert np.flatnonzero(selector.get_support()).tolist() == alone.support.tolist()
    chosen = sb.SparseRegressorCV(ks=range(4), ridges=[0.05], cv=3, groups=GROUPS).fit(X, y)
    same = sb.SparseRegressor(k=chosen.best_k_, ridge=0.05, groups=GROUPS).fit(X, y)
    assert 0 < chosen.best_k_ == len(chosen.solution_.group_support)
    assert chosen.coef_ == pytest.approx(same.coef_, abs=1e-9)
    classes = sb.SparseClassifierCV(ks=[1, 2], ridges=[0.05], cv=3, groups=GROUPS).fit(X, y > 0)
    held = [np.count_nonzero(classes.coef_[0, one]) for one in MEMBERS]
    assert all(count in (0, len(one)) for count, one in zip(held, MEMBERS, strict=True))
    assert 0 < np.count_nonzero(held) <= classes.best_k_


@pytest.mark.parametrize("size", [{"ridge": 0.05}, {"ball": 1.0}])
def test_bounds_of_the_gap(size: dict[str, float]) -> None:
    names = ("stated", "refined", "exact", "same_k", "rounded")
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 10)), rng.normal(size=12)
        optima = [brute_force(sb.Program(X, y, k=k, groups=GROUPS, **size)).value for k in range(6)]
        for asked in ({"k": 2}, {"l0": 0.05}):
            program = sb.Program(X, y, groups=GROUPS, **asked, **size)
            relaxed = sb.relax(program)
            gap = sb.gap_bounds(program, relaxed)
            best = brute_force(program).value
            told = [one for one in (getattr(gap, name) for name in names) if one.value == one.value]
            assert len(told) >= 3
            for bound in told:
                least = best if "l0" in asked else optima[min(bound.cardinality, 5)]
                assert least <= bound.value + 1e-7
            point = sb.primalize(program, relaxed)
            used = sum(bool(point.coef[one].any()) for one in MEMBERS)
            assert used == point.n_nonzero
            assert "l0" in asked or used <= gap.exact.cardinality


def test_robust_losses() -> None:
    """The truncated loss against every choice of groups with every set of outliers."""
    members = [[0, 2], [1, 3], [4]]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 5))
    y = X[:, :2].sum(axis=1) + rng.normal(size=8)
    y[0] += 9.0
    asked: dict[str, Any] = {"ridge": 0.1, "loss": "truncated"}
    values = {}
    for chosen in itertools.chain(*(itertools.combinations(range(3), i) for i in (1, 2, 3))):
        columns = sorted(j for i in chosen for j in members[i])
        values[chosen] = candidates(sb.Program(X[:, columns], y, k=len(columns), **asked)).best()
    asked["groups"] = members
    for size in ({"k": 2}, {"k": None, "l0": 0.05}):
        paid = {c: value + size.get("l0", 0.0) * len(c) for c, value in values.items()}
        best = min(value for c, value in paid.items() if size["k"] is None or len(c) <= 2)
        found = sb.solve(X, y, **size, **asked)
        assert found.lower <= best
        assert found.upper == pytest.approx(best, rel=1e-9)
        assert found.certificate.verify(X, y).ok
    with pytest.raises(InputError, match="exact=True with groups needs a convex loss"):
        sb.solve(X, y, k=2, exact=True, **asked)
    with pytest.raises(InputError, match="exact=True with groups needs a convex loss"):
        sb.path(X, y, ks=[1, 2], exact=True, **asked)
    with pytest.raises(InputError, match="near_optimal with groups needs a convex loss"):
        sb.near_optimal(sb.Program(X, y, k=2, **asked), eps=0.1)


def test_prices_are_per_group(table: Any) -> None:
    X, y = table
    prices = np.array([0.1, 0.05, 0.05, 0.02, 0.01])
    given = sb.Program(X, y, l0=prices, **ASKED)
    assert sb.Program(X, y, l0=prices[GROUPS], **ASKED).problem == given.problem
    for chosen, price in zip(MEMBERS, prices, strict=True):
        w = np.zeros(10)
        w[chosen] = 0.1
        whole = sb.Program(X, y, k=5, **ASKED).objective(w)
        assert given.objective(w) - whole == pytest.approx(price)
    for wrong, words in (
        (np.arange(1.0, 11.0), "l0 holds 1 and 2 for columns 0 and 1, .* or one per group"),
        (prices[:3], "l0 has 3 entries, but X has 5 groups; pass one per group"),
    ):
        with pytest.raises(InputError, match=words):
            sb.Program(X, y, l0=wrong, **ASKED)
    ridge = np.arange(1.0, 6.0)
    spread = sb.Program(X, y, k=2, ridge=ridge, groups=GROUPS).problem
    assert spread == sb.Program(X, y, k=2, ridge=ridge[GROUPS], groups=GROUPS).problem
    with pytest.raises(InputError, match="ridge has 3 entries, but X has 5 groups"):
        sb.Program(X, y, k=2, ridge=ridge[:3], groups=GROUPS)


def test_groups_always_and_never_in(table: Any) -> None:
    X, y = table
    asked: dict[str, Any] = {"k": 1, "ridge": 0.05, "groups": {"a": [0, 1, 2], "b": [3, 7]}}
    named = sb.Program(X, y, always="b", never=["a"], **asked)
    assert named.problem == sb.Program(X, y, always=[7], never=[1], **asked).problem
    assert named.problem.always.tolist() == [3, 7]
    assert named.problem.never.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="both hold the group of feature 0"):
        sb.Program(X, y, always=[0], never=[2], **asked)
    names = ["b", *"cdefghijk"]  # a column's name comes before a group's
    first = sb.Program(X, y, always="b", feature_names=names, **asked)
    assert first.problem.always.tolist() == [0, 1, 2]
