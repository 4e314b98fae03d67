"""near_optimal: all supports nearly as good as the best, and a proof that none is missing.

A support is a set S of features, at most k of them in the k forms, such that the best model with
no nonzeros outside S (and the features always in) is nonzero on all of S. Its value v(S) is that
model's objective. So

- every size counts: in the k forms a set with fewer than k features is a support of its own;
- a set on which the best model leaves a coefficient at 0 (a column of zeros, a sign constraint
  that binds) is not a support: the model belongs to the smaller set;
- features always in are part of every model and no part of the choice.

With scale(v) = max(|v|, |null|), the list holds every support with v(S) <= p + eps scale(p), p the
optimum, and none with v(S) > upper + (eps + tol) scale(upper) unless float64 cannot tell. A
coefficient counts as 0 where its column makes up less than 1e-12 of the fit: rounding.

Nodes and features are discarded by bounds rounded down, above upper + (eps + tol) scale(upper). As
v + eps scale(v) grows with v for eps < 1 and upper >= p, nothing within eps is lost, whichever
model gives `upper`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.deadline import RELAX, Deadline, Limit, TimeUp
from sparsebounds._support.decimals import counted
from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import spoken
from sparsebounds.bounds import RowBounds, dual_point_at, enclosed
from sparsebounds.exact.enumeration import Enumeration, Found, Listing, NearProgress
from sparsebounds.exact.good_models import NearOptimal
from sparsebounds.exact.reduction import (
    Reduction,
    bounder_of,
    features_left,
    on_all,
    on_kept,
    require_time,
)
from sparsebounds.exact.row_enumeration import RowEnumeration
from sparsebounds.losses import Truncated
from sparsebounds.models import LocalSearch, Model, Search, as_returned
from sparsebounds.program import Program, check_program
from sparsebounds.relaxation import Progress, Relaxation, relaxation_of

__all__ = ["NearOptimal", "NearProgress", "near_optimal"]

AROUND, MOST_AROUND, LEAST_SECONDS = 0.01, 100, 1.0
"""Of the list in a report: how near, how many models, and for how long at least it may take."""

LEAST_TOL = 1e-12
"""Below this the cutoff itself is rounded."""

LOST = 1e-6
"""The part of the scale that the bounds of nodes may lose by rounding in a smaller program."""

Returned: TypeAlias = tuple[Model, Vector, float]
"""What `as_returned` makes of a model."""


@one_thread()
# Overflow far from the solution is an infinite value, not news for the user.
@np.errstate(all="ignore")
@spoken
def near_optimal(
    program: Program,
    eps: float,
    *,
    max_supports: int = 1000,
    tol: float = 1e-9,
    time_limit: Limit = None,
    node_limit: int | None = None,
    callback: Callable[[Progress | NearProgress], None] | None = None,
) -> NearOptimal:
    """Every support whose best objective is within eps of the optimum.

    Parameters
    ----------
    program : Program
        The sparse program, of a convex loss or the truncated one. Values for the latter are
        proved to 1e-6 of them.
    eps : float
        How near, relative to the optimum or to the objective without features, whichever is larger;
        0 asks for the best supports, ties included.
    max_supports : int, default 1000
        The search ends early at more than so many.
    tol : float, default 1e-9
        The relative accuracy of the comparison: all supports within eps are listed, some within
        eps + tol may be.
    time_limit : float, optional
        Seconds after which the search ends.
    node_limit : int, optional
        Nodes after which it ends.
    callback : callable, optional
        Called with the progress of the relaxation and of the search.

    Returns
    -------
    NearOptimal
        The supports, best first. After a limit or Ctrl-C, and where float64 leaves a value
        unknown, `complete` is False; `complete_to` and `message` then say what is proved.

    Raises
    ------
    ValueError
        Where the loss is neither convex nor truncated, or an argument makes no sense.

    Notes
    -----
    A support is within eps where its best objective is at most
    ``optimum + eps max(|optimum|, |null|)``.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> near = sb.near_optimal(sb.Program(data.X, data.y, k=3, ridge=0.1), 0.2)
    >>> near.supports
    ((0, 9, 19), (1, 9, 19), (0, 10, 19), (0, 1, 19), (0, 8, 19))
    """
    check_program(program)
    if not (isinstance(program.loss, Truncated) and RowBounds.known(program)):
        program.require_convex("near_optimal")
    eps = check.share("eps", eps, 0.0, "0.01")
    tol = check.share("tol", tol, LEAST_TOL, "1e-9")
    max_supports = check.whole_number("max_supports", max_supports, 1)
    check.check_node_limit(node_limit)
    check.check_callback(callback)
    deadline = Deadline.of(time_limit)
    most_nodes = math.inf if node_limit is None else node_limit
    # Short of its own tolerance the relaxation is still a bound.
    convex = program if program.loss.convex else enclosed(program)
    relaxed = relaxation_of(convex, 1e-6, time_limit=deadline.part(RELAX), callback=callback)
    kind = Search if program.loss.convex else LocalSearch
    model = kind(program, relaxed, deadline=deadline).run()
    neighbourhood = Neighbourhood(program, relaxed, model, eps, tol, deadline)

    def limit() -> str:
        """The limit that is reached; empty where none is."""
        if len(neighbourhood.listed()) > max_supports:
            return f"max_supports={max_supports}"
        if neighbourhood.nodes >= most_nodes:
            return f"node_limit={node_limit}"
        return f"time_limit={time_limit}" if deadline.late() else ""

    try:
        with contextlib.suppress(TimeUp):
            neighbourhood.run(lambda: bool(limit()), callback)
        # A step that would not have ended in time was not begun.
        reason = limit() or f"time_limit={time_limit}"
    except KeyboardInterrupt:
        reason = "Ctrl-C"
    return neighbourhood.result(max_supports, reason, deadline.seconds)


def near_around(program: Program, seconds: float) -> NearOptimal | None:
    """A short list of models nearly as good as the best, for a report; None for a loss not convex.

    `seconds` are those that the program's solution took.
    """
    if not program.loss.convex:
        return None
    limit = max(LEAST_SECONDS, seconds)
    found = near_optimal(program, AROUND, max_supports=MOST_AROUND, time_limit=limit)
    if found.complete:
        return found
    near = f"at most {100.0 * AROUND:g}% of {program.yardstick(found.upper)} above the best"
    message = (
        f"{counted(len(found.supports), 'support')} {near} are listed, and others may be missing: "
        "near_optimal, or near on the command line, lists all, with more time."
    )
    return replace(found, message=message)


class Neighbourhood:
    """The supports near the optimum, searched on the features that the relaxation leaves."""

    def __init__(
        self,
        program: Program,
        relaxed: Relaxation,
        model: Model,
        eps: float,
        tol: float,
        deadline: Deadline,
    ) -> None:
        self.program, self.eps, self.tol, self.deadline = program, eps, tol, deadline
        self.search: Listing | None = None
        self.relaxed, self.model = relaxed, model
        self.kept = np.flatnonzero(~program.never)

    def _reduced_search(self) -> Enumeration:
        """The search, without the features that no support below the cutoff can have."""
        program, model, relaxed = self.program, self.model, self.relaxed
        cutoff, scale = self._cutoff_at(model.value), self._scale(model.value)
        # With an intercept, bounds end at the null model's value: no bound of |b| holds above it.
        lifted = program.up_to(cutoff + scale)
        point = dual_point_at(lifted, relaxed.point.t, relaxed.point.scores)
        self.kept = features_left(lifted, point, cutoff)
        require_time(program, len(self.kept), self.deadline)
        reduction = Reduction.at(lifted, self.kept, point.t, model, LOST * scale)
        bounder = bounder_of(reduction.program, np.inf, self.deadline)
        best = on_kept(model, self.kept)
        return Enumeration(reduction.program, best, self._cutoff_at, bounder, reduction)

    def _row_search(self) -> RowEnumeration:
        """The search for the truncated loss: every multiplier of the ball will do."""
        program, model, eta = self.program, self.model, self.relaxed.eta
        if program.ball is not None and not eta > 0.0:
            eta = max(program.null, 1e-300) / program.ball
        return RowEnumeration(program, model, self._cutoff_at, eta, self.deadline)

    @property
    def nodes(self) -> int:
        """Nodes so far."""
        return 0 if self.search is None else self.search.nodes

    def run(self, stop: Callable[[], bool], report: Callable[[NearProgress], None] | None) -> None:
        """Search until done or stopped."""
        if not self.program.free.any() or stop():
            return
        # It is set before it starts: wherever Ctrl-C ends it, what it found is listed.
        if self.program.loss.convex:
            self.search = search = self._reduced_search()
            search.start(self.relaxed.w[self.kept], self.relaxed.b * search.program.fit_intercept)
        else:
            self.search = rows = self._row_search()
            rows.start()
        self.search.run(stop, report)

    def listed(self) -> list[Found]:
        """The supports found that are not proved to be further than eps from the best value."""
        if self.search is None:
            return []
        upper = self.search.incumbent.value
        near, cutoff = upper + self.eps * self._scale(upper), self.search.level
        found = self.search.supports()
        return [one for one in found if one.lower <= near or one.model.value < cutoff]

    def result(self, most: int, reason: str, seconds: float) -> NearOptimal:
        """What was found, and what is proved about it."""
        program = self.program
        found = sorted(self.listed(), key=lambda one: one.model.value)
        lower, best = self.relaxed.lower, self.model
        unseen = lower if program.free.any() else math.inf
        if self.search is not None:
            unseen, lower = max(unseen, self.search.unseen), max(lower, self.search.lower)
            best = self._whole(self.search.incumbent)
            reason = "" if self.search.ended and len(found) <= most else reason
        complete = unseen == math.inf and len(found) <= most
        models = [self._whole(one.model) for one in found[:most]]
        if not program.free.any():
            models = [self.model]
        elif not complete and not any(np.array_equal(best.support, one.support) for one in models):
            models = [best, *models[: most - 1]]
        top = as_returned(program, best)
        returned = [_better(as_returned(program, one), top) for one in models]
        returned.sort(key=lambda one: (one[0].value, one[0].support.tolist()))
        values = np.array([one.value for one, _, _ in returned])
        upper = min(top[0].value, float(np.min(values, initial=np.inf)))
        unseen = min([unseen, *(one.lower for one in found[most:])])
        radius = self.eps if complete else self._radius(unseen, upper)
        return NearOptimal(
            eps=self.eps,
            supports=tuple(tuple(np.flatnonzero(coef).tolist()) for _, coef, _ in returned),
            values=values,
            coefficients=tuple(coef[coef != 0.0] for _, coef, _ in returned),
            intercepts=np.array([intercept for _, _, intercept in returned]),
            lower=lower,
            upper=upper,
            complete=complete,
            complete_to=radius,
            message=self._message(len(returned), complete, radius, reason, upper),
            m=program.m,
            nodes=self.nodes,
            seconds=seconds,
            feature_names=program.feature_names,
        )

    def _radius(self, unseen: float, upper: float) -> float:
        """Every support of a value below `unseen` is listed: how near to the optimum is that?"""
        radius = (unseen - upper) / self._scale(upper) - LEAST_TOL
        return min(radius, self.eps) if radius >= 0.0 else math.nan

    def _message(self, count: int, complete: bool, radius: float, reason: str, upper: float) -> str:
        near = f"at most {100.0 * self.eps:g}% of {self.program.yardstick(upper)} above the optimum"
        if complete and count == 1:
            return f"One support is {near}; it is proved that there is no other."
        if complete:
            return f"{count} supports are {near}; it is proved that there are no others."
        known = f"it is proved that none at most {100.0 * radius:.3g}% above it is missing"
        if math.isnan(radius):
            known = "better ones than these may be missing"
        if not reason:
            return (
                f"{count} of the supports {near} are listed; {known}. The values of others are not "
                "known well enough to tell: scale the columns or raise the ridge."
            )
        return (
            f"The search for supports {near} ended early, at {reason}. {count} are listed; "
            f"{known}. To have all, lower eps or raise the limit."
        )

    def _scale(self, value: float) -> float:
        return max(abs(value), abs(self.program.null), self.program.rounding)

    def _cutoff_at(self, upper: float) -> float:
        """The first number above upper + (eps + tol) scale(upper)."""
        return math.nextafter(upper + (self.eps + self.tol) * self._scale(upper), math.inf)

    def _whole(self, model: Model) -> Model:
        return on_all(model, self.kept, self.program.m)


def _better(one: Returned, other: Returned) -> Returned:
    """The other model where it is a better one on the same support."""
    same = np.array_equal(one[0].support, other[0].support)
    return other if same and other[0].value < one[0].value else one
