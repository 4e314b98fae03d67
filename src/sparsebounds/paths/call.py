"""path: the arguments of `solve` with a grid in place of k or l0, and points around a model."""

from __future__ import annotations

import math
import os
from typing import Any, Unpack

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.deadline import Deadline
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import Exact
from sparsebounds.arguments import CommonArguments, takes
from sparsebounds.paths.course import Callback, Course
from sparsebounds.paths.nonconvex import NonConvexWalk
from sparsebounds.paths.result import Path
from sparsebounds.paths.walk import Walk
from sparsebounds.program import Program
from sparsebounds.solving import posed

SIZES, PRICES, DECADE = 10, 9, 10.0
"""Points around a model: how many there are, and how far the prices go from the chosen one."""

LEAST_SECONDS = 1.0
"""They may take as long as the solution took, or this."""


@one_thread()
@takes(CommonArguments, after="l0s")
def path(
    X: Any,
    y: Any = None,
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

    `path(program, ks=...)` takes a `Program`, whose own k or l0 does not matter. After Ctrl-C the
    points done are returned.

    Parameters
    ----------
    ks : list of int, optional
        Budgets, walked through upwards. Pass `ks` or `l0s`.
    l0s : list of float, optional
        Prices per feature, walked through downwards.
    tol : float, default 1e-4
        The relative gap up to which a model counts as optimal.
    stop : float, optional
        End the path where it is proved that the rest of the grid has nothing better by more than
        ``stop max(|objective|, |null|)``.
    exact : bool or "auto", default False
        Whether to search at every point ("auto": for a bounded amount of work).
    time_limit : float, optional
        Seconds in all, after which the points done are returned.
    node_limit : int, optional
        The most nodes of the search at each point.
    checkpoint : path, optional
        A file that the path is saved to after its points, and taken up from where it exists: the
        answer is that of a path that was never stopped.
    callback : callable, optional
        Called as in `solve`, and with a `PathProgress` per point.

    Returns
    -------
    Path
        A sequence of points, each with a model, both bounds and a certificate.

    Raises
    ------
    ValueError, TypeError
        Where an argument makes no sense, in a sentence that says what to pass instead.

    See Also
    --------
    solve : One point alone.
    SparseRegressorCV : Chooses a point by cross-validation.

    Notes
    -----
    Every relaxation's dual vector a bounds all budgets at once, ``k -> -F*(a) - R_k(a)``, and each
    point has the best of all of these.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> path = sb.path(data.X, data.y, ks=[1, 2, 3], ridge=0.1)
    >>> for point in path:
    ...     print(point.k, point.support, f"{point.lower:.2f} {point.upper:.2f}", point.status)
    1 [1] 0.90 1.08 bounded
    2 [ 0 19] 0.60 0.78 bounded
    3 [ 0  9 19] 0.38 0.38 optimal
    """
    deadline = Deadline.of(time_limit)
    grid = _checked(ks, l0s, tol, stop, exact, node_limit, callback)
    first: dict[str, Any] = {"k": grid[0]} if l0s is None else {"l0": grid[0]}
    program = posed("path", X, y, problem, first)
    given = program, grid, tol, stop, exact, deadline, node_limit, callback, checkpoint
    kind: type[Course] = Walk if program.loss.convex else NonConvexWalk
    return kind(*given).run()


@one_thread()
def plain_path(
    program: Program, grid: list[int] | list[float], tol: float, time_limit: float | None
) -> Path:
    """A path that only relaxations prove something about, to choose a point of."""
    deadline = Deadline.of(time_limit)
    return Walk(program, grid, tol, None, False, deadline, None, None, None, plain=True).run()


def path_around(program: Program, seconds: float) -> Path | None:
    """A short path around the program's own k or l0.

    None with a price for each feature, or for a loss that is not convex. `seconds` are those that
    its solution took.
    """
    if not program.loss.convex:
        return None
    limit = max(LEAST_SECONDS, seconds)
    if program.k is not None:
        most = min(int(np.count_nonzero(program.free)), program.k + max(2, program.k // 3))
        near = range(max(program.k - 1, 0), program.k + 2)
        spread = np.linspace(min(1, most), most, SIZES).round().astype(int).tolist()
        grid = sorted({program.k, *spread, *(k for k in near if 0 < k <= most)})
        return path(program, ks=grid, time_limit=limit)
    if isinstance(program.l0, float) and 0.0 < program.l0 < math.inf:
        around = program.l0 * np.geomspace(DECADE, 1.0 / DECADE, PRICES)
        around[PRICES // 2] = program.l0
        return path(program, l0s=around.tolist(), time_limit=limit)
    return None


def _checked(
    ks: Any, l0s: Any, tol: Any, stop: Any, exact: Any, node_limit: Any, callback: Any
) -> list[int] | list[float]:
    """Budgets or prices, whichever was given, once all arguments make sense."""
    check.exactly_one(ks=ks, l0s=l0s)
    grid = budgets(ks) if l0s is None else prices(l0s)
    check.check_tolerance(tol)
    if stop is not None and not (check.is_number(stop) and 0.0 < float(stop) < 1.0):
        raise InputError(f"stop={stop!r} must be a number between 0 and 1, such as 0.01, or None.")
    check.check_exact(exact)
    check.check_node_limit(node_limit)
    check.check_callback(callback)
    return grid


def budgets(ks: Any) -> list[int]:
    """The numbers of features asked for, ascending, each once."""
    if not check.is_list(ks):
        raise InputTypeError(f"ks={ks!r} must be a list of integers, such as range(1, 31).")
    grid = sorted({check.cardinality(k, "ks") for k in check.entries(ks)})
    if not grid:
        raise InputError("ks is empty; pass one number of features or more, such as range(1, 31).")
    return grid


def prices(l0s: Any) -> list[float]:
    """The prices asked for, descending (so that models grow), each once."""
    if not check.is_list(l0s):
        raise InputTypeError(f"l0s={l0s!r} must be a list of prices, such as [0.1, 0.03, 0.01].")
    found = {check.positive_number("l0s", l0, listed=True) for l0 in check.entries(l0s)}
    grid = sorted(found, reverse=True)
    if not grid:
        raise InputError("l0s is empty; pass one price or more, such as [0.1, 0.03, 0.01].")
    return grid
