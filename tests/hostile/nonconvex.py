"""Non-convex losses: no proved bound may lie above a value that some model attains."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize
from tests.hostile import judge
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.draw import draw_spec, log_uniform, pick
from tests.hostile.losses import DEFAULT
from tests.hostile.programs import DOCUMENTED, verified
from tests.hostile.reference import Reference, decimal, precise, stored_intercept
from tests.hostile.spec import Spec

import sparsebounds as sb

Rng = np.random.Generator
NAMES = (
    "truncated", "tukey", "geman_mcclure", "welsch", "cauchy", "ramp", "sigmoid", "quartic",
    "amplitude",
)  # fmt: skip
STARTS = 3
"""Local searches per support."""


class NonConvex(Attack):
    """Random programs of the non-convex losses against a search from many starts."""

    name, weight = "nonconvex", 2.0

    def case(self, rng: Rng) -> Finding | None:
        return attack_spec(draw_spec(rng, NAMES, most=3), rng)


@precise
def attack_spec(spec: Spec, rng: Rng) -> Finding | None:
    """`solve` and `relax` on one program."""
    what = spec.words()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = sb.solve(**spec.data, **spec.problem, tol=pick(rng, 1e-4, 1e-2))
            program = sb.Program(**spec.data, **spec.problem)
            relaxed = sb.relax(program)
    except DOCUMENTED:
        return None
    except Exception as error:
        return crash(what, error)
    certificate = solution.certificate
    reference = Reference(spec, *judge.columns_of(certificate.problem))
    stored = np.zeros(spec.X.shape[1])
    stored[certificate.support] = certificate.coef
    broken = reference.broken(stored)
    if broken is not None:
        return Finding("the model breaks a constraint", f"{what}: {broken}")
    value = reference.objective(stored, stored_intercept(certificate), user=False)
    if value > decimal(solution.upper) + abs(value) * decimal(1e-40):
        return Finding(
            "the model does not attain its upper bound",
            f"{what}: objective {value:.20g} > upper {solution.upper!r}",
        )
    best = min(attained(reference, rng))
    for name, bound in (("solve", solution.lower), ("relax", relaxed.dual_value)):
        if decimal(bound) > best + abs(best) * decimal(1e-40):
            return Finding(
                "lower bound above the optimum", f"{what}: {name} says {bound!r} > {best:.20g}"
            )
    refused = verified(spec, certificate, rng, what)
    if refused is not None:
        return refused
    if solution.lower < 0:
        return Finding("lower bound below the least loss", f"{what}: {solution.lower!r}")
    return None


def attained(reference: Reference, rng: Rng) -> list[Any]:
    """Objectives of models that obey the constraints, the best that local searches find."""
    spec = reference.spec
    found = [reference.objective(np.zeros(spec.X.shape[1]), 0.0, user=False)]
    for support in itertools.islice(reference.supports(), 8):
        for _ in range(STARTS):
            coef, b = _search(reference, support, rng)
            if reference.broken(coef) is None:
                found.append(reference.objective(coef, b, user=False))
    return found


def _search(reference: Reference, support: tuple[int, ...], rng: Rng) -> tuple[Any, float]:
    spec, size = reference.spec, len(support)
    columns = np.array([[float(x) for x in reference.columns[j]] for j in support])
    columns = columns.reshape(size, len(reference.p))
    shift = np.array([float(o) for o in reference.offset])
    y, p = (np.array([float(v) for v in values]) for values in (reference.y, reference.p))
    ridge = np.array([float(reference.ridge[j]) for j in support]) * (spec.ball is None)
    signs = np.zeros(size, bool) if spec.positive is None else spec.positive[list(support)]

    def legal(x: Any) -> Any:
        w = np.where(signs, np.maximum(x[:size], 0.0), x[:size])
        norm = math.sqrt(float(w @ w))
        if spec.ball is not None and norm > math.sqrt(spec.ball):
            w = w * (math.sqrt(spec.ball) / norm * (1 - 1e-15))
        return w

    def objective(x: Any) -> float:
        w = legal(x)
        z = w @ columns + shift + (x[size] if spec.fit_intercept else 0.0)
        return float(p @ rows(spec, y, z) + 0.5 * (ridge @ w**2))

    reach = log_uniform(rng, 0.01, 100.0)
    start = rng.normal(size=size + 1) * reach / (1e-300 + np.r_[np.abs(columns).max(axis=1), 1.0])
    if spec.fit_intercept:
        start[size] += pick(rng, 0.0, float(np.median(y)), float(rng.choice(y)))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = minimize(objective, start, method="Nelder-Mead", options={"maxiter": 400}).x
    coef = np.zeros(spec.X.shape[1])
    coef[list(support)] = legal(x)
    return coef, float(x[size]) if spec.fit_intercept else 0.0


def rows(spec: Spec, y: Any, z: Any) -> Any:
    """The loss of every row, in floats: to search by, not to judge by."""
    name, c = spec.loss, spec.parameters.get("c", DEFAULT.get(spec.loss, 1.0))
    s2 = np.minimum(((z - y) / c) ** 2, 1e300)
    return {
        "truncated": lambda: c * c / 2 * np.minimum(s2, 1.0),
        "tukey": lambda: c * c / 6 * (1 - (1 - np.minimum(s2, 1.0)) ** 3),
        "geman_mcclure": lambda: c * c / 2 * s2 / (1 + s2),
        "welsch": lambda: c * c / 2 * -np.expm1(-s2),
        "cauchy": lambda: c * c / 2 * np.log1p(s2),
        "ramp": lambda: np.clip(1 - y * z, 0.0, 1.0),
        "sigmoid": lambda: 1 / (1 + np.exp(np.minimum(y * z, 700.0))),
        "quartic": lambda: (z * z - y) ** 2 / 4,
        "amplitude": lambda: (np.abs(z) - y) ** 2 / 2,
    }[name]()
