"""Estimators on arrays that are not NumPy's: the same models, computed where X lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sparsebounds as sb
from sparsebounds._support.array import to_numpy
from sparsebounds._support.errors import InputError
from sparsebounds.datasets import make_correlated
from sparsebounds.matrices import as_matrix

DATA = make_correlated(60, 12, nonzeros=3, random_state=0)
X, Y = DATA.X, DATA.y
CLASSES = np.digitize(Y, np.quantile(Y, [0.33, 0.66]))
WEIGHTS = np.where(np.arange(60) % 7, 1.0, 0.0)

Make = Callable[[Any, Path], Any]


def torch_tensor(array: Any, _: Path) -> Any:
    torch = pytest.importorskip("torch", reason="torch, the extra `gpu`, is not installed")
    return torch.as_tensor(np.array(array))


def cuda_tensor(array: Any, _: Path) -> Any:
    torch = pytest.importorskip("torch", reason="torch, the extra `gpu`, is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return torch.as_tensor(np.array(array), device="cuda")


def cupy_array(array: Any, _: Path) -> Any:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    return cupy.asarray(np.array(array))


def strict_array(array: Any, _: Path) -> Any:
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    return xp.asarray(np.array(array))


def dask_rows(array: Any, _: Path) -> Any:
    da = pytest.importorskip("dask.array", reason="dask, the extra `dask`, is not installed")
    return da.from_array(np.array(array), chunks=(17, -1)[: np.ndim(array)])


def dask_columns(array: Any, _: Path) -> Any:
    da = pytest.importorskip("dask.array", reason="dask, the extra `dask`, is not installed")
    return da.from_array(np.array(array), chunks=(-1, 5)[: np.ndim(array)])


def zarr_array(array: Any, folder: Path) -> Any:
    zarr = pytest.importorskip("zarr", reason="zarr, the extra `zarr`, is not installed")
    place = folder / f"{len(list(folder.iterdir()))}.zarr"
    made = zarr.create_array(store=str(place), shape=array.shape, dtype=array.dtype, chunks="auto")
    made[...] = np.array(array)
    return made


def memmap(array: Any, folder: Path) -> Any:
    place = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(place, array)
    return np.load(place, mmap_mode="r")


def matrix(array: Any, _: Path) -> Any:
    return as_matrix(array)[0] if np.ndim(array) == 2 else array


IN_MEMORY: dict[str, Make] = {
    "torch": torch_tensor,
    "cuda": cuda_tensor,
    "cupy": cupy_array,
    "strict": strict_array,
}
LAZY: dict[str, Make] = {"dask rows": dask_rows, "dask columns": dask_columns}
STORED: dict[str, Make] = {"zarr": zarr_array, "memmap": memmap, "matrix": matrix}
KINDS = IN_MEMORY | LAZY | STORED

ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "regressor": (sb.SparseRegressor(k=3), Y),
    "plain": (sb.SparseRegressor(k=3, standardize=False, fit_intercept=False), Y),
    "prices": (sb.SparseRegressor(l0=0.05, ball=2.0), Y),
    "poisson": (sb.SparseRegressor(k=2, loss="poisson"), np.floor(np.exp(0.3 * Y))),
    "two classes": (sb.SparseClassifier(k=3), CLASSES > 0),
    "three classes": (sb.SparseClassifier(k=2, class_weight="balanced"), CLASSES),
    "bic": (sb.SparseRegressorCV(ks=[1, 2, 3], criterion="bic", ridges=["auto", 0.1]), Y),
}
FOLDS: dict[str, tuple[Any, Any]] = {
    "folds": (sb.SparseRegressorCV(ks=[1, 3], ridges=["auto", 0.1], cv=2), Y),
    "folds of classes": (sb.SparseClassifierCV(ks=[1, 2], cv=2), CLASSES > 0),
}
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


def methods(model: Any) -> list[str]:
    return [name for name in METHODS if hasattr(model, name)]


@cache
def in_numpy(name: str) -> Any:
    estimator, y = (ESTIMATORS | FOLDS)[name]
    return clone(estimator).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_model(name: str, kind: str, tmp_path: Path) -> None:
    estimator, y = ESTIMATORS[name]
    there = KINDS[kind](X, tmp_path)
    ours = clone(estimator).fit(there, KINDS[kind](y, tmp_path))
    theirs = in_numpy(name)
    assert ours.n_features_in_ == 12
    assert not hasattr(ours, "feature_names_in_")
    for attribute in ("coef_", "intercept_", "upper_", "lower_", "ridge_"):
        value = getattr(ours, attribute)
        assert value is None or isinstance(value, (np.ndarray, float))
        if value is not None:
            np.testing.assert_allclose(value, getattr(theirs, attribute), rtol=1e-9, atol=1e-9)
    for method in methods(theirs):
        found, expected = getattr(ours, method)(there), getattr(theirs, method)(X)
        assert isinstance(found, np.ndarray) or kind in LAZY
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-8, atol=1e-8)
        assert found.dtype == expected.dtype
    assert ours.score(there, KINDS[kind](y, tmp_path)) == pytest.approx(theirs.score(X, y))


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_verify_where_the_data_are(kind: str, tmp_path: Path) -> None:
    there, y = KINDS[kind](X, tmp_path), KINDS[kind](Y, tmp_path)
    model = sb.SparseRegressor(k=3).fit(there, y)
    assert model.certificate_.verify(there, y).ok
    assert model.certificate_.verify(X, Y).ok


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_0_are_left_out(kind: str, tmp_path: Path) -> None:
    there, weights = KINDS[kind](X, tmp_path), KINDS[kind](WEIGHTS, tmp_path)
    ours = sb.SparseRegressor(k=3).fit(there, Y, sample_weight=weights)
    theirs = sb.SparseRegressor(k=3).fit(X[WEIGHTS > 0], Y[WEIGHTS > 0])
    # An objective to 1e-14 of itself is one of coefficients to 1e-7.
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_kept_in_their_library(kind: str, tmp_path: Path) -> None:
    there = KINDS[kind](X, tmp_path)
    selector = sb.SparseSelector(k=3).fit(there, KINDS[kind](Y, tmp_path))
    kept = selector.transform(there)
    np.testing.assert_array_equal(np.asarray(kept), X[:, selector.support_])
    assert isinstance(kept, np.ndarray) or kind in LAZY
    if kind in IN_MEMORY:
        with config_context(array_api_dispatch=True):
            same = selector.transform(there)
        assert type(same) is type(there)
        np.testing.assert_array_equal(to_numpy(same), np.asarray(kept))


@pytest.mark.parametrize("kind", IN_MEMORY)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_dispatch_asks_for_the_arrays_of_x(name: str, kind: str, tmp_path: Path) -> None:
    estimator, y = ESTIMATORS[name]
    there = KINDS[kind](X, tmp_path)
    model = clone(estimator).fit(there, y)
    with config_context(array_api_dispatch=True):
        again = clone(estimator).fit(there, KINDS[kind](y, tmp_path))
        assert isinstance(again.coef_, np.ndarray)
        for method in methods(model):
            found = getattr(model, method)(there)
            assert type(found) is type(there)
            assert found.shape[0] == 60
    for method in methods(model):
        with config_context(array_api_dispatch=True):
            found = to_numpy(getattr(again, method)(there))
        np.testing.assert_allclose(found, getattr(model, method)(there), rtol=1e-9, atol=1e-12)


def test_words_stay_words(tmp_path: Path) -> None:
    words = np.array(["low", "mid", "high"])[CLASSES]
    there = torch_tensor(X, tmp_path)
    model = sb.SparseClassifier(k=2).fit(there, words)
    with config_context(array_api_dispatch=True):
        found = model.predict(there)
    assert isinstance(found, np.ndarray)
    assert set(found) <= set(words)


@pytest.mark.parametrize("kind", LAZY)
def test_dask_predictions_are_lazy(kind: str, tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array", reason="dask, the extra `dask`, is not installed")
    model = sb.SparseClassifier(k=2).fit(X, CLASSES)
    there, calls = KINDS[kind](X, tmp_path), []

    def watched(block: Any) -> Any:
        if block.shape[0]:
            calls.append(block.shape)
        return block

    there = there.map_blocks(watched, dtype=float, meta=np.zeros((0, 0)))
    for method in methods(model):
        lazy = getattr(model, method)(there)
        assert isinstance(lazy, da.Array)
        assert not calls
        assert lazy.shape == getattr(model, method)(X).shape
    np.testing.assert_array_equal(model.predict(there).compute(), model.predict(X))
    assert calls


@pytest.mark.parametrize("kind", [*IN_MEMORY, *LAZY, "memmap"])
@pytest.mark.parametrize("name", ["folds", "folds of classes"])
def test_folds_are_cut_in_the_library(name: str, kind: str, tmp_path: Path) -> None:
    there = KINDS[kind](X, tmp_path)
    estimator, y = FOLDS[name]
    ours, theirs = clone(estimator).fit(there, y), in_numpy(name)
    assert (ours.best_k_, ours.ridge_) == (theirs.best_k_, pytest.approx(theirs.ridge_))
    for name in theirs.cv_results_:
        np.testing.assert_allclose(
            ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-8, atol=1e-8
        )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    if kind in IN_MEMORY:
        with config_context(array_api_dispatch=True):
            assert clone(estimator).fit(there, y).best_k_ == theirs.best_k_


@pytest.mark.parametrize("kind", ["zarr", "matrix"])
def test_what_cannot_be_cut_says_so(kind: str, tmp_path: Path) -> None:
    there = KINDS[kind](X, tmp_path)
    with pytest.raises(InputError, match=r"cannot be cut into folds where it lies; choose by"):
        sb.SparseRegressorCV(ks=[1, 2], cv=3).fit(there, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_sentences(kind: str, tmp_path: Path) -> None:
    make = KINDS[kind]
    model = sb.SparseRegressor(k=3).fit(make(X, tmp_path), Y)
    with pytest.raises(ValueError, match="X has 5 features, but SparseRegressor is expecting 12"):
        model.predict(make(X[:, :5], tmp_path))
    with pytest.raises(InputError, match="y has 59 entries, but X has 60 rows"):
        sb.SparseRegressor(k=3).fit(make(X, tmp_path), Y[:59])
    with pytest.raises(InputError, match="1 sample"):
        sb.SparseRegressor(k=3).fit(make(X[:1], tmp_path), Y[:1])
    if kind != "matrix":
        holes = X.copy()
        holes[3, model.solution_.support[0]] = np.nan
        with pytest.raises(InputError, match="X holds NaN"):
            sb.SparseRegressor(k=3).fit(make(holes, tmp_path), Y)
        with pytest.raises(InputError, match="X holds NaN"):
            np.asarray(model.predict(make(holes, tmp_path)))


def test_float32_stays(tmp_path: Path) -> None:
    single = X.astype(np.float32)
    for make in KINDS.values():
        ours = sb.SparseRegressor(k=3).fit(make(single, tmp_path), Y)
        np.testing.assert_allclose(
            ours.coef_, sb.SparseRegressor(k=3).fit(single, Y).coef_, rtol=1e-9
        )


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_predictions_are_computed_where_x_lives(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One number per row comes to the host."""
    from sparsebounds.estimators import _arrays

    sizes: list[int] = []

    def watched(x: Any) -> Any:
        sizes.append(to_numpy(x).size)
        return to_numpy(x)

    there = KINDS[kind](X, tmp_path)
    model = sb.SparseRegressor(k=3).fit(there, Y)
    monkeypatch.setattr(_arrays, "to_numpy", watched)
    model.predict(there)
    assert set(sizes) == {60}


def test_in_a_pipeline(tmp_path: Path) -> None:
    there = dask_rows(X, tmp_path)
    steps = make_pipeline(sb.SparseSelector(k=4), sb.SparseRegressor(k=2))
    found = steps.fit(there, Y).predict(there)
    np.testing.assert_allclose(np.asarray(found), steps.fit(X, Y).predict(X), rtol=1e-8)
