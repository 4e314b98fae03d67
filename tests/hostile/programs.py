"""Programs: every public way to an answer, on small programs, against the referee."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from tests.hostile import judge
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.draw import chance, draw_spec, heavy_ridge, log_uniform, pick
from tests.hostile.reference import Reference, decimal, precise, stored_intercept
from tests.hostile.spec import Spec

import sparsebounds as sb
from sparsebounds._support.errors import InputError, InputTypeError

DOCUMENTED = (InputError, InputTypeError)
Rng = np.random.Generator


class Programs(Attack):
    """Random programs through `solve` and its kin."""

    name, weight = "programs", 6.0

    def case(self, rng: Rng) -> Finding | None:
        spec = heavy_ridge(rng) if chance(rng, 0.04) else draw_spec(rng)
        return attack_spec(spec, pick(rng, *WAYS), rng)


@precise
def attack_spec(spec: Spec, way: str, rng: Rng) -> Finding | None:
    """One way to an answer on one program."""
    what = f"{way} {spec.words()}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return WAY[way](spec, rng, what)
    except DOCUMENTED:
        return None
    except Exception as error:
        return crash(what, error)


def first(*checks: Callable[[], Finding | None]) -> Finding | None:
    """The first finding of several checks."""
    for check in checks:
        found = check()
        if found is not None:
            return found
    return None


def judged(reference: Reference, solution: Any, tol: float, what: str) -> Finding | None:
    """All that a solution or a path's point says of itself."""
    certificate = solution.certificate
    stored = np.zeros(reference.spec.X.shape[1])
    stored[certificate.support] = certificate.coef
    upper = solution.upper
    return first(
        lambda: judge.judge_bounds(reference, solution.lower, upper, what),
        lambda: judge.judge_model(
            reference, stored, stored_intercept(certificate), certificate.upper, what, user=False
        ),
        lambda: judge.judge_model(
            reference, solution.coef, solution.intercept, upper, what, user=True
        ),
        lambda: judge.judge_status(reference, solution, tol, what),
    )


def reference_of(spec: Spec, certificate: Any, what: str) -> Reference | Finding:
    """The referee, on the scales that the certificate states, which are checked."""
    wrong = judge.wrong_scales(spec, certificate.problem)
    if wrong is not None:
        return Finding("wrong scales", f"{what}: {wrong}")
    return Reference(spec, *judge.columns_of(certificate.problem))


def verified(spec: Spec, certificate: Any, rng: Rng, what: str) -> Finding | None:
    """A genuine certificate verifies on whatever holds the same numbers."""
    for storage in ("plain", pick(rng, *STORAGES)):
        data = spec.data
        if storage in STORAGES:
            data["X"] = STORAGES[storage](data["X"])
        verdict = certificate.verify(**data)
        if not verdict.ok:
            return Finding(
                "a genuine certificate is refused", f"{what} on {storage}: {verdict.message}"
            )
    return None


STORAGES: dict[str, Callable[[Any], Any]] = {
    "F": np.asfortranarray,
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_array,
    "lists": lambda X: X.tolist(),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "single": lambda X: X.astype(np.float32) if np.all(X.astype(np.float32) == X) else X,
    "frame": lambda X: __import__("polars").DataFrame(
        X, schema=[f"c{j}" for j in range(X.shape[1])]
    ),
}


def by_solve(spec: Spec, rng: Rng, what: str, **options: Any) -> Finding | None:
    tol = options.pop("tol", pick(rng, 1e-4, 1e-4, 1e-6, 1e-2))
    solution = sb.solve(**spec.data, **spec.problem, tol=tol, **options)
    what = f"{what} tol={tol} {options or ''}"
    reference = reference_of(spec, solution.certificate, what)
    if isinstance(reference, Finding):
        return reference
    return first(
        lambda: judged(reference, solution, tol, what),
        lambda: poor(reference, solution, tol, what) if options == {"exact": True} else None,
        lambda: verified(spec, solution.certificate, rng, what),
        lambda: judge.judge_screening(reference, solution.fixed_in, solution.fixed_out, what),
        lambda: judge.judge_floor(reference, solution.lower, what),
    )


