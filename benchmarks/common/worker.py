"""A process for one peer: it keeps what was compiled, and is killed where the peer overstays."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class WorkerError(Exception):
    """No answer; the message says why."""


class Worker:
    """A process that answers questions, started when needed and again after a crash."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, question: Any, patience: float) -> Any:
        """The answer; `WorkerError` after so many seconds, a crash or an exception over there."""
        if self._process is None or not self._process.is_alive():
            self._start()
        self._pipe.send(question)
        try:
            if not self._pipe.poll(patience):
                self.stop()
                raise WorkerError(f"not done after {patience:.0f} s")
            answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise WorkerError(f"crashed, exit status {code}") from None
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(self._answer, other), daemon=True)
        self._process.start()
        other.close()  # so that a crash closes the pipe

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def serve(answer: Callable[[Any], Any], pipe: Connection) -> None:
    """The other process: answers questions until the pipe is closed."""
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        while True:
            try:
                question = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(answer(question))
            except Exception as error:
                pipe.send(WorkerError(f"failed: {type(error).__name__}: {error}"))
