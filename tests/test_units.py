"""Columns in units of their own, and rows with weights."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.test_program import FORMS, LOSSES, M, N, gradient, sample, terms

from sparsebounds.bounds import lower_bound
from sparsebounds.matrices import StandardizedMatrix
from sparsebounds.program import Form, Program


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, np.asfortranarray, np.float32])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_standardize_is_explicit_standardization(
    wrap: Callable[[np.ndarray], Any], intercept: bool, weighted: bool
) -> None:
    X, y = sample("logistic")
    X[X < -1.0] = 0.0
    data = wrap(X)
    X = np.asarray(data, dtype=float) if not sp.issparse(data) else X
    s = np.arange(1.0, N + 1.0) if weighted else np.ones(N)
    mean = np.average(X, axis=0, weights=s) if intercept else np.zeros(M)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=s))
    options: dict[str, Any] = {"k": 3, "ridge": 0.1, "loss": "logistic", "fit_intercept": intercept}
    options["sample_weight"] = s if weighted else None
    program = Program(data, y, standardize=True, **options)
    explicit = Program((X - mean) / scale, y, **options)

    assert isinstance(program.matrix, StandardizedMatrix)
    np.testing.assert_allclose(program.matrix.center, mean, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(program.matrix.scale, scale, rtol=1e-13)
    w, b = np.array([0.5, 0.0, 1.5, -0.7, 0.0]), 0.3 * intercept
    assert program.objective(*program.to_user(w, b)) == pytest.approx(
        explicit.objective(w, b), rel=1e-13
    )
    assert program.null == pytest.approx(explicit.null, rel=1e-14)
    a = explicit.F.gradient((X - mean) / scale @ w + b)
    assert lower_bound(program, a) == pytest.approx(lower_bound(explicit, a), rel=1e-11)


def test_standardize_is_free_of_units(rng: np.random.Generator) -> None:
    X, y = sample("squared")
    units, origin = 10.0 ** rng.uniform(-6, 6, M), rng.normal(size=M)
    options: dict[str, Any] = {"k": 2, "ridge": 0.1, "fit_intercept": True, "standardize": True}
    one, other = Program(X, y, **options), Program((X + origin) * units, y, **options)
    w = np.array([0.0, 0.4, 0.0, -1.0, 0.0])
    assert other.objective(*other.to_user(w, 0.2)) == pytest.approx(
        one.objective(*one.to_user(w, 0.2)), rel=1e-11
    )
    a = rng.normal(size=N)
    assert lower_bound(other, a) == pytest.approx(lower_bound(one, a), rel=1e-9)


def test_standardize_by_given_numbers() -> None:
    X, y = sample("squared")
    center, scale = np.arange(5.0), np.array([1.0, 2.0, 4.0, 0.5, 0.25])
    program = Program(X, y, k=2, ridge=0.1, standardize=(center, scale))
    np.testing.assert_array_equal(program.matrix.columns(np.arange(M)), (X - center) / scale)
    coef = np.array([1.0, 0.0, 3.0, 0.0, 0.0])
    w = coef * scale
    fit = np.mean(((X - center) / scale @ w - y) ** 2) / 2 + 0.05 * np.sum(w**2)
    # Without an intercept, a shift of the columns is the only one the model may have.
    assert program.objective(coef, -float(coef @ center)) == pytest.approx(fit, rel=1e-14)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_units_there_and_back(standardize: bool, intercept: bool, rng: np.random.Generator) -> None:
    X, y = sample("squared")
    program = Program(X, y, k=2, ridge=1.0, standardize=standardize, fit_intercept=intercept)
    w, b = rng.normal(size=M), float(rng.normal())
    coef, shift = program.to_user(w, b)
    w_again, b_again = program.to_program(coef, shift)
    np.testing.assert_allclose(w_again, w, rtol=1e-15)
    assert b_again == pytest.approx(b, rel=1e-12)
    # Both models predict the same.
    columns = program.matrix.columns(np.arange(M))
    np.testing.assert_allclose(X @ coef + shift, columns @ w + b, rtol=1e-12, atol=1e-12)
    assert standardize or (np.array_equal(coef, w) and shift == b)


# Weights.


def duals(loss: str, X: np.ndarray, y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Per-sample dual vectors: at the null model, at a random model, and anything."""
    rng = np.random.default_rng(seed)
    z = X @ (0.3 * rng.normal(size=M) / np.abs(X).max(axis=0))
    return [gradient(loss, y, 0 * z), gradient(loss, y, z), rng.normal(size=len(y))]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeated_rows(
    loss: str, form: Form, intercept: bool, standardize: bool, rng: np.random.Generator
) -> None:
    X, y = sample(loss)
    offset = rng.normal(size=N)
    weights = np.array([0, 1, 3, 2, 0, 1, 5, 1, 2, 0, 4, 1])
    options: dict[str, Any] = {
        "loss": loss, "fit_intercept": intercept, "standardize": standardize, **terms(form)
    }  # fmt: skip
    kept = weights > 0
    rows = np.repeat(np.arange(N), weights)
    weighted = Program(X, y, sample_weight=weights, offset=offset, **options)
    removed = Program(X[kept], y[kept], sample_weight=weights[kept], offset=offset[kept], **options)
    repeated = Program(X[rows], y[rows], offset=offset[rows], **options)
    assert (weighted.n, removed.n, repeated.n) == (9, 9, 20)

    coef, b = np.array([0.1, 0.0, -0.6, 0.03, 0.0]), 0.2 * intercept
    assert weighted.objective(coef, b) == removed.objective(coef, b)
    assert weighted.objective(coef, b) == pytest.approx(repeated.objective(coef, b), rel=1e-12)
    assert weighted.null == removed.null
    assert weighted.null == pytest.approx(repeated.null, rel=1e-12)
    for t in duals(loss, X, y, seed=1):
        a = t[kept] * weights[kept] / 20.0
        lower = lower_bound(weighted, a)
        assert lower == lower_bound(removed, a)
        assert lower == pytest.approx(lower_bound(repeated, t[rows] / 20.0), rel=1e-12, abs=1e-12)
    assert weighted.fingerprint == removed.fingerprint != repeated.fingerprint


