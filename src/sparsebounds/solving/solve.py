"""solve: relax, find a model, prove how good it is.

relax      the convex bidual: a dual vector that proves a lower bound, and weights u
model      supports that the relaxation suggests, refitted, improved by exchanges
screen     features that every best model has, or none. Relaxing again with these fixed would not
           raise the bound: at an optimal dual vector a feature with 0 < u < 1 is a tie, so
           screening fixes only features that the relaxed solution has at 0 or 1 already
shift      curvature of the loss moved into the ridge, where it has any: a tighter relaxation
search     branch and bound over the features that are left in doubt: for a bounded amount of work,
           or on request to the end
certify    leaves that cover every support; with a price l0, one dual vector for each of two
           ranges of cardinality
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import RELAX, Deadline, Limit, TimeUp
from sparsebounds._support.decimals import counted
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.threads import one_thread
from sparsebounds._support.validate import (
    Exact,
    check_callback,
    check_exact,
    check_node_limit,
    check_tolerance,
)
from sparsebounds.arguments import Arguments, takes
from sparsebounds.bounds import screen_at
from sparsebounds.exact import (
    Checkpoint,
    ExactSearch,
    Proof,
    SearchProgress,
    TooLarge,
    proof_of,
)
from sparsebounds.fitting import Model, best
from sparsebounds.models import Pool, Search, as_returned
from sparsebounds.program import Program
from sparsebounds.relaxation import Progress, Workspace, dual_points, relaxation_of
from sparsebounds.solving.nonconvex import check_search, solve_nonconvex
from sparsebounds.solving.proof import better_root, certificate_from, wide_gap, with_tree
from sparsebounds.solving.solution import Solution, SolutionStats

CLOSED = 0.01
"""Part of the tolerance at which the search for better models ends: there is nothing to gain."""


@one_thread()
@takes(Arguments)
def solve(
    X: Any,
    y: Any = None,
    *,
    tol: float = 1e-4,
    exact: Exact = "auto",
    time_limit: float | None = None,
    node_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[Progress | SearchProgress], None] | None = None,
    **problem: Unpack[Arguments],
) -> Solution:
    """The best sparse model found, with a proved lower bound on the best possible.

    `solve(program)` solves a `Program` that states data and problem already. Ctrl-C ends what is
    being done, and the work: the best so far is returned, with valid bounds.

    Parameters
    ----------
    tol : float, default 1e-4
        The relative gap up to which a model counts as optimal.
    exact : bool or "auto", default "auto"
        Whether to search until that is proved: True to the end, False not at all, "auto" for a
        bounded amount of work.
    time_limit : float or None, default None
        Seconds, kept to 5% or a second. What reads X before there is a bound (its checks, and the
        first pass) is done in any case.
    node_limit : int or None, default None
        The most nodes of the exact search.
    checkpoint : path or None, default None
        A file that the exact search is saved to now and then, and taken up from where it exists;
        its nodes count towards `node_limit`.
    callback : callable or None, default None
        Called with the progress of the relaxation and of the search.

    Returns
    -------
    Solution
        The model, both bounds, and the certificate that proves them.

    Raises
    ------
    ValueError, TypeError
        Where an argument makes no sense, in a sentence that says what to pass instead.

    See Also
    --------
    Program : The problem, in formulas.
    path : The same along a grid of k or l0.
    certify : Bounds for a model that you have already.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> solution = sb.solve(data.X, data.y, k=3, ridge=0.1)
    >>> solution.support.tolist(), solution.status
    ([0, 9, 19], 'optimal')
    >>> print(f"{solution.lower:.3f} <= optimum <= {solution.upper:.3f}")
    0.383 <= optimum <= 0.383
    """
    deadline = Deadline.of(time_limit)
    return solve_program(
        posed("solve", X, y, problem),
        tol,
        exact=exact,
        time_limit=deadline,
        node_limit=node_limit,
        checkpoint=checkpoint,
        callback=callback,
    )


def posed(
    function: str, X: Any, y: Any, problem: Mapping[str, Any], size: Mapping[str, Any] = {}
) -> Program:
    """The program of some data, a problem and its size, or the one that stands in X's place."""
    if isinstance(X, Program):
        if y is not None or problem:
            stated = ", ".join([*(["y"] if y is not None else []), *problem])
            raise InputTypeError(
                f"{function} got a Program, which has its own data and problem, and {stated} too; "
                f"pass the Program without them, or {function}(X, y, ...) with the data."
            )
        return X
    if y is None:
        raise InputTypeError(
            f"{function} needs y, one number per row of X, or a Program in X's place."
        )
    return Program(X, y, **size, **problem)


