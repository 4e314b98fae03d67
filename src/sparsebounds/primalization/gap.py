"""gap_bounds: how far the sparse optimum can be from its relaxation, before and after the fact.

p is the sparse optimum, p** the relaxed one, r the rank of X, r_T that of the tied columns. From a
relaxed point that is not optimal its value t stands in for p** above, a dual value below.

    stated    the paper's numbers, from r
    refined   from r_T, and sharp: examples attain them; never below what a model at hand attains
    exact     the primalized point itself, whose objective is known by formula
    same_k    p**(k) <= p(k) <= p**(k'), k' the largest budget whose primalized point has at most k
              nonzeros: k' >= k - r + 1
    rounded   p(k) from rounding in pairs, for losses of bounded curvature

For a non-convex loss f all of this is first about its envelope f** on a box; f - f** at the
primalized point, `lack`, makes statements about f of it (section 3.3, with the number at the point
in the place of its supremum rho over the box).

`exact` and `same_k` are attained: their values are objectives, rounded up. The others are theorems
about real numbers with a rank computed in floating point; their sentences say so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import spoken
from sparsebounds.bounds import (
    dual_value,
    floor,
    largest_sum,
    objective_up,
    refined_excess,
    refined_nonzeros,
    stated_excess,
    stated_nonzeros,
)
from sparsebounds.fitting import Model, best, evaluated, inside_ball, refit
from sparsebounds.losses import Envelope
from sparsebounds.primalization.pair import check_pair
from sparsebounds.primalization.primalize import primalized, with_lack
from sparsebounds.primalization.rank import Rank, rank_of_columns
from sparsebounds.primalization.result import Primalization
from sparsebounds.primalization.rounding import round_in_pairs
from sparsebounds.primalization.ties import TiedPoint, tied_point
from sparsebounds.primalization.vertex import DEPENDENT
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, relaxation_of

DIGITS = 1e-6
"""A relaxed value this near to a dual one, relative to max(|value|, |null|), is called p**."""

GRID = 2000
"""Cells of the box on which a loss is compared with its envelope."""


@dataclass(frozen=True)
class GapBound:
    """An upper bound on a sparse optimum; it prints as the sentence that says where it is from.

    Attributes
    ----------
    value : float
        The bound; NaN where it does not apply.
    cardinality : int or None
        k forms: the number of nonzeros it allows, so that p(cardinality) <= value; else None.
    sentence : str
        The bound and where it is from.
    model : Model or None
        A model that attains it, or does better, where there is one.

    Examples
    --------
    >>> data = sb.datasets.make_low_rank(60, 20, rank=3)
    >>> program = sb.Program(data.X, data.y, l0=0.5, ridge=0.1)
    >>> bound = sb.gap_bounds(program, sb.relax(program)).exact
    >>> bound.model is not None, bound.value >= sb.relax(program).lower
    (True, True)
    """

    value: float
    cardinality: int | None
    sentence: str
    model: Model | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class GapBounds:
    """How far the sparse optimum can be from its relaxation, by several arguments.

    Attributes
    ----------
    rank : int
        r, of the columns centred where there is an intercept; at most this, where it is large.
    rank_tied : int
        r_T: the same for the tied columns alone.
    stated : GapBound
        The paper's numbers, from r.
    refined : GapBound
        From r_T, and sharp: examples attain it.
    exact : GapBound
        The primalized point itself, whose objective is known by formula.
    same_k : GapBound
        p(k) <= p**(k'), k' the largest budget whose primalized point has at most k nonzeros.
    rounded : GapBound
        From rounding in pairs, for losses of bounded curvature.
    rho : float
        The lack of convexity sup f - f** over the box, for a non-convex loss; rounded up.
    lack : float
        f - f** at the primalized point, all that its own objective exceeds OPT by.

    See Also
    --------
    gap_bounds : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_low_rank(60, 20, rank=3)
    >>> program = sb.Program(data.X, data.y, l0=0.5, ridge=0.1)
    >>> bounds = sb.gap_bounds(program, sb.relax(program))
    >>> bounds.rank, bounds.exact.value <= bounds.refined.value <= bounds.stated.value
    (3, True)
    """

    rank: int
    rank_tied: int
    stated: GapBound
    refined: GapBound
    exact: GapBound
    same_k: GapBound
    rounded: GapBound
    rho: float = 0.0
    lack: float = 0.0

    def __str__(self) -> str:
        return "\n".join(
            str(bound)
            for bound in (self.stated, self.refined, self.exact, self.same_k, self.rounded)
        )


@one_thread()
@np.errstate(over="ignore", invalid="ignore")
@spoken
def gap_bounds(program: Program, relaxed: Relaxation) -> GapBounds:
    """The Shapley-Folkman bounds of a program, from its relaxation.

    Parameters
    ----------
    program : Program
        The sparse program.
    relaxed : Relaxation
        What `relax` returned for it. The bounds hold for an inexact one, with the value of its
        point in the place of p**.

    Returns
    -------
    GapBounds
        The paper's bound, ours, and what is attained.

    See Also
    --------
    primalize : The point that attains `exact`.

    Notes
    -----
    The paper's are p <= p** + l0 (r + 1) and p(k + r + 2) <= p**(k), r the rank of X. In the
    k forms `same_k` solves up to r - 1 more relaxations, each from the last one.

    Examples
    --------
    >>> data = sb.datasets.make_low_rank(60, 20, rank=3)
    >>> program = sb.Program(data.X, data.y, l0=0.5, ridge=0.1)
    >>> relaxed = sb.relax(program)
    >>> bounds = sb.gap_bounds(program, relaxed)
    >>> print(f"{relaxed.value:.2f} {bounds.exact.value:.2f} {bounds.stated.value:.2f}")
    3.38 3.90 5.38
    """
    posed, program = program, check_pair(program, relaxed)
    point = tied_point(program, relaxed.w, relaxed.b)
    primal = primalized(point)
    rank = rank_of_columns(program)
    lower = max(dual_value(program, relaxed.dual), floor(program))
    name = _name(program, point.value, lower)
    bounds = GapBounds(
        rank=rank.value,
        rank_tied=primal.rank_tied,
        stated=_stated(point, rank, name),
        refined=_refined(point, primal, name),
        exact=_exact(program, primal, name),
        same_k=_same_k(program, relaxed, primal, rank, _below(name, lower)),
        rounded=_rounded(point, primal, name),
    )
    return bounds if program is posed else _with_lack(posed, program, bounds, primal)


def _with_lack(
    program: Program, convex: Program, bounds: GapBounds, primal: Primalization
) -> GapBounds:
    """Bounds on the program itself from those on its convex one: section 3.3, point by point."""
    lack = with_lack(program, primal).lack
    rho = _lack_of_convexity(program, convex)
    chain = f"f - f** is {lack:.6g} there, and at most rho = {rho:.6g} on the box"

    def raised(bound: GapBound) -> GapBound:
        """Theorems about the primalized point: its own objective is f - f** more."""
        value = bound.value + lack
        text = f"{bound.sentence} For the {program.loss.name} loss: {value:.6g}, as {chain}."
        return GapBound(value, bound.cardinality, text)

    def attained(bound: GapBound) -> GapBound:
        if bound.model is None:
            return bound
        own = evaluated(program, bound.model.w, bound.model.b)
        text = f"{bound.sentence} With the {program.loss.name} loss itself {own.value:.6g}."
        return GapBound(own.value, bound.cardinality, text, own)

    return replace(
        bounds,
        stated=raised(bounds.stated),
        refined=raised(bounds.refined),
        exact=attained(bounds.exact),
        same_k=attained(bounds.same_k),
        rho=rho,
        lack=lack,
    )


def _lack_of_convexity(program: Program, convex: Program) -> float:
    """sum_i p_i sup (loss - envelope) over the box, from a grid and the largest slope on it."""
    envelope, y = convex.loss, program.y
    assert isinstance(envelope, Envelope)
    lo, hi = envelope.lo, envelope.hi
    half = (hi - lo) / (2.0 * GRID)
    most, steepest = np.zeros(len(y)), np.zeros(len(y))
    for share in np.arange(GRID + 1) / GRID:
        z = np.clip(lo + share * (hi - lo), lo, hi)
        most = np.maximum(most, program.loss.value(y, z) - envelope.value(y, z))
        slope = program.loss.gradient(y, z) - envelope.gradient(y, z)
        steepest = np.maximum(steepest, np.abs(slope))
    return float(program.F.p @ (most + steepest * half))


def _name(program: Program, value: float, lower: float) -> str:
    """p**, unless the relaxed point is too far from it to go by that name."""
    if not value - lower <= DIGITS * max(abs(value), abs(program.null)) + program.rounding:
        return "the relaxed value"
    return "p**" if program.k is None else f"p**({program.k})"


def _below(name: str, lower: float) -> str:
    return f"{name} = {lower:.6g}" if name.startswith("p**") else f"the dual value {lower:.6g}"


def _stated(point: TiedPoint, rank: Rank, name: str) -> GapBound:
    program, value = point.program, point.value
    where = {
        "k+ridge": "Theorem 2.1",
        "l0+ridge": "Corollary 3.1",
        "k+ball": "Corollary 4.1",
        "l0+ball": "Corollary 4.2",
    }[program.form]
    if program.k is not None:
        most = stated_nonzeros(program, rank.value)
        claim = f"p(k + r + 2) = p({most}) <= {name} = {value:.6g}"
        return GapBound(value, most, f"As stated ({where} of the paper): {claim}, {rank}.")
    bound = value + stated_excess(program, rank.value)
    claim = f"p <= {name} + l0 (r + 1) = {value:.6g} + {bound - value:.6g} = {bound:.6g}"
    return GapBound(bound, None, f"As stated ({where} of the paper): {claim}, {rank}.")


def _refined(point: TiedPoint, primal: Primalization, name: str) -> GapBound:
    program, value, rank = point.program, point.value, primal.rank_tied
    bound, most, model = value, program.k, primal.model
    optimum = "p" if program.k is None else f"p({program.k})"
    tail = (
        f", r_T = {rank} the rank of the {len(point.tied)} tied columns "
        f"(distances below {DEPENDENT:g} of a column are 0)"
    )
    if primal.argument == "sparse":
        claim = f"{optimum} <= {name} = {value:.6g}"
        tail = ": the relaxed weights are 0 and 1, no feature is tied"
    elif program.k is not None:
        most = refined_nonzeros(program, rank)
        claim = f"p(k + r_T - 1) = p({most}) <= {name} = {value:.6g}"
    else:
        excess = refined_excess(program, point.cost, program.F.p @ point.columns**2, rank)
        formula = "l0 r_T"
        if excess < largest_sum(point.cost, rank):
            formula = "r_T of the l0 phi(L |x_i|^2/ridge)"
            whole = refit(program, np.flatnonzero((primal.u == 1.0) & (primal.w != 0.0)))
            model = best((model, whole))
        bound = value + excess
        claim = f"p <= {name} + {formula} = {value:.6g} + {excess:.6g} = {bound:.6g}"
    # The rank was computed, and a model decides.
    if f"{max(bound, model.value):.6g}" != f"{bound:.6g}":
        tail += f"; raised to {model.value:.6g}, which a model attains"
    return GapBound(max(bound, model.value), most, f"Refined: {claim}{tail}.", model)


def _exact(program: Program, primal: Primalization, name: str) -> GapBound:
    start = "p**" if name.startswith("p**") else "t"
    formula = {
        "k+ridge": f"{start} - tau sum_S u(1 - u)",
        "l0+ridge": f"{start} + l0 sum_S (1 - u)^2",
        "k+ball": start,
        "l0+ball": f"{start} + l0 sum_S (1 - u)",
    }[program.form]
    count = None if program.k is None else primal.n_nonzero
    optimum = "p" if count is None else f"p({count})"
    where = "" if start == "p**" else f"; t = {primal.relaxed_value:.6g} is their relaxed value"
    sentence = (
        f"Exact: {optimum} <= OPT = {formula} = {primal.value:.6g}, attained by the primalized "
        f"point; {primal.n_fractional} of its {primal.n_nonzero} weights were rounded up (the set "
        f"S){where}."
    )
    return GapBound(
        primal.value, count, sentence, Model(primal.value, primal.w, primal.b, math.nan)
    )


def _same_k(
    program: Program, relaxed: Relaxation, primal: Primalization, rank: Rank, lower: str
) -> GapBound:
    if program.k is None:
        return _none("Same k: the program sets a price l0 and no k.")
    k, found = program.k, relaxed
    for size in range(k, -1, -1):
        if size < k:
            smaller = program.with_budget(size)
            found = relaxation_of(smaller, start=found)
            primal = primalized(tied_point(smaller, found.w, found.b))
        if primal.n_nonzero <= k:
            break
        if size < k and found.interrupted:
            return _none("Same k: interrupted; call gap_bounds again to go on.")
    promised = k - max(rank.value, 1) + 1
    formula = "k - r + 1" if rank.value else "k"
    claim = f"k' >= {formula} = {promised} is promised"
    if promised < 0:
        claim = "k < r - 1 promises nothing"
    sentence = (
        f"Same k: {lower} <= p({k}) <= {primal.refit_value:.6g}, attained by the refit of the "
        f"point primalized at k' = {size}, whose relaxed value is {primal.relaxed_value:.6g}; "
        f"{claim}, {rank}."
    )
    return GapBound(primal.refit_value, k, sentence, primal.model)


def _rounded(point: TiedPoint, primal: Primalization, name: str) -> GapBound:
    program = point.program
    if program.k is None:
        return _none("Rounded in pairs: the program sets a price l0 and no k.")
    u, excess = round_in_pairs(point, primal.u[point.tied])
    if math.isnan(excess):
        return _none(f"Rounded in pairs: the {program.loss.name} loss has no largest curvature L.")
    w, b = point.moved(u)
    w = inside_ball(program, w)
    rounded = Model(objective_up(program, w, b), w, b, math.nan)
    # The model decides in the last digits.
    bound = max(primal.relaxed_value + excess, rounded.value)
    model = best((refit(program, rounded.support), rounded))
    if primal.n_fractional == 0:
        sentence = (
            f"Rounded in pairs: p({program.k}) <= OPT = {bound:.6g}: no weight is fractional."
        )
        return GapBound(bound, program.k, sentence, model)
    sentence = (
        f"Rounded in pairs: p({program.k}) <= {name} + L D^2/4 sum_S u(1 - u) = {bound:.6g}, "
        f"L = {program.loss.smoothness:g} the largest curvature of the loss and D the largest "
        f"distance between two of the {primal.n_fractional} fractional columns x_i v_i; the "
        f"rounded model, refitted, attains {model.value:.6g}."
    )
    return GapBound(bound, program.k, sentence, model)


def _none(reason: str) -> GapBound:
    return GapBound(math.nan, None, reason)