@pytest.mark.parametrize("loss", LOSSES)
def test_only_the_ratios_of_weights_matter(loss: str, rng: np.random.Generator) -> None:
    X, y = sample(loss)
    weights = rng.uniform(0.5, 2.0, N)
    options: dict[str, Any] = {"loss": loss, "k": 2, "ridge": 0.1, "fit_intercept": True}
    one = Program(X, y, sample_weight=weights, **options)
    for factor in (1e-100, 3.0, 1e100):
        other = Program(X, y, sample_weight=factor * weights, **options)
        assert other.null == pytest.approx(one.null, rel=1e-12)
        for t in duals(loss, X, y, seed=2):
            a = t * one.F.p
            assert lower_bound(other, a) == pytest.approx(lower_bound(one, a), rel=1e-11, abs=1e-11)


def test_weights_of_very_different_size_still_give_a_bound() -> None:
    X, y = sample("squared")
    weights = np.ones(N)
    weights[0] = 1e-320
    weights[1] = 1e150
    program = Program(X, y, k=2, ridge=0.1, sample_weight=weights, fit_intercept=True)
    # Row 1 is all that counts: a model without features fits it exactly.
    assert program.null == pytest.approx(0.0, abs=1e-28)
    assert -1e-2 <= lower_bound(program, np.zeros(N)) <= program.null


def test_units_with_columns_far_from_zero() -> None:
    """What is in the user's units is the model that is rated, though means cancel in them."""
    X = 4.5e15 + 2.0 * np.array([[-1.0], [1.0], [0.0], [3.0]])
    y = np.array([-1.3, 0.1, -0.6, 2.0])
    program = Program(X, y, k=1, ridge=0.1, fit_intercept=True, standardize=True)
    coef, intercept = program.to_user(np.array([0.7]), 0.3)
    w, b = program.to_program(coef, intercept)
    center, scale = (Fraction(float(v[0])) for v in (program.matrix.center, program.matrix.scale))
    slope = Fraction(float(coef[0]))
    assert b == float(Fraction(intercept) + slope * center - Fraction(program.level))
    exact = [slope * Fraction(float(x)) + Fraction(intercept) for x in X[:, 0]]
    there = [
        Fraction(float(w[0])) * (Fraction(float(x)) - center) / scale + Fraction(b) for x in X[:, 0]
    ]
    response = [Fraction(float(v)) + Fraction(program.level) for v in program.y]
    assert response == [Fraction(float(v)) for v in y]
    assert np.allclose([float(z) for z in exact], [float(z) for z in there], rtol=1e-12)