def poor(reference: Reference, solution: Any, tol: float, what: str) -> Finding | None:
    """An exact search on a program that floats can tell apart finds its best model."""
    spec = reference.spec
    y = np.asarray(spec.signs_or_y, dtype=float)
    X = spec.X if spec.fit_intercept else np.vstack([spec.X, 0 * spec.X[:1]])
    if spec.loss not in ("squared", "huber") or spec.weights is not None or len(y) < 2:
        return None
    if np.ptp(y) == 0 or np.spacing(np.max(np.abs(y))) > 1e-5 * np.std(y):
        return None
    spread = np.ptp(X, axis=0)
    size = np.max(np.abs(X), axis=0)
    if np.any(size > 1e6 * np.where(spread > 0, spread, np.inf)) or np.any(size > 1e6):
        return None
    if np.any(size[size > 0] < 1e-3) or np.any(
        np.asarray(1.0 if spec.ridge is None else spec.ridge) < 1e-6
    ):
        return None
    short = decimal(solution.upper) - reference.best.high
    if short > decimal(max(tol, 1e-3)) * 2 * abs(reference.null.high):
        return Finding(
            "a poor model",
            f"{what}: upper {solution.upper!r}, optimum {reference.best.high:.17g}, null "
            f"{reference.null.high:.6g}, status {solution.status}: {solution.message}",
        )
    return None


def by_relax(spec: Spec, rng: Rng, what: str) -> Finding | None:
    program = sb.Program(**spec.data, **spec.problem)
    relaxed = sb.relax(program, tol=pick(rng, 1e-8, 1e-4))
    reference = Reference(spec, *judge.columns_of(program.problem))
    best = reference.best.high + reference.dust
    if decimal(relaxed.dual_value) > best:
        return Finding(
            "the relaxation's dual value is above the optimum",
            f"{what}: {relaxed.dual_value!r} > {reference.best.high:.20g}",
        )
    a = program.F.gradient(rng.normal(size=program.n) * log_uniform(rng, 1e-3, 1e3))
    for proved in (sb.lower_bound(program, relaxed.dual), sb.lower_bound(program, a)):
        if decimal(proved) > best:
            return Finding(
                "lower_bound is above the optimum", f"{what}: {proved!r} > {reference.best.high}"
            )
    screened = sb.screen(
        program, relaxed.dual, math.nextafter(float(reference.best.high), math.inf)
    )
    primal, bounds = sb.primalize(program, relaxed), sb.gap_bounds(program, relaxed)
    str(bounds), repr(primal), repr(relaxed)
    return judge.judge_screening(reference, screened.fixed_in, screened.fixed_out, what)


def by_path(spec: Spec, rng: Rng, what: str) -> Finding | None:
    m = spec.X.shape[1]
    if spec.k is not None:
        grid: dict[str, Any] = {"ks": list(range(m + 1))}
    else:
        grid = {"l0s": sorted({log_uniform(rng, 1e-4, 2.0) for _ in range(4)}, reverse=True)}
    options = {"exact": chance(rng, 0.5), "tol": pick(rng, 1e-4, 1e-2)}
    path = sb.path(**spec.data, **spec.size, **grid, **options)
    str(path), path._repr_html_()
    for point in path:
        part = spec.but(k=point.k, l0=point.l0)
        reference = reference_of(part, point.certificate, what)
        if isinstance(reference, Finding):
            return reference
        here = f"{what} {grid} {options} at {point.place}"
        found = first(
            lambda r=reference, p=point, h=here: judged(r, p, options["tol"], h),
            lambda p=point, h=here: verified(spec, p.certificate, rng, h),
            lambda r=reference, p=point, h=here: judge.judge_screening(r, p.fixed_in, (), h),
            lambda r=reference, p=point, h=here: judge.judge_floor(r, p.lower, h),
        )
        if found is not None:
            return found
    return None


