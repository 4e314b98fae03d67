"""What costs a pass where a few columns do: non-convex losses, ranks, an SVD."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import enclosed
from sparsebounds.losses import NONCONVEX
from sparsebounds.matrices import Matrix
from sparsebounds.matrices.dask import DaskMatrix
from sparsebounds.matrices.storage import MappedStorage
from sparsebounds.matrices.stored import StoredMatrix
from sparsebounds.primalization.rank import rank_of_columns
from sparsebounds.program import Program


def mapped(X: np.ndarray, columns: int, folder: Path, order: Any = "C") -> Matrix:
    np.save(folder / "X.npy", np.asarray(X, order=order))
    memory = 2 * 8 * len(X) * columns
    return StoredMatrix(MappedStorage(np.load(folder / "X.npy", mmap_mode="r")), memory)


def chunked(X: np.ndarray, columns: int, _: Path) -> Matrix:
    return DaskMatrix(da.from_array(X, chunks=(10, X.shape[1])), cache=8 * len(X) * columns)


def tiled(X: np.ndarray, columns: int, _: Path) -> Matrix:
    return DaskMatrix(da.from_array(X, chunks=(17, 9)), cache=8 * len(X) * columns)


Kind = Callable[[np.ndarray, int, Path], Matrix]
ROWS: dict[str, Kind] = {"dask": chunked, "memmap": mapped}
KINDS: dict[str, Kind] = {
    **ROWS,
    "tiles": tiled,
    "memmap F": lambda X, columns, folder: mapped(X, columns, folder, "F"),
}


def problem(loss: str, n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    y = X[:, [1, 4, 7]] @ [2.0, -2.0, 1.5] + 0.2 * rng.normal(size=n)
    y[: n // 5] += 20.0
    if NONCONVEX[loss].two_class:
        y = np.where(y > np.median(y), 1.0, -1.0)
    return X, np.abs(y) if loss in {"amplitude", "quartic"} else y


@pytest.mark.parametrize(("kind", "columns"), [("dask", 60), ("memmap", 240)])
def test_a_non_convex_solution_takes_few_passes(kind: str, columns: int, tmp_path: Path) -> None:
    """On 60 x 300, whose pool of models is about 160 columns."""
    X, y = problem("tukey", 60, 300)
    options: dict[str, Any] = {"k": 3, "ridge": 0.05, "fit_intercept": True, "loss": "tukey"}
    matrix = ROWS[kind](X, columns, tmp_path)
    found, expected = sb.solve(matrix, y, **options), sb.solve(X, y, **options)
    assert len(found.stats.tightening) > 1
    assert found.lower == pytest.approx(expected.lower, rel=1e-9)
    assert found.upper == pytest.approx(expected.upper, rel=1e-9)
    assert matrix.passes < 60
    before, boxes = matrix.passes, len(found.certificate.boxes)
    assert found.certificate.verify(matrix, y).ok
    # One for each box and the first, one for their scores, one for each dual vector, the model.
    assert matrix.passes - before <= boxes + len(found.certificate.duals) + 3 + 1e-9


# Every kind of storage, every form, and losses of every kind.
CASES = (
    ("dask", "tukey", 0),
    ("tiles", "tukey", 3),
    ("memmap", "ramp", 1),
    ("memmap F", "amplitude", 2),
)


def in_memory(loss: str, form: int) -> tuple[Any, ...]:
    X, y = problem(loss, 26, 20, form)
    options: dict[str, Any] = ({"k": 2}, {"l0": 0.05})[form % 2] | (
        {"ridge": 0.3} if form < 2 else {"ball": 2.0}
    )
    options |= {"loss": loss, "fit_intercept": NONCONVEX[loss].intercept, "always": [3]}
    options["standardize"] = form in (0, 3)
    program = Program(X, y, **options)
    return X, y, options, enclosed(program).box, sb.relax(program), sb.solve(X, y, **options)


@pytest.mark.parametrize(("kind", "loss", "form"), CASES)
def test_non_convex_bounds_are_those_in_memory(
    kind: str, loss: str, form: int, tmp_path: Path
) -> None:
    X, y, options, box, relaxed, expected = in_memory(loss, form)
    program = Program(KINDS[kind](X, 5, tmp_path), y, **options)
    ours = enclosed(program).box
    assert ours is not None
    np.testing.assert_allclose(ours.low, box.low, rtol=1e-13)
    np.testing.assert_allclose(ours.high, box.high, rtol=1e-13)
    # With a whole number of features, `lower` may exceed this, by the root of what is left.
    assert sb.relax(program).dual_value == pytest.approx(relaxed.dual_value, rel=1e-9, abs=1e-9)
    found = sb.solve(KINDS[kind](X, 5, tmp_path), y, **options)
    assert found.lower == pytest.approx(expected.lower, rel=1e-9, abs=1e-9)
    assert found.upper == pytest.approx(expected.upper, rel=1e-9, abs=1e-9)
    # Attained models are above what the other proves.
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    assert found.certificate.verify(X, y).ok
    assert expected.certificate.verify(KINDS[kind](X, 5, tmp_path), y).ok


def test_rows_whose_responses_are_all_zero(tmp_path: Path) -> None:
    """Losses without a surrogate weigh rows by their responses: some blocks have no weight."""
    X, y = problem("amplitude", 40, 30)
    y[:20] = 0.0
    for data in (y, np.zeros(40)):
        found, expected = (
            sb.solve(matrix, data, k=2, ridge=0.1, loss="amplitude")
            for matrix in (chunked(X, 10, tmp_path), X)
        )
        assert found.lower == pytest.approx(expected.lower, rel=1e-9, abs=1e-9)
        assert found.upper == pytest.approx(expected.upper, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("rank", [1, 7, 30])
def test_ranks(kind: str, fit_intercept: bool, rank: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(rank)
    n, m = 40, 700
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    X[:, :200] = X[:, :1]  # as many alike as a block may have
    X = (X + (5.0 if fit_intercept else 0.0)) * 10.0 ** rng.uniform(-3, 3, size=m)
    X[:, 300] = 0.0
    y, weight = np.arange(n) % 2.0, rng.uniform(0.1, 10.0, size=n)
    matrix = KINDS[kind](X, 150, tmp_path)
    program = Program(matrix, y, k=1, ridge=1.0, fit_intercept=fit_intercept, sample_weight=weight)
    before = matrix.passes
    found = rank_of_columns(program)
    assert (found.value, found.known) == (rank, True)
    # A block, lengths, means, products and distances.
    assert matrix.passes - before <= 5.0 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_rank_takes_a_pass(kind: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 300))
    matrix = KINDS[kind](X, 150, tmp_path)
    program = Program(matrix, np.arange(40.0), k=1, ridge=1.0)
    before = matrix.passes
    assert rank_of_columns(program).value == 40
    assert matrix.passes - before <= 1.0 + 1e-9


def test_a_rank_that_hides_in_one_column(tmp_path: Path) -> None:
    """What a block from all over misses is found in the columns left."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 700))
    X[:, 333] += 1e-6 * rng.normal(size=40)
    X[:, 555] = 1e-9 * rng.normal(size=40)
    for kind in KINDS.values():
        program = Program(kind(X, 150, tmp_path), np.arange(40.0), k=1, ridge=1.0)
        assert rank_of_columns(program).value == 5


@pytest.mark.parametrize("kind", ROWS)
def test_work_has_a_limit(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 50)) @ rng.normal(size=(50, 700))
    program = Program(ROWS[kind](X, 20, tmp_path), np.arange(60.0), k=1, ridge=1.0)
    found = rank_of_columns(program, work=1e4)
    assert (found.value, found.known) == (60, False)


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)])
@pytest.mark.parametrize("kind", ROWS)
def test_an_svd_that_memory_does_not_hold_is_refused(
    kind: str, shape: tuple[int, int], tmp_path: Path
) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    y = X[:, 0]
    narrow, wide = (Program(ROWS[kind](X, c, tmp_path), y, k=1, ridge=1.0) for c in (15, 100))
    with pytest.raises(ValueError, match="pass method='randomized'"):
        sb.rank_bounds(narrow, [1], method="svd")
    expected = sb.rank_bounds(Program(X, y, k=1, ridge=1.0), [1], method="svd")
    found = sb.rank_bounds(wide, [1], method="svd")
    assert found.rows[0].lower == pytest.approx(expected.rows[0].lower, rel=1e-9)
