"""path: the arguments of `solve` with a grid in place of k or l0."""

from __future__ import annotations

import os
from typing import Any, Unpack

from sparsebounds._support.deadline import Deadline
from sparsebounds._support.validate import Exact
from sparsebounds.arguments import CommonArguments, takes
from sparsebounds.paths.arguments import check_options, checked_grid
from sparsebounds.paths.result import Path
from sparsebounds.paths.walk import Callback, Walk
from sparsebounds.program import Program


@takes(CommonArguments, after="l0s")
def path(
    X: Any,
    y: Any,
    *,
    ks: Any = None,
    l0s: Any = None,
    tol: float = 1e-4,
    stop: float | None = None,
    exact: Exact = False,
    time_limit: float | None = None,
    node_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    **problem: Unpack[CommonArguments],
) -> Path:
    """Models with their certificates along a grid of budgets `ks` or prices `l0s`.

    Parameters are those of `solve`, with a grid in place of `k` or `l0`: `ks` is walked through
    upwards, `l0s` downwards. `stop` ends the path where it is proved that the rest of the grid has
    nothing better by more than `stop` max(|objective|, |null|). `exact` searches at every point,
    for at most `node_limit` nodes each ("auto": for a bounded amount of work). After `time_limit`
    seconds in all, or Ctrl-C, the points done are returned; `callback` is called as in `solve`, and
    with a `PathProgress` per point.
    `checkpoint` is a file that the path is saved to after its points, and taken up from where it
    exists: the answer is that of a path that was never stopped.
    """
    deadline = Deadline.of(time_limit)
    grid = checked_grid(ks, l0s)
    check_options(tol, stop, exact, node_limit, callback)
    first: dict[str, Any] = {"k": grid[0]} if l0s is None else {"l0": grid[0]}
    program = Program(X, y, **first, **problem)
    return Walk(program, grid, tol, stop, exact, deadline, node_limit, callback, checkpoint).run()


def path_of(
    program: Program,
    *,
    ks: Any = None,
    l0s: Any = None,
    tol: float = 1e-4,
    stop: float | None = None,
    exact: Exact = False,
    time_limit: float | None = None,
    node_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
) -> Path:
    """`path` for a program that is already posed; its own k or l0 does not matter."""
    deadline = Deadline.of(time_limit)
    grid = checked_grid(ks, l0s)
    check_options(tol, stop, exact, node_limit, callback)
    return Walk(program, grid, tol, stop, exact, deadline, node_limit, callback, checkpoint).run()