def by_near(spec: Spec, rng: Rng, what: str) -> Finding | None:
    eps = pick(rng, 0.0, 1e-3, 0.01, 0.1)
    program = sb.Program(**spec.data, **spec.problem)
    near = sb.near_optimal(program, eps)
    what = f"{what} eps={eps}"
    reference = Reference(spec, *judge.columns_of(program.problem))
    return first(
        lambda: judge.judge_bounds(reference, near.lower, near.upper, what),
        lambda: judge.judge_neighbours(reference, near, eps, what),
        lambda: judge.judge_floor(reference, near.lower, what),
        lambda: next(
            filter(
                None,
                (
                    judge.judge_model(reference, coef, b, value, what, user=True)
                    for coef, b, value in zip(near.coef, near.intercepts, near.values, strict=True)
                ),
            ),
            None,
        ),
    )


def by_certify(spec: Spec, rng: Rng, what: str) -> Finding | None:
    """A model from anywhere: any coefficients that obey the constraints."""
    program = sb.Program(**spec.data, **spec.problem)
    reference = Reference(spec, *judge.columns_of(program.problem))
    coef, b = np.zeros(program.m), 0.0
    best = reference.best
    for j, c in zip(best.support, best.w, strict=True):
        coef[j] = 0.999 * float(c)
    coef = reference.outward(coef)
    if spec.fit_intercept:
        b = float(best.b) - float(coef @ np.array([float(c) for c in reference.center]))
    certificate = sb.certify(program, coef, b)
    return first(
        lambda: judge.judge_bounds(reference, certificate.lower, certificate.upper, what),
        lambda: judge.judge_model(reference, coef, b, certificate.upper, what, user=True),
        lambda: verified(spec, certificate, rng, what),
        lambda: judge.judge_floor(reference, certificate.lower, what),
    )


def by_rank(spec: Spec, rng: Rng, what: str) -> Finding | None:
    program = sb.Program(**spec.data, **spec.problem)
    frame, reference = (
        sb.rank_bounds(program).to_frame(),
        Reference(spec, *judge.columns_of(program.problem)),
    )
    lowers, uppers = ([x for x in frame[name] if x == x] for name in ("lower", "upper"))
    if max(map(decimal, lowers), default=-math.inf) > reference.best.high + reference.dust:
        return Finding("lower bound above the optimum", f"{what}: {max(lowers)!r}")
    if min(map(decimal, uppers), default=math.inf) < reference.low - reference.dust:
        return Finding("upper bound below the optimum", f"{what}: {min(uppers)!r}")
    return None


def by_estimator(spec: Spec, rng: Rng, what: str) -> Finding | None:
    two = spec.loss in ("logistic", "squared_hinge")
    kind = sb.SparseClassifier if two else sb.SparseRegressor
    options = {key: value for key, value in spec.problem.items() if value is not None}
    options.pop("k") if spec.k == 0 else None
    known = kind().get_params()
    options = {key: value for key, value in options.items() if key in known}
    if spec.offset is not None or spec.weights is not None or len(spec.y) < 2 or len(options) < 2:
        return None
    fitted = kind(**options).fit(spec.X, spec.y)
    repr(fitted), fitted.predict(spec.X)
    return None


WAY: dict[str, Callable[[Spec, Rng, str], Finding | None]] = {
    "solve": by_solve,
    "exact": lambda spec, rng, what: by_solve(spec, rng, what, exact=True),
    "relax": by_relax,
    "path": by_path,
    "near_optimal": by_near,
    "certify": by_certify,
    "rank_bounds": by_rank,
    "estimator": by_estimator,
}
WAYS = ("solve", "solve", "exact", "exact", "exact", "path", "near_optimal", "near_optimal",
        "relax", "certify", "rank_bounds", "estimator")  # fmt: skip
