"""What every answer of the package is held against: bounds, models and claims, in exact numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
from tests.hostile.attack import Finding
from tests.hostile.reference import Fit, Reference, blocks_of, decimal, exactly
from tests.hostile.spec import Spec

SHARE = 3e-12
"""A column that makes up more of the fit than this counts (the package documents 1e-12)."""


def columns_of(problem: Any) -> tuple[Any, ...]:
    """(center, scale) of a problem with standardized columns, and the entries of what whitens them
    within groups; nothing of another one."""
    return () if problem.standardize is None else problem.standardize


def wrong_scales(spec: Spec, problem: Any) -> str | None:
    """Whether stored means and scales are those of the columns, to rounding."""
    stored = columns_of(problem)
    if not stored:
        return "no scales are stored" if spec.standardize else None
    center, scale, *entries = stored
    weight = np.ones(len(spec.y)) if spec.weights is None else np.asarray(spec.weights)
    p = (weight / weight.sum()).astype(np.longdouble)
    X = spec.X.astype(np.longdouble)
    mean = p @ X
    spread = np.sqrt(p @ (X - mean) ** 2) if spec.fit_intercept else np.sqrt(p @ X**2)
    mine = mean if spec.fit_intercept else 0.0 * mean
    steady = spread <= 1e-12 * np.abs(mean) if spec.fit_intercept else spread == 0.0
    size = np.abs(mean) + spread
    if np.any(np.abs(center - mine) > 1e-9 * size):
        return f"stored centers {center} are not {mine}"
    if np.any((np.abs(scale - spread) > 1e-6 * spread) & ~steady):
        return f"stored scales {scale} are not {spread}"
    for members, block in blocks_of(spec, *entries):
        columns = ((X[:, members] - center[members]) / scale[members]) @ block
        products = (columns * p[:, None]).T @ columns
        idle = np.all(block == 0.0, axis=0)
        if np.any(np.abs(products - np.diag(np.where(idle, 0.0, 1.0))) > 1e-6):
            return f"columns {members} are stored as white, and have the products {products}"
    return None


def excess(spec: Spec, reference: Reference, upper: float) -> Decimal:
    """What a gap may be relative to: the larger of two objectives."""
    return max(abs(decimal(upper)), abs(reference.null.high))


def judge_bounds(reference: Reference, lower: float, upper: float, what: str) -> Finding | None:
    """lower <= optimum <= upper."""
    best = reference.best
    if math.isnan(lower) or math.isnan(upper):
        return Finding("a bound is not a number", f"{what}: lower {lower}, upper {upper}")
    dust = reference.dust
    if decimal(lower) > best.high + dust:
        return Finding(
            "lower bound above the optimum",
            f"{what}: lower {lower!r} > {best.high:.20g} attained on {best.support}",
        )
    if decimal(upper) < reference.low - dust:
        return Finding(
            "upper bound below the optimum", f"{what}: upper {upper!r} < {reference.low:.20g}"
        )
    return None


def judge_floor(reference: Reference, lower: float, what: str) -> Finding | None:
    """No lower bound is below what the loss itself gives."""
    floor = reference.floor
    with exactly():
        if decimal(lower) < floor - abs(floor) * Decimal("1e-12"):
            return Finding(
                "lower bound below the least loss", f"{what}: lower {lower!r} < {floor:.6g}"
            )
    return None


def judge_model(
    reference: Reference, coef: Any, intercept: Any, upper: float, what: str, *, user: bool
) -> Finding | None:
    """The model obeys its constraints and attains its upper bound."""
    spec = reference.spec
    if not (np.all(np.isfinite(coef)) and math.isfinite(intercept)):
        return Finding("a model is not finite", f"{what}: {coef}, {intercept}")
    own = np.asarray(coef, dtype=float)
    if user and spec.standardize:
        own = np.array([float(c) for c in reference.inward(own)])
    slack = 1e-9 if reference.mixed else 1e-12
    broken = reference.broken(own, slack if user and spec.standardize else 0.0)
    if broken is not None:
        return Finding("the model breaks a constraint", f"{what}: {broken}")
    value = reference.objective(coef, intercept, user=user)
    with exactly():
        slack = reference.dust
        if user:
            slack += Decimal("1e-11") * excess(spec, reference, upper)
        if value > decimal(upper) + slack:
            return Finding(
                "the model does not attain its upper bound",
                f"{what}: objective {value:.20g} > upper {upper!r}",
            )
    return None


def rounding_of(spec: Spec) -> Decimal:
    """A gap that is nothing but rounding: residuals of 1e-14 of what varies in the response."""
    y = np.asarray(spec.signs_or_y, dtype=float)
    y = y if spec.offset is None else y - spec.offset
    varies = y - y.mean() if spec.fit_intercept and np.ptp(y) > 0 else y
    return Decimal("1e-27") * decimal(float(np.mean(varies**2))) + Decimal("1e-149")


PERFECT = Decimal("1e-6")
"""Relative gaps are relative to the objective, or to this part of that without features."""


def judge_status(reference: Reference, solution: Any, tol: float, what: str) -> Finding | None:
    """ "optimal" means it, and rel_gap is the gap over the scale."""
    spec = reference.spec
    with exactly():
        gap = decimal(solution.upper) - decimal(solution.lower)
        scale = max(abs(decimal(solution.upper)), PERFECT * abs(reference.null.high))
        rounding = rounding_of(spec)
        allowed = max(decimal(tol) * scale * Decimal("1.000001"), rounding)
        if solution.status == "optimal" and gap > allowed:
            return Finding(
                "optimal with a wide gap",
                f"{what}: lower {solution.lower!r}, upper {solution.upper!r}, null "
                f"{reference.null.high:.6g}, optimum {reference.best.high:.10g}",
            )
        relative = gap / scale if scale else Decimal(0)
        told = decimal(solution.rel_gap)
        if abs(told - relative) > Decimal("1e-6") * relative and gap > rounding:
            return Finding(
                "rel_gap is not the gap", f"{what}: {solution.rel_gap!r}, not {relative:.10g}"
            )
    return None


def judge_screening(
    reference: Reference, fixed_in: Any, fixed_out: Any, what: str
) -> Finding | None:
    """Features that are claimed to be in every best model, or in none."""
    if not (len(fixed_in) or len(fixed_out)):
        return None
    fits, leaders = _possible(reference), reference.spec.leaders
    groups = [{leaders[i] for i in fit.support} for fit in fits]
    for j in {leaders[int(j)] for j in fixed_in}:
        mine = list(zip(fits, (j in one for one in groups), strict=True))
        without = min((f.high for f, held in mine if f.obeys and not held), default=None)
        within = min((f.low for f, held in mine if held), default=None)
        if without is not None and (within is None or without < within):
            return Finding(
                "fixed_in is false", f"{what}: {j}, without {without:.17g}, with {within}"
            )
    for j in {leaders[int(j)] for j in fixed_out}:
        best = min((f.high for f in fits if f.obeys and j in _used(f, leaders)), default=None)
        apart = (f.low for f, one in zip(fits, groups, strict=True) if j not in one)
        without = min(apart, default=None)
        if best is not None and (without is None or best < without):
            return Finding("fixed_out is false", f"{what}: {j}, with {best:.17g} < {without}")
    return None


def _used(fit: Fit, leaders: tuple[int, ...]) -> set[int]:
    """The groups with a coefficient that is surely not 0."""
    pairs = zip(fit.support, fit.w, strict=True)
    return {leaders[j] for j, c in pairs if abs(c) > fit.radius}


def _possible(reference: Reference) -> list[Fit]:
    fits = map(reference.fit, reference.supports(every=True))
    return [fit for fit in fits if fit.possible]


def judge_neighbours(reference: Reference, near: Any, eps: float, what: str) -> Finding | None:
    """A complete list holds every support within eps that the referee is sure of."""
    if not near.complete:
        return None
    spec = reference.spec
    listed = {spec.chosen(map(int, support)) for support in near.supports}
    fits = _possible(reference)
    with exactly():
        optimum = min(f.low for f in fits)
        cutoff = optimum + decimal(eps) * max(abs(optimum), abs(reference.null.low))
        for fit in fits:
            chosen = spec.chosen(fit.support)
            if chosen in listed or not fit.obeys:
                continue
            if fit.high > cutoff - abs(cutoff) * Decimal("1e-14") or not _counts(reference, fit):
                continue
            if spec.groups is not None and _beaten(spec, reference, fit, fits):
                continue
            return Finding(
                "near_optimal misses a support",
                f"{what}: {fit.support} has {fit.high:.17g} <= {cutoff:.17g}; listed "
                f"{sorted(listed)[:8]}",
            )
    return None


def _beaten(spec: Spec, reference: Reference, fit: Fit, fits: list[Fit]) -> bool:
    """Whether its groups have a better model with fewer of them, as signs may ask."""

    def worth(one: Fit) -> Decimal:
        return one.low - sum((reference.price[g] for g in spec.chosen(one.support)), Decimal(0))

    own = set(spec.chosen(fit.support))
    fewer = (one for one in fits if set(spec.chosen(one.support)) < own)
    return any(worth(one) <= worth(fit) for one in fewer)


def _counts(reference: Reference, fit: Any) -> bool:
    """Whether every chosen group has a coefficient that is surely nonzero and more than rounding
    in the fit, and float64 can tell what it gains."""
    spec = reference.spec
    sizes = {j: abs(c) * reference.norms[j] for j, c in zip(fit.support, fit.w, strict=True)}
    whole = sum(sizes.values(), abs(fit.b) * Decimal(len(reference.p)).sqrt())
    sure = {
        spec.leaders[j]
        for j, c in zip(fit.support, fit.w, strict=True)
        if abs(c) > 2 * fit.radius and sizes[j] > decimal(SHARE) * whole
    }
    for g in spec.chosen(fit.support):
        if g not in sure:
            return False
        less = reference.fit(tuple(i for i in fit.support if spec.leaders[i] != g))
        gain = less.low - fit.high + reference.price[g]
        if gain <= Decimal("1e-13") * max(abs(fit.high), abs(reference.null.high)):
            return False
    return True
