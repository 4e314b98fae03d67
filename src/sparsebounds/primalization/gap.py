"""gap_bounds: how far the sparse optimum can be from its relaxation, before and after the fact.

p is the sparse optimum, p** the relaxed one, r the rank of X, r_T that of the tied columns.

    stated    the paper's numbers, from r
    refined   from r_T, and sharp: examples attain them
    exact     the primalized point itself, whose objective is known by formula
    same_k    p**(k) <= p(k) <= p**(k'), k' the largest budget whose primalized point has at most k
              nonzeros: k' >= k - r + 1
    rounded   p(k) from rounding in pairs, for losses of bounded curvature

`exact` and `same_k` are attained: their values are objectives, rounded up. The others are theorems
about real numbers with a rank computed in floating point; their sentences say so.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np

from sparsebounds.bounds import objective_up
from sparsebounds.bounds.shapley_folkman import (
    refined_excess,
    refined_nonzeros,
    stated_excess,
    stated_nonzeros,
)
from sparsebounds.primalization.point import check_pair, primalize
from sparsebounds.primalization.rank import Rank, numerical_rank
from sparsebounds.primalization.result import Primalization
from sparsebounds.primalization.rounding import round_in_pairs
from sparsebounds.primalization.ties import TiedPoint, tied_point
from sparsebounds.primalization.vertex import DEPENDENT
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, RelaxationWarning, relax
from sparsebounds.relaxation.refit import Model, inside_ball, refit


@dataclass(frozen=True)
class GapBound:
    """An upper bound on a sparse optimum; it prints as the sentence that says where it is from."""

    value: float
    """The bound; NaN where it does not apply."""

    cardinality: int | None
    """k forms: the number of nonzeros it allows, so that p(cardinality) <= value; else None."""

    sentence: str
    model: Model | None = field(default=None, repr=False)
    """A model that attains it, or does better, where there is one."""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class GapBounds:
    """The bounds above for one program and its relaxation."""

    rank: int
    """r, of the columns centred where there is an intercept; at most this, where it is large."""

    rank_tied: int
    """r_T: the same for the tied columns alone."""

    stated: GapBound
    refined: GapBound
    exact: GapBound
    same_k: GapBound
    rounded: GapBound

    def __str__(self) -> str:
        return "\n".join(
            str(bound)
            for bound in (self.stated, self.refined, self.exact, self.same_k, self.rounded)
        )


@np.errstate(over="ignore", invalid="ignore")
def gap_bounds(program: Program, relaxed: Relaxation) -> GapBounds:
    """The Shapley-Folkman bounds of a program, from its relaxation.

    Parameters
    ----------
    program : Program
    relaxed : Relaxation
        What `relax` returned for it. The bounds hold for an inexact one, with its `value` in the
        place of p**.

    In the k forms `same_k` solves up to r - 1 more relaxations, each from the last one.
    """
    check_pair(program, relaxed)
    primal = primalize(program, relaxed, draws=0)
    point = tied_point(program, relaxed.w, relaxed.b)
    rank = numerical_rank(program)
    return GapBounds(
        rank=rank.value,
        rank_tied=primal.rank_tied,
        stated=_stated(program, relaxed, rank),
        refined=_refined(point, primal, _name(program, relaxed)),
        exact=_exact(program, primal),
        same_k=_same_k(program, relaxed, primal, rank),
        rounded=_rounded(point, primal),
    )


def _name(program: Program, relaxed: Relaxation) -> str:
    """p**, unless the relaxed point is too far from it to go by that name."""
    if relaxed.status == "bounded":
        return "the relaxed value"
    return "p**" if program.k is None else f"p**({program.k})"


def _stated(program: Program, relaxed: Relaxation, rank: Rank) -> GapBound:
    value, name = relaxed.value, _name(program, relaxed)
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
    if primal.argument == "sparse":
        optimum = "p" if program.k is None else f"p({program.k})"
        claim = f"{optimum} <= {name} = {value:.6g}"
        sentence = f"Refined: {claim}: the relaxed weights are 0 and 1, no feature is tied."
        return GapBound(value, program.k, sentence)
    tail = (
        f"r_T = {rank} the rank of the {len(point.tied)} tied columns "
        f"(distances below {DEPENDENT:g} of a column are 0)."
    )
    if program.k is not None:
        most = refined_nonzeros(program, rank)
        claim = f"p(k + r_T - 1) = p({most}) <= {name} = {value:.6g}"
        return GapBound(value, most, f"Refined: {claim}, {tail}")
    plain = refined_excess(program, point.cost, np.full(len(point.tied), np.inf), rank)
    sizes = program.F.p @ point.columns**2
    excess = refined_excess(program, point.cost, sizes, rank)
    bound = value + excess
    formula = "l0 r_T" if excess == plain else "r_T of the min(l0, L |x_i v_i|^2/8)"
    claim = f"p <= {name} + {formula} = {value:.6g} + {excess:.6g} = {bound:.6g}"
    return GapBound(bound, None, f"Refined: {claim}, {tail}")


def _exact(program: Program, primal: Primalization) -> GapBound:
    formula = {
        "k+ridge": "p** - tau sum_S u(1 - u)",
        "l0+ridge": "p** + l0 sum_S (1 - u)^2",
        "k+ball": "p**",
        "l0+ball": "p** + l0 sum_S (1 - u)",
    }[program.form]
    count = None if program.k is None else primal.n_nonzero
    name = "p" if count is None else f"p({count})"
    sentence = (
        f"Exact: {name} <= OPT = {formula} = {primal.value:.6g}, attained by the primalized point; "
        f"{primal.n_fractional} of its {primal.n_nonzero} weights were rounded up (the set S)."
    )
    return GapBound(
        primal.value, count, sentence, Model(primal.value, primal.w, primal.b, math.nan)
    )


def _same_k(program: Program, relaxed: Relaxation, primal: Primalization, rank: Rank) -> GapBound:
    if program.k is None:
        return _none("Same k: the program sets a price l0 and no k.")
    k, found = program.k, relaxed
    for size in range(k, -1, -1):
        if size < k:
            smaller = program.with_budget(size)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RelaxationWarning)
                found = relax(smaller, start=found)
            primal = primalize(smaller, found, draws=0)
        if primal.n_nonzero <= k:
            break
    promised = k - rank.value + 1
    claim = (
        f"k' >= k - r + 1 = {promised} is promised"
        if promised >= 0
        else "k < r - 1 promises nothing"
    )
    sentence = (
        f"Same k: p**({k}) = {relaxed.value:.6g} <= p({k}) <= {primal.refit_value:.6g}, attained "
        f"by the refit of the point primalized at k' = {size}, p**({size}) = {found.value:.6g}; "
        f"{claim}, {rank}."
    )
    return GapBound(primal.refit_value, k, sentence, primal.model)


def _rounded(point: TiedPoint, primal: Primalization) -> GapBound:
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
    model = min(refit(program, rounded.support), rounded, key=lambda model: model.value)
    if primal.n_fractional == 0:
        sentence = (
            f"Rounded in pairs: p({program.k}) <= OPT = {bound:.6g}: no weight is fractional."
        )
        return GapBound(bound, program.k, sentence, model)
    sentence = (
        f"Rounded in pairs: p({program.k}) <= p** + L D^2/4 sum_S u(1 - u) = {bound:.6g}, "
        f"L = {program.loss.smoothness:g} the largest curvature of the loss and D the largest "
        f"distance between two of the {primal.n_fractional} fractional columns x_i v_i; the "
        f"rounded model, refitted, attains {model.value:.6g}."
    )
    return GapBound(bound, program.k, sentence, model)


def _none(reason: str) -> GapBound:
    return GapBound(math.nan, None, reason)
