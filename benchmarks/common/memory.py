"""Memory: what a process holds (Linux), and the peak of it while something runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

STATUS = Path("/proc/self/status")


def held(name: str = "VmRSS") -> int:
    """One line of /proc/self/status, in bytes."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    for line in lines:
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{STATUS} has no {name}; memory is measured on Linux only.")


def forget_peak() -> None:
    """Let the peak of this process (VmHWM) start again from what it holds now."""
    Path("/proc/self/clear_refs").write_text("5")


class Watch(threading.Thread):
    """The largest value of `measure`, sampled by a thread as long as the context is open."""

    def __init__(self, measure: Callable[[], int], pause: float) -> None:
        super().__init__(daemon=True)
        self.measure, self.pause = measure, pause
        self.peak, self._ended = measure(), threading.Event()

    def run(self) -> None:
        while not self._ended.wait(self.pause):
            self.peak = max(self.peak, self.measure())

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
