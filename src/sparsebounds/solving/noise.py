"""The scale of the noise, where some responses are wrong: sigma, and c as a multiple of it.

    s(r) = median |r| / 0.674, then again without the rows beyond 3 s, until nothing changes

s is the standard deviation of normal noise, and does not see residuals far away. The divisor is the
median of |r| for normal r (within 3 standard deviations, where rows are left out); for d fitted
numbers s is larger by sqrt(n / (n - d)). sigma is that of a sparse model found so:

start          models of Huber's loss, to which a wrong response is a bounded force, for some delta;
               least squares on random halves of the rows
concentrate    least squares on the half of the rows with the smallest residuals, again and again:
               least trimmed squares by Rousseeuw and Van Driessen's steps, with sparse models; the
               end of least s is kept
reweigh        least squares on the rows within 3 s; sigma is the root mean square of the residuals
               within 3 s of these, for normal noise as above

Least trimmed squares of half of the rows, and the median, break down when half of the rows are
wrong, no sooner. The steps end in a local optimum. It is the right one, as a rule, where up to 40%
of the responses are wrong; with many more features than rows, or wrong features too, it need not
be.

A loss has its default c for noise of standard deviation 1, and c="auto" is sigma times that.
Leaving out what is beyond 3 sigma takes 1 normal row of 370 for wrong, and has the efficiency
P(|Z| <= 3) - 6 phi(3) = 97% (at 2.5 sigma, Rousseeuw and Leroy's rule: 1 of 80, and 90%).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any, Literal, Unpack

import numpy as np

from sparsebounds._support.array import Mask, Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import Arguments, takes
from sparsebounds.losses import Huber, Loss, Squared, get_loss
from sparsebounds.models import Search
from sparsebounds.program import Program
from sparsebounds.relaxation import relaxation_of

BEYOND = 3.0
"""Residuals beyond this many standard deviations are not taken for noise."""

DELTAS = (4.0, 1.0, 0.25, 0.0625)
"""Of Huber's loss, in units of s(y)."""

RANDOM = 4
"""Random starts."""

STEPS = 10
"""The most steps of concentration from a start."""

ACCURACY = 1e-4
"""Relative gap of the relaxations, which are starts."""

NOTHING = 1e-9
"""This share of the response's own scale is rounding, not noise."""

NORMAL = NormalDist()
MEDIAN = NORMAL.inv_cdf(0.75)
MEDIAN_WITHIN = NORMAL.inv_cdf(0.5 + 0.5 * (NORMAL.cdf(BEYOND) - 0.5))
"""Of |Z| for a normal Z, and for one that is at most `BEYOND` in size."""

SQUARE_WITHIN = 1.0 - 2.0 * BEYOND * NORMAL.pdf(BEYOND) / (2.0 * NORMAL.cdf(BEYOND) - 1.0)
"""The mean of Z^2 for such a Z."""

Scale = float | Literal["auto"] | None
"""The c that is asked for: a number, "auto" (by the noise), or None (the one that the loss has)."""


@one_thread()
@takes(Arguments)
def noise_scale(X: Any, y: Any, **problem: Unpack[Arguments]) -> float:
    """The standard deviation of the noise about sparse models, whatever some responses are.

    Wrong responses, up to nearly half of the rows, change it by a bounded factor only; rows whose
    features are wrong too can change it more. The loss of the problem does not matter.

    Parameters
    ----------

    Returns
    -------
    float
        The scale sigma; `losses.Truncated(c=3 * sigma)` is then a loss for the data.

    Notes
    -----
    It is ``median |r| / 0.674`` of the residuals r of a least trimmed squares fit, then again
    without the rows beyond three times that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=200)
    >>> y[:40] += 100.0
    >>> round(sb.noise_scale(X, y, k=1, ridge=0.01), 1)
    0.5
    """
    return noise_of(Program(X, y, **problem))


def scaled_loss(loss: str | Loss, c: Scale, pose: Callable[[], Program]) -> Loss:
    """The loss with this c; "auto" is that of the noise in the program that `pose` makes."""
    if not isinstance(c, str):
        return get_loss(loss, c)
    if c != "auto":
        raise InputError(f"c={c!r} must be a number greater than 0, or 'auto'.")
    unit = type(get_loss(loss, 1.0))()
    return get_loss(unit, unit.parameters()["c"] * noise_of(pose()))


