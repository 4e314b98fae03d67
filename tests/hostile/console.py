"""The command line, in this process or in one of its own with limits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attack import Finding, crash
from typer.testing import CliRunner

from sparsebounds.cli import app

CODES = (0, 1, 2, 3)
LIMIT = 6 << 30
"""Bytes of address space of a process of its own; polars alone reserves one or two GiB."""


PROCESSOR = 60
"""Seconds of processor time of such a process."""


def command(*arguments: Any, codes: tuple[int, ...] = CODES) -> tuple[Any, Finding | None]:
    """The result of a command, and what is wrong with the way it ended."""
    words = [str(argument) for argument in arguments]
    what = f"sparsebounds {' '.join(words)[:500]}"
    try:
        result = CliRunner().invoke(app, words)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of polars: no Exception
            raise
        return None, crash(what, error)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return result, crash(what, result.exception)
    return result, ending(what, result.exit_code, result.stdout, result.stderr, codes)


def ending(
    what: str, code: int, stdout: str, stderr: str, codes: tuple[int, ...]
) -> Finding | None:
    """What is wrong with an exit code and what was printed."""
    told = f"{what}: exit {code}\n{stdout[-300:]}\n{stderr[-600:]}"
    if "Traceback" in stdout + stderr:
        return Finding("a traceback", told)
    if code not in codes:
        return Finding("an exit code that is not documented", told)
    if code == 2 and not ("Error" in stderr or "Usage" in stderr):
        return Finding("an error without a sentence", told)
    return None


def apart(*arguments: Any, seconds: float = 600.0) -> tuple[int, str, str, float]:
    """(exit code, stdout, stderr, MiB) of a command in a process of its own; the exit code is
    negative past the time, or the processor time."""
    words = [sys.executable, "-c", "from sparsebounds.cli import app; app()", *map(str, arguments)]
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment,
            check=False,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        return -9, "", "", float("nan")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    size = peak / 1024 if peak > before else 0.0
    return done.returncode, done.stdout, done.stderr, size


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR + 5))


def table(rng: np.random.Generator, names: list[str], rows: int = 12) -> list[list[str]]:
    """A header and rows of numbers; the response is the last column."""
    X = rng.normal(size=(rows, len(names)))
    X[:, -1] = X[:, 0] - X[:, 1 % len(names)] + 0.1 * X[:, -1]
    return [names, *([f"{x:.3f}" for x in row] for row in X)]


def write_csv(path: Path, rows: list[list[str]], separator: str = ",") -> None:
    """A table, every field in quotes where it needs them."""
    path.write_text("".join(separator.join(map(quoted, row)) + "\n" for row in rows), "utf-8")


def quoted(field: str) -> str:
    plain = not any(mark in field for mark in ',;"\n\r\t|') and field.strip() == field and field
    return field if plain else '"' + field.replace('"', '""') + '"'


def unchanged(path: Path) -> Callable[[], bool]:
    """Whether a file is still what it is now."""
    content, status = path.read_bytes(), path.lstat()

    def same() -> bool:
        now = path.lstat() if path.exists() or path.is_symlink() else None
        return (
            now is not None
            and (now.st_ino, now.st_mode) == (status.st_ino, status.st_mode)
            and path.read_bytes() == content
        )

    return same
