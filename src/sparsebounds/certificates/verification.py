"""Verification: what a certificate and the data prove, trusting nothing else.

A claim may be weaker than what is found here, and never stronger: claims are rounded when they are
made (`bounds.dual`), so that no tolerance is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.decimals import rounded_down, rounded_up
from sparsebounds._support.errors import InputTypeError
from sparsebounds._support.threads import one_thread
from sparsebounds.bounds import enclosed, objective_up
from sparsebounds.certificates.certificate import Certificate, leaf_bound
from sparsebounds.certificates.cover import uncovered
from sparsebounds.certificates.row_tree import row_tree_bound
from sparsebounds.certificates.tree import TreeError, tree_bound
from sparsebounds.losses import NONCONVEX, REGISTRY, Loss
from sparsebounds.matrices import (
    StandardizedMatrix,
    WhitenedMatrix,
    column_statistics,
    grams_within,
)
from sparsebounds.program import Program

SAME = 1e-6
"""Relative difference allowed between stored column means and scales and the data's own."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a verification; true where the certificate holds.

    Attributes
    ----------
    ok : bool
        Whether both claims hold.
    lower : float
        The lower bound recomputed here; NaN where a check failed before it.
    upper : float
        The model's objective recomputed here, rounded up; NaN likewise.
    message : str
        What was proved, or which check failed, in a sentence.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> certificate = sb.solve(data.X, data.y, k=3, ridge=1.0, exact=False).certificate
    >>> certificate.verify(data.X[:, ::-1], data.y).message
    'Refused: the data (X, y, weights or offset) are not those of the certificate.'
    """

    ok: bool
    lower: float
    upper: float
    message: str

    def __bool__(self) -> bool:
        return self.ok


@one_thread()
@np.errstate(all="ignore")  # of numbers from elsewhere: what is not finite proves nothing
def verify(
    certificate: Certificate,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    offset: Any = None,
    *,
    loss: Loss | None = None,
) -> Verdict:
    """Check the data, the cover, the model and both bounds, in that order.

    Parameters
    ----------
    certificate : Certificate
        The claims and their proof.
    X, y, sample_weight, offset, loss : as in `Certificate.verify`

    Returns
    -------
    Verdict
        Whether it holds, and a sentence.

    See Also
    --------
    Certificate.verify : The same as a method.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> certificate = sb.solve(data.X, data.y, k=3, ridge=1.0, exact=False).certificate
    >>> bool(sb.certificates.verify(certificate, data.X, data.y))
    True
    """
    problem = certificate.problem
    parameters = dict(problem.loss_parameters)
    chosen = loss if loss is not None else _registered(problem.loss, parameters)
    if chosen is None:
        return _refused(
            f"the loss {problem.loss!r} with parameters {parameters} is not known here; "
            "pass it as loss="
        )
    if (chosen.name, chosen.parameters()) != (problem.loss, parameters):
        return _refused(
            f"loss= is {chosen!r}, but the certificate is about {problem.loss!r} with "
            f"parameters {parameters}"
        )
    try:
        columns = _column_count(X)
        if columns != certificate.shape[1]:
            return _refused(
                f"the data have {columns} columns, but the certificate is about "
                f"{certificate.shape[1]}"
            )
        program = problem.program(
            X, y, columns, loss=chosen, sample_weight=sample_weight, offset=offset
        )
    except (ValueError, InputTypeError) as error:
        return _refused(f"the problem cannot be posed on these data: {str(error).rstrip('.')}")
    failure = _wrong_data(certificate, program) or _wrong_cover(certificate, program)
    if failure is not None:
        return _refused(failure)

    w = np.zeros(program.m)
    w[certificate.support] = certificate.coef
    upper = objective_up(program, w, certificate.intercept)
    if not np.isfinite(upper):
        return _refused("the stored model does not obey the constraints of the problem")
    if not certificate.upper >= upper or math.isinf(certificate.upper):
        return _refused(_claims("upper", certificate.upper, upper), upper=upper)
    try:
        if certificate.rows is not None:
            lower = row_tree_bound(program, certificate.rows, certificate.upper, certificate.boxes)
        elif certificate.tree is None:
            # The level of the box is the claim: the same in every order of summation.
            convex = enclosed(program, certificate.upper, certificate.boxes)
            lower = leaf_bound(convex, certificate.duals, certificate.leaves)
        else:
            lower = tree_bound(program, certificate.tree)
    except TreeError as error:
        return _refused(f"the search tree is no proof: {error}", upper=upper)
    except ValueError:
        return _refused("a dual vector is outside the domain of the conjugate loss", upper=upper)

    if not -math.inf < certificate.lower <= lower < math.inf:
        return _refused(_claims("lower", certificate.lower, lower), lower, upper)
    if lower > upper:
        return _refused(
            f"its lower bound {lower!r} lies above the objective {upper!r} of its model, "
            "which cannot be",
            lower,
            upper,
        )
    return Verdict(True, lower, upper, _proved(program, w, lower, upper))


def _proved(program: Program, w: Vector, lower: float, upper: float) -> str:
    count = int(np.count_nonzero(program.to_user(w, 0.0)[0]))
    return (
        f"Verified: {program.describe()}. No model has an objective below "
        f"{rounded_down(lower, 9)}; the stored model with {count} nonzero "
        f"coefficient{'s' * (count != 1)} attains {rounded_up(upper, 9)}, "
        f"so it is {program.distance(upper - lower, upper)}."
    )


def _claims(side: str, claimed: float, found: float) -> str:
    return (
        f"the certificate claims the {side} bound {claimed!r}, but its own contents give "
        f"{float(found)!r}"
    )


def _refused(reason: str, lower: float = float("nan"), upper: float = float("nan")) -> Verdict:
    return Verdict(False, lower, upper, f"Refused: {reason}.")


def _column_count(X: Any) -> int:
    shape = getattr(X, "shape", None) or np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 0


def _registered(name: str, parameters: Any) -> Loss | None:
    try:
        loss = (REGISTRY | NONCONVEX)[name](**parameters)
    except (KeyError, TypeError, ValueError):
        return None
    return loss if loss.parameters() == parameters else None


def _wrong_data(certificate: Certificate, program: Program) -> str | None:
    if (program.n, program.m) != certificate.shape:
        return (
            f"the data are {program.n} x {program.m} (rows of weight 0 left out), but the "
            f"certificate is about {certificate.shape[0]} x {certificate.shape[1]}"
        )
    if program.fingerprint != certificate.fingerprint:
        return "the data (X, y, weights or offset) are not those of the certificate"
    matrix = program.matrix
    inner = matrix.inner if isinstance(matrix, WhitenedMatrix) else matrix
    if isinstance(inner, StandardizedMatrix) and not _own_columns(program, inner):
        return "the stored column means and scales are not those of the data"
    if isinstance(matrix, WhitenedMatrix) and not _whitened(program, matrix):
        return "the stored recoding does not whiten the columns of every group"
    return None


def _own_columns(program: Program, matrix: StandardizedMatrix) -> bool:
    """Whether the stored means and scales are those of the data."""
    center, scale = column_statistics(matrix.base, program.F.p, centred=program.fit_intercept)
    if np.any(np.abs(matrix.center - center) > SAME * np.maximum(scale, np.abs(center))):
        return False
    unlike = np.flatnonzero(np.abs(matrix.scale - scale) > SAME * scale)
    if unlike.size == 0:
        return True
    # Another order of sums rounds a mean otherwise, and far from 0 that may be much of the spread:
    # what counts is the spread about the stored mean. Where it is all rounding, a scale may be 1.
    center, scale = matrix.center[unlike], matrix.scale[unlike]
    spread = matrix.base.misfits(np.ones((program.n, 1)), center[None], program.F.p, unlike)
    still = np.sqrt(spread) <= 2.0 * program.n * np.finfo(np.float64).eps * np.abs(center)
    alike = np.abs(scale - np.sqrt(spread)) <= SAME * np.sqrt(spread)
    return bool(np.all(alike | (still & (scale == 1.0))))


def _whitened(program: Program, matrix: WhitenedMatrix) -> bool:
    """Whether each group's columns Z become Y = Z T, uncorrelated, that explain all of Z.

    With p the rows' shares: Y^T p Y is a projection, and z_j^T p z_j the sum of (y_l^T p z_j)^2.
    """
    groups, shares = matrix.recoding.groups, program.F.p
    grams = zip(
        matrix.recoding.blocks,
        grams_within(matrix.inner, groups, shares),
        grams_within(matrix, groups, shares),
        strict=True,
    )
    for block, before, after in grams:
        power = np.einsum("gii->gi", before)
        explained = np.sum(np.square(block.transpose(0, 2, 1) @ before), axis=1)
        off = np.abs(after @ after - after)
        if not np.all(off <= SAME) or not np.all(np.abs(power - explained) <= SAME):
            return False
    return True


def _wrong_cover(certificate: Certificate, program: Program) -> str | None:
    free = int(np.count_nonzero(program.free))
    for leaf in certificate.leaves:
        for listed in (leaf.node.inside, leaf.node.outside):
            if not np.all(program.free[listed]):
                return "a leaf fixes a feature that the problem does not leave free"
        if len(certificate.duals[leaf.dual]) != program.n:
            return "a dual vector does not have one number per row"
    if any(len(dual) != program.n for dual in certificate.boxes):
        return "a dual vector does not have one number per row"
    if certificate.tree is not None and not program.loss.convex:
        return f"a search tree proves nothing about the {program.loss.name} loss"
    if certificate.tree is not None or certificate.rows is not None:
        return None  # a tree covers every support by the way it is built, checked with its bounds
    most = free if program.k is None else min(free, program.k)
    gap = uncovered([leaf.node for leaf in certificate.leaves], free, most)
    return None if gap is None else f"the leaves do not cover every support: {gap}"