@one_thread()
def solve_program(
    program: Program,
    tol: float = 1e-4,
    *,
    exact: Exact = "auto",
    time_limit: Limit = None,
    node_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[Progress | SearchProgress], None] | None = None,
    known: Sequence[Index] = (),
    effort: float = 1.0,
) -> Solution:
    """`solve` for a program that is already posed.

    `known` are good supports, and `effort` is the part of its work that exact="auto" may take.
    """
    deadline = Deadline.of(time_limit)
    check_tolerance(tol)
    check_callback(callback)
    check_node_limit(node_limit)
    check_exact(exact)
    to_the_end = exact is True
    if checkpoint is not None and not to_the_end:
        raise InputError(
            f"checkpoint={str(checkpoint)!r} is for the exact search: pass exact=True."
        )
    if not program.loss.convex:
        check_search(program, exact)
        most_nodes = math.inf if node_limit is None else node_limit
        return solve_nonconvex(
            program,
            tol,
            deadline,
            exact=exact,
            node_limit=most_nodes,
            callback=callback,
            checkpoint=checkpoint,
        )
    halfway, first_pass = deadline.part(0.5), program.matrix.passes
    # Certificates need the fingerprint. Its pass over X comes before work that a limit may cut.
    with deadline.timed("scan", 1):
        _ = program.fingerprint
    file = None if checkpoint is None else Checkpoint(checkpoint, program, tol)
    saved = None if file is None else file.saved
    accuracy = min(1e-6, 0.01 * tol)
    # Overflow far from the solution is an infinite value, not news for the user.
    with np.errstate(all="ignore"):
        # Short of its own tolerance the relaxation is still a bound: the gap below says it all.
        workspace = Workspace(program)
        relaxing = partial(relaxation_of, program, callback=callback, workspace=workspace)
        until = deadline.part(RELAX)
        relaxed = relaxing(accuracy, time_limit=until)
        # A model that fits well may need more digits: its gap is relative to a small objective.
        steps, size = 0, program.size(relaxed.value)
        if relaxed.value - relaxed.lower > 0.01 * tol * size and not relaxed.interrupted:
            digits = size / max(abs(relaxed.value), abs(program.null), 1e-300)
            steps = relaxed.stats.newton_steps
            finer = max(accuracy * digits, 1e-13)
            relaxed = relaxing(finer, start=relaxed, time_limit=until)
        models = Search(program, relaxed, known, deadline, Pool(program, workspace))
        goal = relaxed.lower + CLOSED * tol * program.size(relaxed.lower)
        # An exact search comes back for more models when it turns out to be a long one.
        brief = to_the_end or models.interrupted
        found = models.quick(goal) if brief else models.run(goal)
        model, coef, intercept = as_returned(program, found)
        # The two further relaxations wait where a search is likely to prove more.
        relaxations = [relaxed]
        if not brief:
            relaxations = dual_points(program, relaxed, time_limit=deadline, workspace=workspace)
            models.interrupted |= any(each.interrupted for each in relaxations)
        points = [each.point for each in relaxations]
        steps += sum(each.stats.newton_steps for each in relaxations)
        certificate = certificate_from(program, points, model)
        if saved is None and not models.interrupted:
            root = better_root(program, relaxed, model, certificate, tol, deadline, alone=not exact)
            if root is not None:
                certificate = with_tree(program, model, root.tree, root.lower)
        nodes, unfinished, outlook = 0, "", None
        wide = wide_gap(program, certificate, tol)
        proof: Proof | None = None
        # Without any feature there is nothing to search.
        if exact and wide and not program.never.all() and not models.interrupted:
            most = math.inf if node_limit is None else node_limit
            try:
                search = ExactSearch(program, relaxed, model, tol, saved, deadline, exact)
                budget = search.budget(exact, effort)
                proof = search.run(
                    lambda: models.interrupted or search.spent(budget),
                    most,
                    callback,
                    file,
                    (lambda: models.run(goal)) if to_the_end else None,
                    halfway.late,
                )
            except TooLarge as large:
                unfinished = (
                    f" No exact search was begun: {counted(large.count, 'feature')} are left to "
                    "choose among, more than are searched unless that is asked for."
                )
            except TimeUp:
                unfinished = " There was no time for the search." * to_the_end
        if proof is None and saved is not None and wide:
            proof = proof_of(program, saved, model)
        if proof is not None:
            nodes, steps = proof.nodes, steps + proof.newton_steps
            found = best((found, proof.model))
            short = partial(_short, program, proof, tol)
            if to_the_end and not proof.open and short(found):
                # Leaves that rounding does not let close may hold a better model.
                found = best((found, models.run(goal)))
            model, coef, intercept = as_returned(program, found)
            if short(model):
                unfinished, outlook = _why_unfinished(proof), proof.outlook if proof.open else None
                if to_the_end and not models.interrupted:
                    others = dual_points(program, relaxed, time_limit=deadline)
                    points = [each.point for each in others]
                    steps += sum(each.stats.newton_steps for each in others[1:])
            leaves = certificate_from(program, points, model)
            trees = (certificate.tree, certificate.lower), (proof.tree, proof.lower)
            certificate = leaves
            for tree, lower in trees:
                if tree is not None and lower >= certificate.lower:
                    certificate = with_tree(program, model, tree, lower)
        if wide and not unfinished:
            if models.interrupted:
                unfinished = " The search was interrupted: a longer one may find a better model."
            elif until.cut or deadline.cut:
                unfinished = " The time limit ended the work: more time may find a better model."
        screened = screen_at(program, relaxed.point, model.value)
    stats = SolutionStats(
        full_passes=program.matrix.passes - first_pass,
        newton_steps=steps,
        models=models.refitted,
        nodes=nodes,
        seconds=deadline.seconds,
        interrupted=models.interrupted,
    )
    return Solution.of(
        program, certificate, coef, intercept, screened, relaxed, stats, tol, unfinished, outlook
    )


def _short(program: Program, proof: Proof, tol: float, model: Model) -> bool:
    """Whether a search has not proved a model to be optimal."""
    return program.relative(model.value - proof.lower, model.value) > tol


def _why_unfinished(proof: Proof) -> str:
    """Why a search has not proved its model to be optimal, as sentences after another one."""
    if proof.open:
        stopped = f" The search stopped with {proof.open} open of {counted(proof.nodes, 'node')}. "
        return stopped + proof.outlook.words
    return (
        " The search is done, but rounding leaves more of a gap than tol: pass standardize=True, "
        "or subtract constants from columns and from a response that are far from 0."
    )
