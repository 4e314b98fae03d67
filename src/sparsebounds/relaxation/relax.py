"""relax: the convex bidual of a program, solved."""

from __future__ import annotations

import warnings

import numpy as np

from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import check_callback, check_tolerance
from sparsebounds.arguments import spoken
from sparsebounds.bounds import enclosed
from sparsebounds.program import Program, check_program
from sparsebounds.relaxation.compressed import carried, compressed, compressible
from sparsebounds.relaxation.progress import Callback
from sparsebounds.relaxation.result import Relaxation
from sparsebounds.relaxation.sample import sampled
from sparsebounds.relaxation.working_set import WorkingSet
from sparsebounds.relaxation.workspace import Workspace


class RelaxationWarning(UserWarning):
    """The relaxation stopped before its tolerance; its bounds are valid but wider.

    Examples
    --------
    >>> import warnings
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     relaxed = sb.relax(sb.Program(data.X, data.y, k=3, ridge=0.1), time_limit=1e-9)
    >>> heard[0].category.__name__, relaxed.status
    ('RelaxationWarning', 'bounded')
    """


WIDE = 64
"""Columns of a tall matrix that all are multiplied with one another for one relaxation, at most."""

ROUGH, SAMPLED = 1e-5, 4
"""The relative gap that is enough on a sample of the rows, and passes that it takes, about."""


@spoken
def relax(
    program: Program,
    tol: float = 1e-8,
    *,
    start: Relaxation | None = None,
    time_limit: Limit = None,
    callback: Callback | None = None,
    workspace: Workspace | None = None,
) -> Relaxation:
    """Solve the convex bidual of a program.

    Parameters
    ----------
    program : Program
        The sparse program. A non-convex loss is replaced by its envelope on a certified box: that
        of `bounds.enclosed` with the objective of the model without features. Pass
        `enclosed(program, upper)` for a smaller one.
    tol : float, default 1e-8
        Relative gap asked for: ``value - dual_value <= tol max(|value|, |null|)``.
    start : Relaxation, optional
        An earlier result on the same columns (another k, l0, ridge, ball or fixing).
    time_limit : float, optional
        Seconds after which to return the bounds reached so far. The first pass over X is made in
        any case: without it there is no bound.
    callback : callable, optional
        Called with a `Progress` after each round. Ctrl-C returns the bounds reached so far.
    workspace : Workspace, optional
        Columns that earlier relaxations of the same data have read; `start` is one of these.

    Returns
    -------
    Relaxation
        Its bounds hold whatever its status.

    Warns
    -----
    RelaxationWarning
        Where the tolerance was not reached: why.

    See Also
    --------
    primalize : Make its point sparse.
    lower_bound : What any dual vector proves.

    Notes
    -----
    With weights u in [0, 1]^m of which at most k, or l0 each, are spent, it is::

        min  F(Xw + b + offset) + sum_i ridge_i/2 w_i^2/u_i + sum_i l0_i u_i

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> program = sb.Program(data.X, data.y, k=3, ridge=0.1)
    >>> relaxed = sb.relax(program)
    >>> print(relaxed.status, f"{relaxed.lower:.3f} {relaxed.value:.3f}")
    optimal 0.371 0.371
    """
    check_program(program)
    check_tolerance(tol, "1e-8")
    deadline = Deadline.of(time_limit)
    check_callback(callback)
    if start is not None and not isinstance(start, Relaxation):
        raise InputTypeError(f"start is a {type(start).__name__}; pass what relax returned.")
    if start is not None and len(start.w) != program.m:
        raise InputError(f"start has {len(start.w)} coefficients, but the program {program.m}.")
    result = relaxation_of(
        program,
        tol,
        start=start,
        time_limit=deadline,
        callback=callback,
        workspace=workspace,
        alone=True,
    )
    if result.status == "bounded":
        warnings.warn(f"{result.message}.", RelaxationWarning, stacklevel=2)
    return result


def relaxation_of(
    program: Program,
    tol: float = 1e-8,
    *,
    start: Relaxation | None = None,
    time_limit: Limit = None,
    callback: Callback | None = None,
    workspace: Workspace | None = None,
    alone: bool = False,
) -> Relaxation:
    """`relax` without its checks and its warning, for whoever states the gap in another way.

    Unless it is `alone`, what is asked next needs the products of all columns as well.

    A filter for warnings belongs to the whole process: threads that set one get into each other's.
    """
    # Overflow far from the solution is an infinite value, not news for the user.
    with np.errstate(all="ignore"), one_thread():
        deadline = Deadline.of(time_limit)
        whole = not (alone and program.m > WIDE) and compressible(program, deadline)
        small = compressed(program) if whole else None
        if small is not None:
            return carried(program, small, tol, start, deadline, callback)
        few, interrupted = sampled(program) if start is None else None, False
        if few is not None and not deadline.late(scan=SAMPLED):
            start = relaxation_of(few, max(tol, ROUGH), time_limit=deadline)
            interrupted = start.interrupted
        run = WorkingSet(enclosed(program), tol, start, deadline, callback, workspace)
        try:
            message = "Interrupted" if interrupted else run.loop()
        except KeyboardInterrupt:
            message, interrupted = "Interrupted", True
        return run.result(message, interrupted)
