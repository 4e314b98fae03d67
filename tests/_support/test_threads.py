"""One thread of BLAS inside, the user's number outside; large products use no more than that."""

from __future__ import annotations

import multiprocessing
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import joblib
import numpy as np
import pytest
import threadpoolctl

import sparsebounds as sb
from sparsebounds._support import threads
from sparsebounds._support.threads import one_thread, spread

ALLOWED = 3
CORES = threads._cores.__wrapped__
"""As it is without the fixture."""

PROBLEM: dict[str, Any] = {"k": 2, "ridge": 0.1}


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """BLAS may use three threads, on a machine of eight processors, however the tests are run."""
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    monkeypatch.setattr(threads, "_pool", cache(threads._pool.__wrapped__))
    with one_thread():  # loads all that there is to limit
        pass
    before = {library: library.get_num_threads() for library in threads._libraries()}
    for library in before:
        threads._set(library, ALLOWED)
    yield
    for library, count in before.items():
        threads._set(library, count)
    assert not threads._inside


def numbers() -> set[int]:
    """The threads that the BLAS libraries may use now."""
    return {library.get_num_threads() for library in threads._libraries()}


class Watching(sb.losses.Squared):
    """The squared loss, which keeps how many threads there were."""

    seen: ClassVar[set[int]] = set()

    def value(self, y: Any, z: Any) -> Any:
        self.seen.update(numbers())
        return super().value(y, z)

    def conjugate(self, y: Any, b: Any) -> Any:
        self.seen.update(numbers())
        return super().conjugate(y, b)


def small() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 8))
    return X, X[:, 0] + 0.3 * rng.normal(size=30)


def public_calls() -> dict[str, Callable[[], Any]]:
    (X, y), loss = small(), Watching()
    program = sb.Program(X, y, loss=loss, **PROBLEM)
    relaxed, solution = sb.relax(program), sb.solve(X, y, loss=loss, **PROBLEM)
    return {
        "relax": lambda: sb.relax(program),
        "solve": lambda: sb.solve(X, y, loss=loss, exact=True, **PROBLEM),
        "path": lambda: sb.path(X, y, loss=loss, ks=[1, 2], ridge=0.1),
        "certify": lambda: sb.certify(program, solution.coef),
        "near_optimal": lambda: sb.near_optimal(program, 0.01),
        "rank_bounds": lambda: sb.rank_bounds(program, [2]),
        "primalize": lambda: sb.primalize(program, relaxed),
        "gap_bounds": lambda: sb.gap_bounds(program, relaxed),
        "screen": lambda: sb.screen(program, relaxed.dual, solution.upper),
        "lower_bound": lambda: sb.lower_bound(program, relaxed.dual),
        "verify": lambda: solution.certificate.verify(X, y, loss=loss),
        "estimator": lambda: sb.SparseRegressor(loss=loss, **PROBLEM).fit(X, y),
    }


def test_small_work_has_one_thread_and_gives_the_others_back() -> None:
    found = threadpoolctl.threadpool_info()
    # Other libraries of this process may have brought a BLAS that nobody here calls.
    own = [one for one in found if re.search("numpy|scipy", one["filepath"])]
    assert {one["num_threads"] for one in own if one["user_api"] == "blas"} == numbers()
    assert len(numbers()) == 1  # NumPy's and SciPy's
    for name, call in public_calls().items():
        Watching.seen.clear()
        call()
        assert Watching.seen == {1}, name
        assert numbers() == {ALLOWED}, name


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_number_is_given_back_after_an_error(error: type[BaseException]) -> None:
    def refuse(progress: Any) -> None:
        assert numbers() == {1}
        raise error

    X, y = small()
    with pytest.raises(RuntimeError) if error is RuntimeError else one_thread():
        sb.solve(X, y, callback=refuse, **PROBLEM)  # it returns what it has after an interrupt
    assert numbers() == {ALLOWED}
    with pytest.raises(error), one_thread():
        raise error
    assert numbers() == {ALLOWED}


def test_an_interrupt_while_the_number_is_set_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    true, calls = threads._set, []

    def interrupted(library: Any, count: int) -> None:
        true(library, count)
        calls.append(count)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_set", interrupted)
    with pytest.raises(KeyboardInterrupt), one_thread():
        pass
    assert calls[0] == 1
    assert numbers() == {ALLOWED}


def test_a_generator_that_is_given_up_gives_the_number_back() -> None:
    def steps() -> Iterator[int]:
        with one_thread():
            yield from range(3)

    running = steps()
    next(running)
    assert numbers() == {1}
    del running
    assert numbers() == {ALLOWED}


def test_users_limits_are_never_raised() -> None:
    for limit in (1, 2):
        with threadpoolctl.threadpool_limits(limit, user_api="blas"):
            with one_thread():
                assert (numbers(), threads.threads()) == ({1}, limit)
                with one_thread():
                    assert threads.threads() == limit
            assert numbers() == {limit}
    assert threads.threads() == 1  # outside, BLAS does what it does


