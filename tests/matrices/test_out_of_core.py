"""Programs on matrices in files: the bounds of the same programs in memory, and the referee's."""

from __future__ import annotations

import io
import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds.matrices import StandardizedMatrix
from sparsebounds.program import Program
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

FORMS = ("k+ridge", "l0+ridge", "k+ball", "l0+ball")
SOME = ["C float32", "F", "zarr rows", "hdf5"]
BUDGET = 1 << 17


def close(one: float, other: float) -> bool:
    return bool(one == other or abs(one - other) <= 1e-9 * max(1.0, abs(other)))


def problem(seed: int, n: int = 60, m: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """float32 numbers, so that every storage holds the same; twelve planted features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)).astype(np.float32).astype(float)
    return X, X[:, :12] @ rng.normal(size=12) + rng.normal(size=n)


OPTIONS: dict[str, dict[str, Any]] = {
    "k ridge": {"k": 6, "ridge": 0.1},
    # Without a search, which reads nothing: the columns that are left are in memory.
    "l0 ball, intercept": {"l0": 0.02, "ball": 4.0, "fit_intercept": True, "exact": False},
    "logistic, standardized": {
        "l0": 0.01,
        "ridge": 0.05,
        "loss": "logistic",
        "fit_intercept": True,
        "standardize": True,
        "exact": False,
    },
    "huber, weights": {
        "k": 4,
        "ball": 3.0,
        "loss": "huber",
        "sample_weight": np.arange(60) % 4,
        "exact": False,
    },
}


@cache
def in_memory(name: str) -> tuple[np.ndarray, np.ndarray, sb.Solution]:
    """The data of a problem, and its solution."""
    X, y = problem(0)
    if OPTIONS[name].get("loss") == "logistic":
        y = np.sign(y)
    return X, y, sb.solve(X, y, **OPTIONS[name])


@pytest.mark.parametrize("store", SOME, indirect=True)
@pytest.mark.parametrize("name", OPTIONS)
def test_solutions_are_those_in_memory(store: Any, name: str) -> None:
    X, y, expected = in_memory(name)
    source, options = store(X), OPTIONS[name]
    found = sb.solve(sb.open_matrix(source, memory=BUDGET), y, **options)
    assert close(found.lower, expected.lower)
    assert close(found.upper, expected.upper)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-8)
    assert found.certificate.fingerprint == expected.certificate.fingerprint
    weights = options.get("sample_weight")
    # A certificate made in memory is checked on the file, and one of the file in memory.
    for certificate, data in (
        (expected.certificate, sb.open_matrix(source, memory=BUDGET)),
        (found.certificate, X),
    ):
        verdict = certificate.verify(data, y, weights)
        assert verdict.ok, verdict.message
    other = y.copy()
    other[-1] = -other[-1]
    assert not expected.certificate.verify(sb.open_matrix(source, memory=BUDGET), other, weights).ok


@pytest.mark.parametrize("store", ["C float32", "zarr rows"], indirect=True)
def test_paths_certificates_and_ranks_are_those_in_memory(store: Any) -> None:
    X, y = problem(1)
    source = store(X)

    def stored() -> Any:
        return sb.open_matrix(source, memory=BUDGET)

    ours, theirs = (sb.path(data, y, ks=[1, 3, 5], ridge=0.1) for data in (stored(), X))
    for one, other in zip(ours, theirs, strict=True):
        assert close(one.lower, other.lower)
        assert close(one.upper, other.upper)
    coef = np.zeros(90)
    coef[:3] = 1.0
    one, other = (sb.certify(Program(data, y, k=3, ridge=0.1), coef) for data in (stored(), X))
    assert close(one.lower, other.lower)
    assert close(one.upper, other.upper)
    for method, standardize in itertools.product(("svd", "randomized"), (False, True)):
        one, other = (
            sb.rank_bounds(
                Program(data, y, k=3, ridge=0.1, standardize=standardize, fit_intercept=True),
                ranks=[2, 5],
                method=method,
            )
            for data in (stored(), X)
        )
        # Models of a low rank are not unique, so their objectives are left out.
        for ours, theirs in zip(one.rows, other.rows, strict=True):
            assert close(ours.lower, theirs.lower)
            assert close(ours.explained, theirs.explained)
        assert one.certificate.verify(X, y).ok


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_bounds_hold_against_the_referee(form: Any, loss: str, tmp_path: Path) -> None:
    for seed in seeds(2, loss, form):
        program = random_program(seed, loss=loss, form=form, fit_intercept=seed % 2 == 1)
        matrix, kinds = program.matrix, ("C", "F")
        base = matrix.base if isinstance(matrix, StandardizedMatrix) else matrix
        X = np.asarray(base.columns(np.arange(program.m)), order=kinds[seed % 2])
        file = tmp_path / f"{seed}.npy"
        np.save(file, X)
        opened: Any = sb.open_matrix(file, memory=256)
        if isinstance(matrix, StandardizedMatrix):
            opened = StandardizedMatrix(opened, matrix.center, matrix.scale)
        other = program.with_matrix(opened)
        optimum = brute_force(program).value
        found, expected = solve_program(other), solve_program(program)
        assert found.lower <= optimum <= found.upper + 1e-9 * max(1.0, abs(optimum))
        assert close(found.lower, expected.lower)
        assert close(found.upper, expected.upper)


@pytest.mark.parametrize("store", ["C float32", "zarr rows float32", "F float32"], indirect=True)
def test_passes_of_a_solution(store: Any, request: pytest.FixtureRequest) -> None:
    """Where columns cost a pass, reading likely ones along keeps them to one pass or two."""
    X, y = problem(2, 100, 2000)
    matrix = sb.open_matrix(store(X), memory="8 MB")
    found = sb.solve(matrix, y, k=5, ridge=1.0, exact=False)
    scores = found.relaxation.stats.rounds + 1
    assert found.stats.full_passes <= scores + (2.0 if not matrix.by_columns else 0.3)
    assert matrix.passes == pytest.approx(1.0 + found.stats.full_passes)


def test_progress_is_shown_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = problem(3)
    with sb.progress():
        sb.solve(sb.open_matrix(X, memory=BUDGET), y, k=2, ridge=0.1)
    assert capsys.readouterr() == ("", "")
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with sb.progress():
        sb.open_matrix(X, memory=BUDGET).scores(y)
    assert "pass 1.0" in screen.getvalue()
    with pytest.raises(ValueError, match="not today"), sb.progress():
        raise ValueError("not today")
