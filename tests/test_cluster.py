"""A Dask cluster of two worker processes: the answers of NumPy, also when a worker is lost."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import dask
import dask.array as da
import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds.losses import REGISTRY
from sparsebounds.matrices import as_matrix
from sparsebounds.matrices.dask import DaskMatrix
from sparsebounds.matrices.progress import PassProgress, heard_by
from sparsebounds.program import Form, Program
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

distributed = pytest.importorskip("distributed")

# One pytest process has the cluster.
pytestmark = pytest.mark.xdist_group("cluster")

RELEASE = tuple(map(int, distributed.__version__.split(".")[:2]))
FORMS = get_args(Form)
LOSSES = ("squared", "logistic", "huber", "poisson", "squared_hinge")
QUIET = {
    "distributed.admin.tick.limit": "1h",
    "distributed.comm.timeouts.connect": "30s",
    "distributed.worker.profile.enabled": False,
}


LONGEST = 60
"""Seconds after which a test has hung."""


@contextmanager
def cluster() -> Iterator[Any]:
    with (
        dask.config.set(QUIET),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            memory_limit=0,
        ) as local,
        distributed.Client(local, set_as_default=False, timeout="30s") as client,
    ):
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture(scope="session")
def shared() -> Iterator[Any]:
    with cluster() as client:
        yield client


@pytest.fixture
def current(shared: Any) -> Iterator[Any]:
    """The cluster of all tests that leave its workers alone, in use."""
    with shared.as_current(), dask.config.set(scheduler=shared):
        yield shared


@pytest.fixture
def mortal() -> Iterator[Any]:
    """A cluster of one's own."""
    if RELEASE < (2026, 8):
        pytest.skip("distributed before 2026.8 does not close a cluster that has lost a worker")
    with cluster() as client, client.as_current(), dask.config.set(scheduler=client):
        yield client


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """A hang is a failure."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"The test has not ended within {LONGEST} seconds.")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def chunked(X: np.ndarray, by: str) -> Any:
    n, m = X.shape
    sizes = {"rows": (-(-n // 3), m), "columns": (n, -(-m // 3)), "tiles": (-(-n // 2), -(-m // 2))}
    return da.from_array(X, chunks=sizes[by])


def posed(seed: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(12, 40)), int(rng.integers(6, 30))))
    y = X[:, 0] - X[:, 1] + rng.normal(size=len(X))
    if REGISTRY[loss].two_class:
        y = np.where(y > 0, 1.0, -1.0)
    return X, np.abs(np.round(y)) if loss == "poisson" else y


CASES = [
    (seed, FORMS[seed % 4], LOSSES[seed % 5], ("rows", "columns")[seed // 4 % 2])
    for seed in range(20)
]


@pytest.mark.parametrize("group", range(5))
def test_bounds_are_those_of_numpy(current: Any, group: int) -> None:
    """Every form with each of five losses, both ways to cut."""
    for seed, form, loss, by in CASES[group::5]:
        X, y = posed(seed, loss)
        options: dict[str, Any] = {"k": 3} if form.startswith("k") else {"l0": 0.02}
        options |= {"ridge": 0.1} if form.endswith("ridge") else {"ball": 1.0}
        options |= {"loss": loss, "fit_intercept": seed % 3 == 0}
        found, expected = sb.solve(chunked(X, by), y, **options), sb.solve(X, y, **options)
        assert found.lower == pytest.approx(expected.lower, rel=1e-9)
        assert found.upper == pytest.approx(expected.upper, rel=1e-9)
        if seed % 7 == 0:
            there, here = (Program(each, y, **options) for each in (chunked(X, by), X))
            one, other = sb.relax(there), sb.relax(here)
            assert one.value == pytest.approx(other.value, rel=1e-9)
            assert one.lower == pytest.approx(other.lower, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_bounds_hold_against_brute_force(current: Any, form: Form) -> None:
    for seed in range(3):
        here = random_program(seed, form=form, fit_intercept=bool(seed % 2))
        X = here.matrix.columns(np.arange(here.m))
        there = Program(
            chunked(X, "tiles"),
            here.y,
            k=here.k,
            l0=here.l0,
            ridge=here.ridge,
            ball=here.ball,
            fit_intercept=here.fit_intercept,
            sample_weight=here.weights,
            offset=here.offset,
            positive=here.positive,
            always=np.flatnonzero(here.always),
            never=np.flatnonzero(here.never),
        )
        best = brute_force(there.with_matrix(as_matrix(X)[0])).value
        found = solve_program(there)
        slack = 1e-9 * max(abs(best), there.null)
        assert found.lower <= best + slack
        assert found.upper >= best - slack


def test_certificates_are_checked_on_either_side(current: Any, tmp_path: Path) -> None:
    X, y = posed(1, "squared")
    lazy = chunked(X, "rows")
    found = sb.solve(lazy, y, k=3, ridge=0.1)
    file = tmp_path / "proof.json"
    found.certificate.save(file)
    certificate = sb.Certificate.load(file)
    for data in (lazy, X, chunked(X, "columns")):
        assert certificate.verify(data, y)
    assert not certificate.verify(chunked(X + 1e-3, "rows"), y)


def test_stored_chunks(current: Any, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    X, y = posed(2, "squared")
    stored = zarr.open(
        str(tmp_path / "X.zarr"), mode="w", shape=X.shape, chunks=(10, 7), dtype="f4"
    )
    stored[:] = X
    found = sb.solve(da.from_zarr(str(tmp_path / "X.zarr")), y, k=3, ridge=0.1)
    expected = sb.solve(X.astype(np.float32), y, k=3, ridge=0.1)
    assert found.lower == pytest.approx(expected.lower, rel=1e-9)
    assert found.upper == pytest.approx(expected.upper, rel=1e-9)


def slow(X: np.ndarray, seconds: float) -> Any:
    """X in rows, each of which takes a while to come; workers make it themselves."""

    def row(block: np.ndarray) -> np.ndarray:
        time.sleep(seconds)
        return block

    return da.from_array(X, chunks=(1, X.shape[1])).map_blocks(row, dtype=X.dtype, meta=X[:0])


def worker_process(client: Any) -> int:
    """The process of one of the workers."""
    return int(next(iter(client.run(os.getpid).values())))


class Killer:
    """Kills a worker process once so many blocks are finished."""

    def __init__(self, client: Any, blocks: int) -> None:
        self.left, self.killed = blocks, False
        self.pid = worker_process(client)

    def __call__(self, now: PassProgress) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(self.pid, signal.SIGKILL)
            self.killed = True


@pytest.mark.parametrize("scattered", [False, True])
def test_a_worker_lost_in_the_middle_of_a_pass(
    mortal: Any, scattered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers, to the last bit: also where the plan was on the worker that is lost."""
    X, y = posed(0, "squared")
    with dask.config.set(scheduler="synchronous"):
        expected = DaskMatrix(slow(X, 0.0)).scores(y)
    if scattered:
        monkeypatch.setattr("sparsebounds.matrices.dask.GRAPH", 0)
    there = DaskMatrix(slow(X, 0.05))
    killer = Killer(mortal, 4)
    with heard_by(killer):
        assert np.array_equal(there.scores(y), expected)
    assert killer.killed
    np.testing.assert_allclose(expected, X.T @ y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("blocks", [5, 60] if LONG else [60])
def test_a_worker_lost_in_the_middle_of_a_solution(mortal: Any, blocks: int) -> None:
    X, y = posed(0, "squared")
    program = Program(slow(X, 0.01), y, k=3, ridge=0.1)
    assert isinstance(program.matrix, DaskMatrix)
    killer = Killer(mortal, blocks)
    with heard_by(killer):
        found = solve_program(program)
    expected = sb.solve(X, y, k=3, ridge=0.1)
    assert killer.killed
    assert found.lower == pytest.approx(expected.lower, rel=1e-9)
    assert found.upper == pytest.approx(expected.upper, rel=1e-9)
    assert np.array_equal(found.support, expected.support)


def test_persisted_chunks_are_made_again(mortal: Any) -> None:
    X, y = posed(0, "squared")
    there = DaskMatrix(slow(X, 0.0).persist())
    expected = there.scores(y)
    os.kill(worker_process(mortal), signal.SIGKILL)
    assert np.array_equal(there.scores(y), expected)


def test_scattered_chunks_are_gone_with_their_worker(mortal: Any) -> None:
    X, y = posed(0, "squared")
    parts = [dask.delayed(mortal.scatter(row[None], hash=False)) for row in X]
    rows = [da.from_delayed(part, (1, X.shape[1]), dtype=X.dtype) for part in parts]
    there = DaskMatrix(da.concatenate(rows))
    np.testing.assert_allclose(there.scores(y), X.T @ y, rtol=1e-12, atol=1e-12)
    os.kill(worker_process(mortal), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="load it again"):
        there.scores(y)


def test_rank_bounds(current: Any) -> None:
    X, y = posed(4, "squared")
    found = sb.rank_bounds(Program(chunked(X, "rows"), y, k=2, ridge=0.1), [3])
    expected = sb.rank_bounds(Program(X, y, k=2, ridge=0.1), [3], method="randomized")
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert one.lower == pytest.approx(other.lower, rel=1e-6)
        assert one.explained == pytest.approx(other.explained, rel=1e-9)
