"""Work in a process of its own, with a limit on memory and time: for files that are bombs."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROOM = 1536 << 20
"""Bytes that a process may take beyond what it has."""


@dataclass(frozen=True)
class Outcome:
    """What became of it."""

    result: Any
    """What the function returned; None where it raised, or was killed."""

    error: str
    """The exception's type and message; "killed" where the process ended in another way."""

    seconds: float
    megabytes: float
    """By how much the process grew."""


def forked(function: Callable[[], Any], seconds: float, room: int = ROOM) -> Outcome:
    """Run `function` in a copy of this process, for so many seconds of processor time."""
    reader, writer = os.pipe()
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, pickle.dumps(_limited(function, room, seconds)))
        os._exit(0)
    os.close(writer)
    received = b""
    while True:
        left = began + 10.0 * seconds - time.perf_counter()
        ready, _, _ = select.select([reader], [], [], max(left, 0.0))
        part = os.read(reader, 1 << 16) if ready else b""
        if not part:
            break
        received += part
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.waitpid(child, 0)
    spent = time.perf_counter() - began
    if not received:
        return Outcome(None, "killed", spent, float("nan"))
    result, error, used, grown = pickle.loads(received)
    return Outcome(result, error, used, grown)


def _limited(
    function: Callable[[], Any], room: int, seconds: float
) -> tuple[Any, str, float, float]:
    for clock in (signal.ITIMER_REAL, signal.ITIMER_PROF):
        signal.setitimer(clock, 0.0)
    before, now = _kilobytes("VmHWM"), 1024 * _kilobytes("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (now + room, now + room))
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 2))
    began = time.process_time()
    result, error = None, ""
    try:
        result = function()
    except BaseException as raised:
        error = f"{type(raised).__name__}: {str(raised)[:300]}"
    return result, error, time.process_time() - began, (_kilobytes("VmHWM") - before) / 1024


def _kilobytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))
