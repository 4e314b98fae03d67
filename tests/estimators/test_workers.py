"""Processes that share a fit: they change the time, and nothing else."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

import joblib
import numpy as np
import pytest
from joblib import parallel_config

import sparsebounds as sb
from sparsebounds._support.threads import one_thread, threads
from sparsebounds.datasets import make_correlated
from sparsebounds.estimators import _lockstep, _workers
from sparsebounds.estimators._workers import Workers
from sparsebounds.models import Unsettled

SAMPLE = make_correlated(90, 15, 0.5, nonzeros=4, snr=10.0, random_state=3)
X, Y = SAMPLE.X, SAMPLE.y
THIRDS = np.array(["low", "middle", "high"])[np.searchsorted([-1.0, 1.0], Y)]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """All work is long enough and waits for the processes; how much was handed over each time."""
    monkeypatch.setattr(_workers, "LONG", -math.inf)
    monkeypatch.setattr(_workers, "START", -math.inf)
    monkeypatch.setattr(_workers, "KEPT", math.inf)
    monkeypatch.setattr(_workers, "GRACE", 60.0)
    monkeypatch.setattr(Workers, "seen", {Workers(jobs)._key: 0.0 for jobs in (2, 50)})
    counts: list[int] = []
    run = Workers.run

    def counted(self: Workers, work: Sequence[Callable[[], Any]]) -> list[Any]:
        counts.append(len(work))
        return run(self, work)

    monkeypatch.setattr(Workers, "run", counted)
    return counts


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch, handed: list[int]) -> list[int]:
    """The same, but this process does it."""
    monkeypatch.setattr(Workers, "_pool", lambda self: Here())
    return handed


class Here:
    """What stands in for other processes: work is done when it is submitted."""

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        """Its result."""
        done: Future[Any] = Future()
        done.set_result(call(*given))
        return done


def same(one: Any, two: Any, rtol: float) -> None:
    """Scores but for rounding, which decides when Newton's steps end; the rest to the last bit."""
    for name, column in one.cv_results_.items():
        np.testing.assert_allclose(two.cv_results_[name], column, rtol=rtol, atol=1e-14)
    assert (one.best_k_, one.ridge_) == (two.best_k_, two.ridge_)
    for name in ("coef_", "intercept_", "lower_", "upper_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_two_processes_find_what_one_does(handed: list[int]) -> None:
    """Folds and ridges; at the end three classes. Solutions have their data again."""
    for kind, y, counts, rtol in (
        (sb.SparseRegressorCV, Y, [2], 1e-12),
        (sb.SparseClassifierCV, THIRDS, [2, 3], 1e-9),
    ):
        one, two = (kind(range(5), cv=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
        same(one, two, rtol)
        assert handed == counts
        handed.clear()
    assert all(solution.program is not None for solution in two.solution_)
    assert two.path_[0].at(two.best_k_).upper == two.upper_[0]


@pytest.mark.parametrize("jobs", [2, 50])
@pytest.mark.parametrize("largest", [X.size, 100_000, _lockstep.LARGEST])
def test_any_number_of_parts_and_jobs_agrees(
    monkeypatch: pytest.MonkeyPatch, inline: list[int], jobs: int, largest: int
) -> None:
    one = sb.SparseClassifierCV(range(4), cv=3, exact=False).fit(X, THIRDS)
    monkeypatch.setattr(_lockstep, "LARGEST", largest)
    two = sb.SparseClassifierCV(range(4), cv=3, exact=False, n_jobs=jobs).fit(X, THIRDS)
    same(one, two, 1e-9)
    count = 3 * 3 * 3  # folds, ridges, classes
    assert inline[0] == count if jobs == 50 or largest == X.size else 2 <= inline[0] < count


def test_a_time_limit_is_shared_in_proportion(
    monkeypatch: pytest.MonkeyPatch, inline: list[int]
) -> None:
    """Of 9 problems with 10 seconds each 5 have 50 seconds, less what they have spent."""
    limits: list[float] = []
    climbed = _lockstep.climbed

    def noted(alike: Any, most: int, begun: Any, limit: float) -> Any:
        limits.append(limit)
        return climbed(alike, most, begun, limit)

    monkeypatch.setattr(_lockstep, "climbed", noted)
    given: dict[str, Any] = {"cv": 3, "time_limit": 10.0, "exact": False}
    same(
        sb.SparseRegressorCV(range(6), **given).fit(X, Y),
        sb.SparseRegressorCV(range(6), n_jobs=2, **given).fit(X, Y),
        1e-12,
    )
    assert len(limits) == 2
    assert limits[0] / limits[1] == pytest.approx(5 / 4)
    assert 80.0 < sum(limits) < 90.0


def test_who_counts_as_a_worker() -> None:
    assert [Workers(jobs).count for jobs in (None, 1, 2)] == [1, 1, 2]
    with parallel_config(n_jobs=3):
        assert Workers(None).count == 3
    # Threads wait for one another, and a job of somebody else's has its core.
    with parallel_config("threading", n_jobs=3):
        assert Workers(2).count == Workers(None).count == 1
    nested = joblib.Parallel(n_jobs=2)(joblib.delayed(count_inside)() for _ in range(2))
    assert nested == [1, 1]
    with pytest.raises(ValueError, match="n_jobs=0 must be a whole number but 0"):
        sb.SparseRegressorCV(range(3), n_jobs=0).fit(X, Y)


def count_inside() -> int:
    """How many workers there are in a job that has two of its own."""
    return Workers(2).count


def test_short_work_stays_here() -> None:
    workers = Workers(2)
    assert workers.through([os.getpid] * 3) == [os.getpid()] * 3
    assert workers._start is None


def test_work_stays_here_until_the_processes_are_ready(
    monkeypatch: pytest.MonkeyPatch, inline: list[int]
) -> None:
    """Nobody waits for a start; what is left then is shared."""
    monkeypatch.setattr(Workers, "seen", {})
    monkeypatch.setattr(_workers, "GRACE", 0.0)
    start: Future[Any] = Future()
    workers = Workers(2)
    workers._start = [start]
    work = [
        partial(pow, 2, 0),
        partial(start.set_result, None),
        *map(partial(partial, pow), (2, 3, 4), (2, 2, 2)),
    ]
    assert workers.through(work) == [1, None, 4, 9, 16]
    assert inline == [3]


def test_a_start_is_known_to_the_next_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the fit that asked for it has ended meanwhile."""
    monkeypatch.setattr(Workers, "seen", {})
    workers, start = Workers(2), Starting()
    monkeypatch.setattr(Workers, "_pool", lambda self: start)
    assert not workers.take(math.inf)
    assert not Workers.seen
    start.future.set_result(None)
    assert Workers.seen
    assert workers.take(math.inf)


def test_processes_start_once_short_fits_come_to_a_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one fit leaves counts once, however often it asks; and all of it."""
    monkeypatch.setattr(Workers, "seen", {})
    monkeypatch.setattr(Workers, "missed", 0.0)
    monkeypatch.setattr(_workers, "GRACE", 0.0)
    monkeypatch.setattr(Workers, "_pool", lambda self: Starting())
    first, second = Workers(2), Workers(2)
    part = 0.6 * _workers.START
    assert not any(first.take(part) for _ in range(5))
    assert not any(Workers(2).take(0.5 * _workers.LONG) for _ in range(1000))
    assert first._start is None
    assert not second.take(part)
    assert second._start is not None
    assert Workers.missed == 0.0
    third = Workers(2)
    assert not any(third.take(part) for part in (1.1 * _workers.LONG, 0.5 * _workers.START))
    assert third._start is None
    assert not third.take(_workers.START)
    assert third._start is not None


def test_processes_of_one_number_are_not_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "seen", {Workers(2)._key: _workers.clock()})
    monkeypatch.setattr(Workers, "missed", 0.0)
    more = Workers(3)
    assert not more.take(2.0 * _workers.LONG)
    assert more._start is None


class Starting:
    """Processes that are not there yet."""

    def __init__(self) -> None:
        self.future: Future[Any] = Future()

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        """What is submitted waits."""
        return self.future


def test_what_goes_wrong_in_a_process_is_said_here() -> None:
    workers = Workers(2)
    with pytest.raises(ZeroDivisionError, match="by zero"):
        workers.run([partial(divmod, 1, 0)] * 2)
    with pytest.raises(Unsettled):
        workers.run([partial(unsettled)] * 2)
    with pytest.raises(
        RuntimeError, match=r"One of the 2 processes .* pass fewer jobs, or n_jobs=1"
    ):
        workers.run([partial(ended, os.getpid())] * 4)
    # The next ones are new.
    assert workers.run([partial(abs, -1)] * 2) == [1, 1]


def ended(owner: int) -> None:
    """Work that ends every process but its owner."""
    if os.getpid() != owner:
        os._exit(1)
    time.sleep(0.5)


def test_processes_that_were_ended_while_idle_are_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = Workers(2)
    monkeypatch.setattr(_workers, "GRACE", 60.0)
    monkeypatch.setattr(_workers, "START", 0.0)
    monkeypatch.setitem(Workers.seen, Workers(2)._key, _workers.clock())
    assert workers.take(1.0)
    with pytest.raises(BrokenProcessPool):
        workers._pool().submit(os._exit, 1).result()
    again = Workers(2)
    assert not again.take(1.0)
    monkeypatch.setitem(Workers.seen, Workers(2)._key, _workers.clock())
    assert again.take(1.0)


def test_processes_that_ended_as_they_started_are_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C in a terminal goes to all of them; the next fit has others, and does not warn."""
    monkeypatch.setattr(_workers, "GRACE", 60.0)
    monkeypatch.setattr(_workers, "START", 0.0)
    with pytest.raises(BrokenProcessPool):
        Workers(2)._pool().submit(os._exit, 1).result()
    monkeypatch.setattr(Workers, "seen", {})
    again = Workers(2)
    assert not again.take(1.0)
    monkeypatch.setitem(Workers.seen, Workers(2)._key, _workers.clock())
    assert again.take(1.0)


def test_fits_in_other_threads_may_ask_for_another_number_of_processes() -> None:
    """Their processes are others, and nobody's work is ended."""
    assert Workers(2)._pool().submit(abs, -1).result() == 1
    with ThreadPoolExecutor(1) as other:
        slow = other.submit(Workers(2).run, [partial(time.sleep, 0.01)] * 40)
        time.sleep(0.05)
        assert Workers(3)._pool() is not Workers(2)._pool()
        assert slow.result() == [None] * 40


def test_a_large_array_is_lent_to_many_and_sent_to_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others read the numbers where they are; the file goes when they are done."""
    monkeypatch.setattr(_workers, "BIG", 1000)
    monkeypatch.setattr(_workers, "MANY", 2)
    array = np.arange(300.0).reshape(3, 100)
    workers = Workers(2)
    with workers.lent(array) as lent:
        found = workers.run([partial(described, os.getpid(), lent)] * 3)
        assert all(np.array_equal(one, array) for one, _ in found)
        assert {"memmap"} <= {kind for _, kind in found} <= {"Lent", "memmap"}
        path = lent.filename  # type: ignore[attr-defined]
        assert os.path.exists(path)
    assert not os.path.exists(path)
    with workers.lent(array[:, :9]) as sent:
        assert type(sent) is np.ndarray


def described(owner: int, array: Any) -> tuple[Any, str]:
    """The numbers, and the kind of array that they came as."""
    if os.getpid() == owner:
        time.sleep(0.3)
    return np.array(array), type(array).__name__


def test_each_process_has_one_thread() -> None:
    """Those that share work, and this one while they do."""
    assert Workers(2).run([partial(counted_threads, 0.2)] * 4) == [1] * 4


def counted_threads(seconds: float) -> int:
    """How many threads a large product may use, in work that takes a while."""
    time.sleep(seconds)
    with one_thread():
        return threads()


def unsettled() -> None:
    """Work that plain steps do not do."""
    raise Unsettled


def test_where_no_process_can_be_started_one_does_it_all(
    monkeypatch: pytest.MonkeyPatch, handed: list[int]
) -> None:
    def refused(*given: Any, **named: Any) -> Any:
        raise OSError("no semaphores here")

    monkeypatch.setattr(Workers, "pools", {})
    monkeypatch.setattr(_workers, "ProcessPoolExecutor", refused)
    one = sb.SparseRegressorCV(range(5), cv=3).fit(X, Y)
    with pytest.warns(RuntimeWarning, match="no process could be started .no semaphores here."):
        two = sb.SparseRegressorCV(range(5), cv=3, n_jobs=2).fit(X, Y)
    same(one, two, 1e-12)
    assert not handed
