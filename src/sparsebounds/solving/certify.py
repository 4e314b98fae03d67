"""certify: how far from the best possible are these coefficients, whoever found them?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsebounds._support.array import to_numpy
from sparsebounds._support.deadline import Deadline, Limit
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import check_tolerance
from sparsebounds.arguments import spoken
from sparsebounds.bounds import objective_up
from sparsebounds.certificates import Certificate
from sparsebounds.models import Model
from sparsebounds.program import Program, check_program
from sparsebounds.relaxation import Relaxation, dual_points, relaxation_of
from sparsebounds.solving.nonconvex import ACCURACY, search_rows, tighten
from sparsebounds.solving.proof import (
    better_root,
    better_rows,
    certificate_from,
    wide_gap,
    with_tree,
)


@one_thread()
@spoken
def certify(
    program: Program,
    coef: Any,
    intercept: float | None = None,
    *,
    relaxation: Relaxation | None = None,
    tol: float = 1e-6,
    time_limit: Limit = None,
) -> Certificate:
    """The certificate of a model from any tool: its objective and a bound on the best possible.

    For the truncated loss the bound is that of a search over rows, of bounded work.

    Parameters
    ----------
    program : Program
        The problem that the model is to be judged by.
    coef : array of m numbers, or a fitted scikit-learn linear model
        Coefficients in the user's units. They must obey the program's constraints.
    intercept : float, optional
        Needed only where `coef` is an array and the program has an intercept (default 0).
    relaxation : Relaxation, optional
        An earlier `relax(program)`, to spare solving it again.
    tol : float, default 1e-6
        Relative gap to which the relaxation is solved otherwise.
    time_limit : float, optional
        Seconds after which to be content with the bound reached so far.

    Returns
    -------
    Certificate
        Both bounds, with their proof.

    Raises
    ------
    ValueError
        Where the model breaks a constraint; the sentence says which.

    See Also
    --------
    solve : Finds a model as well.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> lasso = Lasso(alpha=0.6).fit(data.X, data.y)
    >>> k = np.count_nonzero(lasso.coef_)
    >>> program = sb.Program(data.X, data.y, k=k, ridge=0.1, fit_intercept=True)
    >>> certificate = sb.certify(program, lasso)
    >>> print(f"{k} features, {certificate.upper:.2f}, and none is below {certificate.lower:.2f}")
    4 features, 1.00, and none is below 0.35
    """
    check_program(program)
    check_tolerance(tol, "1e-6")
    deadline = Deadline.of(time_limit)
    if hasattr(coef, "coef_"):
        intercept = float(to_numpy(coef.intercept_).ravel()[0]) if intercept is None else intercept
        coef = to_numpy(coef.coef_).ravel()
    elif hasattr(coef, "fit"):
        kind = type(coef).__name__
        raise InputTypeError(
            f"coef is a {kind} without coefficients; call its fit(X, y) first, or pass coef_ and "
            "intercept_ of the linear model that it holds."
        )
    value = program.objective(coef, 0.0 if intercept is None else intercept)
    w, b = program.to_program(to_numpy(coef).astype(np.float64), float(intercept or 0.0))
    if math.isinf(value):
        raise InputError(f"coef breaks a constraint: {_broken(program, w)}.")
    model = Model(objective_up(program, w, b), w, b, math.nan)
    if not program.loss.convex:
        return _nonconvex(program, model, max(tol, ACCURACY), relaxation, deadline)
    if relaxation is None:
        relaxation = relaxation_of(program, tol, time_limit=deadline)
    others = dual_points(program, relaxation, time_limit=deadline)
    plain = certificate_from(program, [relaxed.point for relaxed in others], model)
    root = better_root(program, relaxation, model, plain, tol, deadline)
    return plain if root is None else with_tree(program, model, root.tree, root.lower)


def _nonconvex(
    program: Program, model: Model, tol: float, start: Relaxation | None, deadline: Deadline
) -> Certificate:
    """Envelopes on boxes; for the truncated loss, what a search of bounded work proves as well."""
    found = tighten(program, model.value, tol, start, deadline)
    finish = deadline.before(box=len(found.duals))
    others = dual_points(found.convex, found.relaxed, time_limit=finish)
    plain = certificate_from(program, [other.point for other in others], model, found.duals)
    if not wide_gap(program, plain, tol) or deadline.late():
        return plain
    with np.errstate(over="ignore", invalid="ignore"):
        rows = search_rows(program, model, tol, found, deadline=deadline)
    return plain if rows is None else better_rows(program, model, plain, rows)


def _broken(program: Program, w: Any) -> str:
    """Which constraint a model breaks, and what to do."""
    counted = len(program.counted(np.flatnonzero(w)))
    if np.any(w[program.never] != 0):
        return "it uses a feature that `never` rules out"
    if np.any(w[program.positive] < 0):
        return "it has a negative coefficient where `positive` asks for none"
    if program.k is not None and counted > program.k:
        return (
            f"it has {counted} nonzeros, more than k={program.k}; pose the problem with "
            f"k={counted} to certify it as it is, or set the others to 0"
        )
    if program.ball is not None:
        return f"|w|^2 exceeds ball={program.ball:g}; scale the coefficients down"
    return "its objective is not finite"
