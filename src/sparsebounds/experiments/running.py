"""Run an experiment and keep its results: results.csv, findings.txt, its figures as PDF and PNG.

The folder is tried first. All of an experiment is computed and drawn before its first file is
written, and each file is written whole or not at all.
"""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds.experiments.base import Experiment, Tick
from sparsebounds.experiments.style import rendered, require_matplotlib, styled


@dataclass(frozen=True)
class Done:
    """A finished experiment."""

    files: tuple[Path, ...]
    findings: tuple[str, ...]
    seconds: float
    cpu_seconds: float


def reproduce(experiment: Experiment, out: Path, tick: Tick = lambda: None) -> Done:
    """Run one experiment and save its results in a folder of its own inside `out`."""
    require_matplotlib()
    check_folder(experiment, out)
    started, cpu = time.perf_counter(), time.process_time()
    table = experiment.run(tick)
    findings = experiment.findings(table)
    contents: dict[str, str | bytes] = {}
    with styled():
        for name, figure in experiment.draw(table).items():
            if experiment.quick:
                figure.suptitle("--quick: small made data, not the paper's", fontsize=7)
            contents |= {f"{name}.{kind}": data for kind, data in rendered(figure).items()}
    contents["findings.txt"] = "".join(f"{line}\n" for line in findings)
    contents["results.csv"] = table.write_csv()
    folder = out / experiment.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return Done(
        files=tuple(folder / name for name in contents),
        findings=tuple(findings),
        seconds=time.perf_counter() - started,
        cpu_seconds=time.process_time() - cpu,
    )


def check_folder(experiment: Experiment, out: Path) -> None:
    """Raise, in a sentence, where its results could not be written; leaves its folder as it was."""
    folder = out / experiment.folder
    fresh = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if fresh:
            folder.rmdir()
    except OSError as error:
        raise InputError(
            f"Results cannot be written into the folder {folder}: {error.strerror}. Name another "
            "folder, or make room for this one."
        ) from error


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Make Ctrl-C stop everything; yields a check to be called between steps.

    relax and solve answer Ctrl-C with the bounds they have so far, which are no point of an
    experiment: the check raises KeyboardInterrupt once more.
    """
    pressed = False

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    def press(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
