"""Arrays of other libraries: the same numbers, bounds and relaxations as with NumPy."""

from __future__ import annotations

from types import ModuleType
from typing import Any, get_args

import array_api_strict
import numpy as np
import pytest

from sparsebounds.bounds import dual_point
from sparsebounds.losses import REGISTRY
from sparsebounds.matrices import DeviceMatrix, as_matrix
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax

FORMS = get_args(Form)


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "torch":
        return pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    return array_api_strict


def sample(loss: str = "squared", seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 40))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60)
    if REGISTRY[loss].two_class:
        y = np.where(y > 0, 1.0, -1.0)
    return X, np.abs(np.round(y)) if loss == "poisson" else y


def same_as_numpy(xp: ModuleType, X: Any, y: Any, **options: Any) -> None:
    there = Program(xp.asarray(X), xp.asarray(y), **options)
    here = Program(X, y, **options)
    assert there.fingerprint == here.fingerprint
    got, expected = relax(there), relax(here)
    assert got.value == pytest.approx(expected.value, rel=1e-9)
    assert got.dual_value == pytest.approx(expected.dual_value, rel=1e-8)
    np.testing.assert_allclose(got.coef, expected.coef, rtol=1e-4, atol=1e-6)
    assert isinstance(got.coef, np.ndarray)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_relaxations(xp: ModuleType, loss: str, form: Form) -> None:
    X, y = sample(loss)
    sparsity = {"k": 3} if form.startswith("k") else {"l0": 0.02}
    size = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 1.0}
    same_as_numpy(xp, X, y, loss=loss, fit_intercept=True, **sparsity, **size)


def test_single_precision_weights_and_standardized_columns(xp: ModuleType) -> None:
    X, y = sample()
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    options = {"k": 3, "ridge": 0.1, "fit_intercept": True, "standardize": True}
    same_as_numpy(xp, X.astype(np.float32), y, sample_weight=weights, **options)


def test_matrix_reads(xp: ModuleType) -> None:
    X, y = sample()
    theirs, _ = as_matrix(xp.asarray(X))
    ours, _ = as_matrix(X)
    assert isinstance(theirs, DeviceMatrix)
    np.testing.assert_allclose(theirs.scores(y), ours.scores(y), rtol=1e-12)
    np.testing.assert_allclose(theirs.norms, ours.norms, rtol=1e-12)
    np.testing.assert_array_equal(theirs.columns(np.array([3, 1])), X[:, [3, 1]])
    shares = np.full(60, 1 / 60)
    for got, expected in zip(theirs.moments(shares), ours.moments(shares), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert theirs.passes == 4 + 2 / 40  # scores, norms, columns, and two for moments


def test_bounds_agree(xp: ModuleType) -> None:
    X, y = sample()
    a = y / 60
    there = dual_point(Program(xp.asarray(X), xp.asarray(y), k=3, ridge=0.1), a)
    here = dual_point(Program(X, y, k=3, ridge=0.1), a)
    assert np.all(np.abs(there.scores - here.scores) <= there.radius + here.radius)


def test_wrong_arrays_are_refused(xp: ModuleType) -> None:
    y = np.zeros(3)
    with pytest.raises(ValueError, match="two dimensions"):
        Program(xp.asarray(np.zeros(3)), y, k=1, ridge=1.0)
    with pytest.raises(TypeError, match="real numbers"):
        Program(xp.asarray(np.zeros((3, 2), dtype=complex)), y, k=1, ridge=1.0)
    with pytest.raises(ValueError, match="NaN in column 1"):
        Program(xp.asarray(np.array([[1.0, np.nan]] * 3)), y, k=1, ridge=1.0)
    # Integers are numbers too.
    assert Program(xp.asarray(np.arange(6).reshape(3, 2)), y, k=1, ridge=1.0).m == 2
