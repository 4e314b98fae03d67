"""Arrays of other libraries: the same numbers, bounds and relaxations as with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import array_api_strict
import numpy as np
import pytest

from sparsebounds.bounds import dual_point
from sparsebounds.losses import REGISTRY
from sparsebounds.matrices import DenseMatrix, DeviceMatrix
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.solve import solve_program

FORMS = get_args(Form)


Maker = Callable[[Any], Any]


@pytest.fixture(params=["array_api_strict", "torch", "cuda", "cupy"])
def make(request: pytest.FixtureRequest) -> Maker:
    """From a NumPy array to one of another library, on its device."""
    if request.param == "array_api_strict":
        return lambda x: array_api_strict.asarray(x)
    if request.param == "cupy":
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        return lambda x: cupy.asarray(x)
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    place = "cuda" if request.param == "cuda" else "cpu"
    return lambda x: torch.asarray(x, device=place)


def sample(loss: str = "squared", seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 40))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60)
    if REGISTRY[loss].two_class:
        y = np.where(y > 0, 1.0, -1.0)
    return X, np.abs(np.round(y)) if loss == "poisson" else y


def same_as_numpy(make: Maker, X: Any, y: Any, **options: Any) -> None:
    there = Program(make(X), make(y), **options)
    if not options.get("standardize"):
        there = there.with_matrix(DeviceMatrix(make(X)))
    here = Program(X, y, **options)
    assert there.fingerprint == here.fingerprint
    got, expected = relax(there), relax(here)
    assert got.value == pytest.approx(expected.value, rel=1e-9)
    assert got.dual_value == pytest.approx(expected.dual_value, rel=1e-8)
    np.testing.assert_allclose(got.coef, expected.coef, rtol=1e-4, atol=1e-6)
    assert isinstance(got.coef, np.ndarray)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", sorted(REGISTRY))
def test_relaxations(make: Maker, loss: str, form: Form) -> None:
    X, y = sample(loss)
    sparsity = {"k": 3} if form.startswith("k") else {"l0": 0.02}
    size = {"ridge": 0.1} if form.endswith("ridge") else {"ball": 1.0}
    same_as_numpy(make, X, y, loss=loss, fit_intercept=True, **sparsity, **size)


def test_single_precision_weights_and_standardized_columns(make: Maker) -> None:
    X, y = sample()
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    options = {"k": 3, "ridge": 0.1, "fit_intercept": True, "standardize": True}
    same_as_numpy(make, X.astype(np.float32), y, sample_weight=weights, **options)


def test_matrix_reads(make: Maker) -> None:
    X, y = sample()
    theirs, ours = DeviceMatrix(make(X)), DenseMatrix(X)
    np.testing.assert_allclose(theirs.scores(y), ours.scores(y), rtol=1e-12)
    np.testing.assert_allclose(theirs.norms, ours.norms, rtol=1e-12)
    np.testing.assert_array_equal(theirs.columns(np.array([3, 1])), X[:, [3, 1]])
    shares = np.full(60, 1 / 60)
    for got, expected in zip(theirs.moments(shares), ours.moments(shares), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert theirs.passes == 4 + 2 / 40  # scores, norms, columns, and two for moments


def test_bounds_agree(make: Maker) -> None:
    X, y = sample()
    a = y / 60
    there = dual_point(Program(make(X), make(y), k=3, ridge=0.1), a)
    here = dual_point(Program(X, y, k=3, ridge=0.1), a)
    assert np.all(np.abs(there.scores - here.scores) <= there.radius + here.radius)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 5000), (2500, 1), (2500, 2), (3000, 4), (1025, 33), (64, 64)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_in_every_layout(make: Maker, dtype: Any, shape: tuple[int, int], order: str) -> None:
    """Sums over rows within the rounding radius, checksums to the bit, in any memory order."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape).astype(dtype)
    X[rng.random(shape) < 0.2] = -0.0
    a = rng.normal(size=shape[0])
    theirs = make(X)
    if order == "F":
        theirs = make(np.ascontiguousarray(X.T)).T
    if order == "strided":
        theirs = make(np.repeat(np.repeat(X, 2, axis=0), 3, axis=1))[::2, ::3]
    there, here = DeviceMatrix(theirs), DenseMatrix(X)
    exact = X.astype(np.longdouble).T @ a.astype(np.longdouble)
    assert np.all(np.abs(there.scores(a) - exact) <= there.score_radius(a))
    assert np.all(there.norms >= np.sqrt(np.sum(X.astype(np.longdouble) ** 2, axis=0)))
    np.testing.assert_allclose(there.norms, here.norms, rtol=1e-11)
    assert np.array_equal(there.signature, here.signature)
    few = rng.normal(size=(shape[1], 2))
    np.testing.assert_allclose(there.combine(few), here.combine(few), rtol=1e-9, atol=1e-12)
    few = rng.normal(size=(shape[0], 2))
    np.testing.assert_allclose(there.project(few), here.project(few), rtol=1e-9, atol=1e-12)
    shares = np.full(shape[0], 1.0 / shape[0])
    for got, expected in zip(there.moments(shares), here.moments(shares), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-14)


def test_wrong_arrays_are_refused(make: Maker) -> None:
    y = np.zeros(3)
    with pytest.raises(ValueError, match="two dimensions"):
        Program(make(np.zeros(3)), y, k=1, ridge=1.0)
    with pytest.raises(TypeError, match="real numbers"):
        Program(make(np.zeros((3, 2), dtype=complex)), y, k=1, ridge=1.0)
    with pytest.raises(ValueError, match="NaN in column 1"):
        Program(make(np.array([[1.0, np.nan]] * 3)), y, k=1, ridge=1.0)
    # Integers are numbers too.
    assert Program(make(np.arange(6).reshape(3, 2)), y, k=1, ridge=1.0).m == 2


def test_sparse_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    with pytest.raises(TypeError, match=r"X is a sparse Tensor, .* pass X.to_dense\(\)"):
        Program(torch.eye(3).to_sparse(), np.zeros(3), k=1, ridge=1.0)


def test_arrays_that_cannot_be_written_to_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsebounds.matrices.tables.is_jax_array", lambda _: True)
    with pytest.raises(TypeError, match=r"JAX array, .* torch.from_dlpack\(X\)"):
        Program(array_api_strict.asarray(np.zeros((3, 2))), np.zeros(3), k=1, ridge=1.0)


def test_a_device_without_float64_is_refused() -> None:
    """As Apple's is: it would compute in float32, and prove nothing."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    X = torch.zeros((3, 2), dtype=torch.float32)
    zeros = torch.zeros

    def single(*args: Any, dtype: Any = None, **options: Any) -> Any:
        return zeros(*args, dtype=torch.float32 if dtype == torch.float64 else dtype, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("array_api_compat.torch.zeros", single)
        with pytest.raises(ValueError, match="no float64"):
            Program(X, np.zeros(3), k=1, ridge=1.0)


@pytest.mark.parametrize("loss", ["cauchy", "amplitude"])
def test_losses_of_numpy_alone_are_computed_on_the_host(make: Maker, loss: str) -> None:
    X, y = (part[:12] for part in sample())
    X = X[:, :4]
    y = {"cauchy": y, "amplitude": np.abs(y)}[loss]
    options: dict[str, Any] = {"loss": loss, "k": 2, "ball": 4.0}
    host = Program(X, y, **options)
    found, expected = solve_program(host.with_matrix(DeviceMatrix(make(X)))), solve_program(host)
    assert found.lower == pytest.approx(expected.lower, rel=1e-6, abs=1e-9)
    assert found.upper == pytest.approx(expected.upper, rel=1e-9)