@pytest.mark.parametrize("first_out", ["first", "second"])
def test_two_threads_at_once(first_out: str) -> None:
    """Whichever leaves last gives the number back; together they have a thread each."""
    entered, leave = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]
    counts: list[int] = []

    def inside(i: int) -> None:
        with one_thread():
            entered[i].set()
            leave[i].wait(10)
            counts.append(threads.threads())

    both = [threading.Thread(target=inside, args=(i,)) for i in range(2)]
    for thread, event in zip(both, entered, strict=True):
        thread.start()
        assert event.wait(10)
    for i in (0, 1) if first_out == "first" else (1, 0):
        assert numbers() == {1}
        leave[i].set()
        both[i].join(10)
    assert counts[0] == 1
    assert numbers() == {ALLOWED}


class PerThread:
    """A library whose number is each thread's own, as MKL's is."""

    def __init__(self) -> None:
        self._mine = threading.local()

    def get_num_threads(self) -> int:
        return getattr(self._mine, "count", 5)

    def set_num_threads(self, count: int) -> None:
        self._mine.count = count


def test_libraries_that_count_per_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    library = PerThread()
    monkeypatch.setattr(threads, "_libraries", lambda: (library,))
    found: list[int] = []

    def other() -> None:
        with one_thread():
            found.append(library.get_num_threads())
        found.append(library.get_num_threads())

    with one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)
        assert (found, library.get_num_threads()) == ([1, 5], 1)
        assert spread(lambda part: library.get_num_threads(), 5, 5.0) == [1] * 5
    assert library.get_num_threads() == 5


def at_work() -> tuple[int, int, int]:
    """Threads of BLAS inside, those that a large product may use, and threads of BLAS after."""
    from sparsebounds._support import threads

    numbers = [library.get_num_threads for library in threads._libraries()]
    threads._cores = lambda: 8  # type: ignore[assignment]
    with threads.one_thread():
        threading.Event().wait(0.05)  # so that threads of one process meet
        inside, most = max(number() for number in numbers), threads.threads()
    return inside, most, max(number() for number in numbers)


def test_workers_of_joblib_keep_their_limits() -> None:
    work = [joblib.delayed(at_work)() for _ in range(2)]
    with joblib.parallel_config("loky", inner_max_num_threads=2):
        assert joblib.Parallel(n_jobs=2)(work) == [(1, 2, 2)] * 2
    with joblib.parallel_config("threading"):
        found = joblib.Parallel(n_jobs=2)(work)
    assert {(inside, most) for inside, most, _ in found} <= {(1, 1), (1, ALLOWED)}
    assert numbers() == {ALLOWED}


def test_a_child_process_starts_anew() -> None:
    """Its threads are its own, and a number lowered by another thread of the parent's is not."""
    context = multiprocessing.get_context("fork")
    ready, done = threading.Event(), threading.Event()

    def inside() -> None:
        with one_thread():
            ready.set()
            done.wait(10)

    thread = threading.Thread(target=inside)
    thread.start()
    assert ready.wait(10)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send((numbers(), pieces())))
    child.start()
    child.join(20)
    done.set()
    thread.join(10)
    assert receiver.poll()
    assert receiver.recv() == ({ALLOWED}, [3, 3, 4])


def pieces() -> list[int]:
    """How a length of ten is cut for three threads."""
    with one_thread():
        return spread(lambda part: part.stop - part.start, 10, 3.9)


def test_pieces_cover_the_whole_and_come_in_order() -> None:
    assert pieces() == [3, 3, 4]
    with one_thread():
        used = spread(lambda part: threading.get_ident(), 100, 100.0)
        assert (len(used), used[0]) == (ALLOWED, threading.get_ident())
        assert spread(lambda part: part, 10, 1.9) == [slice(0, 10)]
        assert len(spread(lambda part: part, 2, 50.0)) == 2
        with np.errstate(over="raise"):
            assert spread(lambda part: np.geterr()["over"], 3, 3.0) == ["raise"] * 3
    assert len(spread(lambda part: part, 10, 50.0)) == 1  # outside


def test_an_error_in_one_piece_waits_for_the_others() -> None:
    started, finished = threading.Barrier(ALLOWED), []

    def work(part: slice) -> None:
        started.wait(10)
        if part.start == 0:
            raise ZeroDivisionError
        threading.Event().wait(0.05)
        finished.append(part)

    with one_thread(), pytest.raises(ZeroDivisionError):
        spread(work, ALLOWED, 9.0)
    assert len(finished) == ALLOWED - 1


@pytest.mark.parametrize(
    ("text", "least"), [("200000 100000", 2), ("50000 100000", 1), ("max 100000", None)]
)
def test_a_containers_quota_counts(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, text: str, least: int | None
) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(threads, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: range(16), raising=False)
    assert CORES() == (least or 16)
