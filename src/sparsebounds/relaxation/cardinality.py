"""dual_points: relaxations that prove more together, because cardinality is an integer."""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds.bounds import one_price
from sparsebounds.program import Program
from sparsebounds.relaxation.relax import relaxation_of
from sparsebounds.relaxation.result import Relaxation
from sparsebounds.relaxation.workspace import Workspace


def dual_points(
    program: Program,
    relaxed: Relaxation,
    tol: float = 1e-8,
    time_limit: Limit = None,
    workspace: Workspace | None = None,
) -> list[Relaxation]:
    """The relaxation, and what its bound can be bettered with because cardinality is an integer.

    Parameters
    ----------
    program : Program
        The sparse program.
    relaxed : Relaxation
        What `relax` returned for it.
    tol : float, default 1e-8
        Relative gap of the further relaxations.
    time_limit : float, optional
        Seconds after which no further one is begun.
    workspace : Workspace, optional
        The one of `relaxed`: columns that it has read.

    Returns
    -------
    list of Relaxation
        With one price l0: `relaxed`, and the k forms at the two integers around sum u, each best
        for a range of cardinalities; at the nearer one alone, where that gains nothing. Otherwise,
        and without time for it, `relaxed` alone.

    See Also
    --------
    bounds.best_cover : The bound that they prove together.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, l0=0.08, ridge=0.1)
    >>> relaxed = sb.relax(program)
    >>> points = [one.point for one in sb.relaxation.dual_points(program, relaxed)]
    >>> print(f"{relaxed.lower:.3f} {sb.bounds.best_cover(program, points).lower:.3f}")
    0.598 0.600
    """
    deadline = Deadline.of(time_limit)
    # Each begins with a pass over X, and a start has a product more.
    price = one_price(program)
    if price is None or deadline.late(scan=4):
        return [relaxed]
    total = float(np.sum(relaxed.u[program.free]))
    sizes, found = {math.floor(total), math.ceil(total)}, [relaxed]
    for size in sorted(sizes, key=lambda size: abs(size - total)):
        # Without features the best start is none: the null model.
        further = relaxation_of(
            program.with_budget(size),
            tol,
            start=relaxed if size else None,
            time_limit=deadline.before(scan=2) if len(found) < len(sizes) else deadline,
            workspace=workspace if size else None,
        )
        found.append(further)
        # No dual vector proves more of this many features, so others prove no more of all.
        if further.value + price * size <= relaxed.value + tol * program.size(relaxed.value):
            break
    return found