def noise_of(program: Program) -> float:
    """sigma of a program for responses that are numbers; its own loss does not matter."""
    if not program.loss.residual:
        raise InputError(
            f"The {program.loss.name} loss has no scale of noise; pass one of residuals, such as "
            "loss='truncated'."
        )
    fits = _Fits(program)
    with np.errstate(over="ignore", invalid="ignore"):
        scale, sizes = min(map(fits.concentrated, fits.starts()), key=lambda end: end[0])
        sizes = fits.sizes(Squared(), sizes <= BEYOND * scale)
        kept = sizes <= BEYOND * fits.spread(sizes)
        shares, n = fits.shares[kept], int(np.count_nonzero(kept))
        square = float(shares @ sizes[kept] ** 2) / float(np.sum(shares))
        return math.sqrt(square / SQUARE_WITHIN * n / max(n - fits.fitted, 1))


class _Fits:
    """Sparse models of a program's rows, or of some of them, by the sizes of their residuals."""

    def __init__(self, program: Program) -> None:
        self.program, self.shares, self.fitted = program, program.data.shares, 0
        self.response: Vector = program.F.target
        middle = _quantile(self.response, self.shares) if program.fit_intercept else 0.0
        about = np.abs(self.response - middle)
        self.first = spread(about, self.shares) or float(self.shares @ about)
        self._seen: set[bytes] = set()

    def sizes(self, loss: Loss, rows: Mask | None = None) -> Vector:
        """|r| on all rows, of a model of these."""
        program, part = self.program, self.program.with_loss(loss)
        if rows is not None:
            part = part.problem.program(
                program.data.matrix,
                program.response,
                program.m,
                loss=loss,
                sample_weight=np.where(rows, program.weights, 0.0),
                offset=program.offset,
            )
        model = Search(part, relaxation_of(part, ACCURACY)).quick()
        self.fitted = len(model.support) + program.fit_intercept
        columns = program.matrix.columns(model.support)
        return np.abs(self.response - columns @ model.w[model.support] - model.b)

    def starts(self) -> Iterator[Vector]:
        """|r| of models to start from."""
        for part in DELTAS:
            yield self.sizes(Huber(part * self.first))
        rng = np.random.default_rng(0)
        for _ in range(RANDOM):
            yield self.sizes(Squared(), rng.permutation(self.program.n) % 2 == 0)

    def concentrated(self, sizes: Vector) -> tuple[float, Vector]:
        """s and |r| at the end of the steps from there; they stop where others have been."""
        for _ in range(STEPS):
            # Half of the weight, and as many rows as were fitted.
            share = min(0.5 + 0.5 * self.fitted / self.program.n, 1.0)
            inside = sizes <= _quantile(sizes, self.shares, share)
            if inside.tobytes() in self._seen:
                break
            self._seen.add(inside.tobytes())
            sizes = self.sizes(Squared(), inside)
        return self.spread(sizes), sizes

    def spread(self, sizes: Vector) -> float:
        """s of the last model; InputError where that is rounding."""
        found = spread(sizes, self.shares, self.fitted)
        if not found > NOTHING * self.first:
            raise InputError(
                "Sparse models fit half of the rows exactly, so that the noise has no scale; pass "
                "c as a number."
            )
        return found


def spread(sizes: Vector, shares: Vector, fitted: int = 0) -> float:
    """s of residuals of these sizes, of a model of so many fitted numbers."""
    found = _quantile(sizes, shares) / MEDIAN
    inside = np.ones(len(sizes), dtype=np.bool_)
    while True:
        kept = inside & (sizes <= BEYOND * found)
        if np.array_equal(kept, inside):
            break
        inside = kept
        found = _quantile(sizes[inside], shares[inside]) / MEDIAN_WITHIN
    n = int(np.count_nonzero(inside))
    return found * math.sqrt(n / max(n - fitted, 1))


def _quantile(values: Vector, shares: Vector, share: float = 0.5) -> float:
    """The least value that this share of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order])
    at = np.searchsorted(reached, share * reached[-1])
    return float(values[order[min(at, len(order) - 1)]])
