"""`standardize` with groups: whitened columns, the coding of a group, and what enters by chance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2
from tests.checker.schema import ROOT, SCHEMA, flaws

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.testing import brute_force

SIZES = (3, 2, 1, 4)
LABELS = np.repeat(np.arange(4), SIZES)
FORMS: list[dict[str, Any]] = [
    {"k": 2, "ridge": 0.05},
    {"k": None, "l0": [0.02, 0.01, 0.005, 0.03], "ridge": 0.05},
    {"k": 2, "ball": 0.5},
    {"k": None, "l0": 0.02, "ball": 0.5},
]
LOSSES = ["squared", "logistic", "huber", "poisson"]


def drawn(rng: np.random.Generator, loss: str, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 10)) + rng.normal(size=10)
    z = X[:, :3] @ [1.0, -1.0, 0.5] + 0.6 * X[:, 5] - X[:, :3].mean() + rng.normal(size=n)
    if loss == "logistic":
        return X, np.where(z > np.median(z), 1.0, -1.0)
    return X, (rng.poisson(np.exp(np.clip(z, -3, 2))).astype(float) if loss == "poisson" else z)


def recoded(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    parts = [X[:, g == LABELS] for g in range(4)]
    turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.1, 10, d) for d in SIZES]
    return np.column_stack([x @ t + rng.normal() for x, t in zip(parts, turns, strict=True)])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", range(4))
def test_coding_changes_nothing(loss: str, form: int) -> None:
    rng = np.random.default_rng([form, LOSSES.index(loss)])
    X, y = drawn(rng, loss)
    asked: dict[str, Any] = {"loss": loss, "groups": LABELS, "standardize": True, **FORMS[form]}
    asked["fit_intercept"] = True
    found = []
    for table in (X, recoded(rng, X)):
        one = sb.solve(table, y, exact=True, tol=1e-6, **asked)
        best = brute_force(one.program).value
        assert one.lower <= best <= one.upper + 1e-9 * abs(best)
        assert one.upper == pytest.approx(best, rel=1e-6)
        assert one.certificate.verify(table, y).ok
        z = table @ one.coef + one.intercept
        found.append((one.group_support, z, one.upper, sb.relax(one.program).value))
    for one, other in zip(*found, strict=True):
        if isinstance(one, tuple):
            assert one == other
        else:
            assert one == pytest.approx(other, rel=1e-6, abs=1e-5 if np.ndim(one) else 0.0)


def nasty(case: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X, y = drawn(rng, "squared", 3 if case == "short" else 30)
    if case == "duplicate":
        X[:, 1], X[:, 4] = X[:, 0], -3.0 * X[:, 3]
    if case == "constant":
        X[:, 0], X[:, 3:5] = 1e6, 0.0
    if case == "levels":
        X[:, 6:] = np.eye(4)[rng.integers(0, 4, len(X))]
    if case == "units":
        X = X * 10.0 ** rng.integers(-8, 9, 10)
    if case == "near":
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    return X, y


@pytest.mark.parametrize("case", ["duplicate", "constant", "levels", "units", "near", "short"])
def test_groups_that_are_hard_to_whiten(case: str, tmp_path: Path, checker: Any) -> None:
    X, y = nasty(case)
    asked: dict[str, Any] = {"k": 2, "ridge": 0.05, "groups": LABELS, "standardize": True}
    found = sb.solve(X, y, exact=True, tol=1e-6, fit_intercept=True, **asked)
    program = found.program
    best = brute_force(program).value
    assert found.lower <= best <= found.upper * (1.0 + 1e-9)
    assert found.upper == pytest.approx(best, rel=1e-6)
    Y = program.matrix.columns(np.arange(10))
    for g in range(4):
        gram = Y[:, g == LABELS].T @ Y[:, g == LABELS] / len(y)
        assert gram @ gram == pytest.approx(gram, abs=1e-9)
        part = X[:, g == LABELS] - X[:, g == LABELS].mean(axis=0)
        part = part / np.maximum(part.std(axis=0), 1e-300) * (part.std(axis=0) > 1e-9 * 1e-8)
        rank = np.linalg.matrix_rank(part, tol=1e-4) if case != "constant" or g > 1 else None
        assert rank is None or np.trace(gram) == pytest.approx(rank, abs=1e-8)
    w, b = program.to_program(found.coef, found.intercept)
    assert Y @ w + b + program.level == pytest.approx(X @ found.coef + found.intercept, abs=1e-6)
    assert found.certificate.verify(X, y).ok
    found.certificate.save(tmp_path / "c.json")
    assert not list(flaws(json.loads((tmp_path / "c.json").read_text()), SCHEMA))
    code, sentence = checker.judged(str(tmp_path / "c.json"), {"X": X, "y": y})
    assert code == 0, sentence


@pytest.fixture(scope="module")
def checker() -> Any:
    import sys

    sys.path.insert(0, str(ROOT / "checker"))
    import check_certificate

    return check_certificate


def test_forged_recodings_are_refused(tmp_path: Path, checker: Any) -> None:
    X, y = drawn(np.random.default_rng(3), "squared")
    asked: dict[str, Any] = {"k": 2, "ridge": 0.05, "groups": LABELS, "standardize": True}
    true = sb.solve(X, y, **asked).certificate
    center, scale, entries = true.problem.standardize
    dropped = entries.copy()
    dropped[[1, 3]] = 0.0  # the second direction of the group of two
    for forged in (2.0 * entries, dropped, np.roll(entries, 1), np.zeros(len(entries))):
        problem = true.problem.replaced(standardize=(center, scale, forged))
        made = replace(true, problem=problem)
        assert "does not whiten" in made.verify(X, y).message
        made.save(tmp_path / "c.json")
        code, sentence = checker.judged(str(tmp_path / "c.json"), {"X": X, "y": y})
        assert code == 1
        assert "does not whiten" in sentence


def test_storages_and_other_calls_agree(tmp_path: Path) -> None:
    X, y = drawn(np.random.default_rng(4), "squared", 40)
    X[np.abs(X) < 1.2] = 0.0
    asked: dict[str, Any] = {"ridge": 0.05, "groups": LABELS, "standardize": True}
    asked["fit_intercept"] = True
    np.save(tmp_path / "X.npy", X)
    strict = pytest.importorskip("array_api_strict")
    dask = pytest.importorskip("dask.array")
    own = sb.solve(X, y, k=2, exact=True, **asked)
    tables = [sparse.csc_array(X), sb.open_matrix(tmp_path / "X.npy", memory="4 KiB")]
    for other in (*tables, dask.from_array(X, chunks=(15, 4)), strict.asarray(X), X[:, :]):
        found = sb.solve(other, y, k=2, exact=True, **asked)
        assert found.upper == pytest.approx(own.upper, rel=1e-9)
        assert found.coef == pytest.approx(own.coef, abs=1e-6)
        assert found.certificate.verify(X, y).ok
    path = sb.path(X, y, ks=range(4), **asked)
    assert path.at(2).coef == pytest.approx(own.coef, abs=1e-6)
    assert path.at(2).certificate.verify(X, y).ok
    tall = np.tile(X, (3000, 1))
    assert sb.Program(tall, np.tile(y, 3000), k=2, **asked).matrix.tall
    found = sb.solve(tall, np.tile(y, 3000), k=2, **asked)
    assert found.upper == pytest.approx(own.upper, rel=1e-9)
    assert found.lower <= own.upper <= found.upper * (1.0 + 1e-9)


def test_robust_losses_have_bounds() -> None:
    X, y = drawn(np.random.default_rng(5), "squared", 20)
    asked: dict[str, Any] = {"ridge": 0.1, "groups": LABELS, "standardize": True}
    found = sb.solve(X, y, k=2, loss="truncated", fit_intercept=True, **asked)
    assert 0.0 < found.lower <= found.upper
    assert found.certificate.verify(X, y).ok


def test_single_columns_stay_as_they_are() -> None:
    X, y = drawn(np.random.default_rng(6), "squared")
    whitened = sb.Program(X, y, k=2, groups=LABELS, standardize=True, fit_intercept=True).matrix
    alone = sb.Program(X, y, k=2, standardize=True, fit_intercept=True).matrix
    at, a = np.array([5]), np.linspace(-1.0, 1.0, len(y))
    assert np.array_equal(whitened.columns(at), alone.columns(at))
    assert whitened.scores(a)[5] == alone.scores(a)[5]
    assert whitened.score_radius(a)[5] == alone.score_radius(a)[5]


def test_what_whitening_refuses() -> None:
    X, y = drawn(np.random.default_rng(6), "squared")
    asked: dict[str, Any] = {"k": 2, "groups": LABELS, "standardize": True}
    with pytest.raises(InputError, match="sign of column 0, whose group is whitened"):
        sb.Program(X, y, positive=True, ridge=0.1, **asked)
    with pytest.raises(InputError, match="ridge is not one number"):
        sb.Program(X, y, ridge=np.linspace(0.1, 0.2, 10), **asked)
    sb.Program(X, y, positive=LABELS == 2, ridge=[0.1, 0.2, 0.3, 0.4], **asked)


def test_equal_chances() -> None:
    """At chi-squared prices groups of all sizes enter a model of nothing equally often."""
    sizes = np.repeat([1, 2, 4, 8], 5)
    labels, n, chance, seeds = np.repeat(np.arange(20), sizes), 400, 0.1, 40
    entered = {"chi2": np.zeros(20), "one": np.zeros(20)}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, len(labels)))
        for g in range(20):
            X[:, labels == g] = X[:, labels == g] @ rng.normal(size=(sizes[g], sizes[g]))
        y = rng.normal(size=n)
        unit = y.var() / (2 * n)
        asked: dict[str, Any] = {"ridge": 1e-4, "groups": labels, "standardize": True}
        for rule, degrees in (("chi2", sizes), ("one", 1)):
            prices = unit * chi2.ppf(1.0 - chance, degrees) * np.ones(20)
            found = sb.solve(X, y, l0=prices, k=None, fit_intercept=True, exact=False, **asked)
            entered[rule][[int(name) for name in found.group_support]] += 1
    often = {
        rule: counts.reshape(4, 5).sum(axis=1) / (5 * seeds) for rule, counts in entered.items()
    }
    assert np.abs(often["chi2"] - chance).max() < 4.0 * np.sqrt(chance * (1 - chance) / (5 * seeds))
    assert often["one"][1:] == pytest.approx(chi2.sf(chi2.ppf(0.9, 1), [2, 4, 8]), abs=0.14)
