"""ridge="auto": the ridge at which a lone column is shrunk by about one standard error.

    ridge = curvature * scale / sqrt(max(1, n))

curvature   the largest second derivative of the loss: 1 for the squared loss, 1/4 for the
            logistic. Where there is none (Poisson), its mean at the model without features.
scale       the mean square of a column: 1 with `standardize`, else the columns' average.
n           the sum of the sample weights, so that a weight of 2 is a row written twice.

The loss bends by at most curvature * scale along one coefficient, and so a column on its own
loses the share ridge / (curvature * scale + ridge), about 1/sqrt(n), of its coefficient: the
order of the error with which n rows determine it. More would cost accuracy. Less would gain
next to none and widen the certified gap, which a ridge narrows. The rule knows neither the
units of y (squared loss) nor those of the columns. A bounded loss (Tukey's, the truncated one)
cannot gain more than its height: where that is less than the spread of y squared over 2, the rule's
ridge is smaller by the same factor.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds.data import Data
from sparsebounds.losses import Loss, MeanLoss, NonConvexLoss

SIGMOID = 0.0963
"""The sigmoid loss's largest curvature, for the ramp of the same height, which has kinks."""


def auto_ridge(data: Data, loss: Loss, *, fit_intercept: bool, standardize: bool) -> float:
    """The ridge of the rule above."""
    scale = 1.0 if standardize else _mean_square(data, centred=fit_intercept)
    bend = loss.smoothness
    if not math.isfinite(bend) and not loss.convex and loss.two_class:
        bend = SIGMOID
    elif not math.isfinite(bend):
        bend = _null_curvature(loss, data, fit_intercept=fit_intercept)
    ridge = bend * scale / math.sqrt(max(1.0, data.mass))
    return ridge * _share_of_height(loss, data.y) if isinstance(loss, NonConvexLoss) else ridge


def _share_of_height(loss: NonConvexLoss, y: Vector) -> float:
    """How much less a bounded loss has to gain than a squared one; at most 1.

    The spread of y is that of its middle half, which outliers do not reach.
    """
    if loss.two_class or not math.isfinite(loss.height):
        return 1.0
    low, high = np.quantile(y, [0.25, 0.75])
    spread = float(high - low) / 1.349
    return min(1.0, 2.0 * loss.height / spread**2) if spread > 0 else 1.0


def _mean_square(data: Data, *, centred: bool) -> float:
    """The average over columns of their variance, or mean square; 1 where that is 0."""
    mean, spread = data.matrix.moments(data.shares)
    average = float(np.mean(spread if centred else spread + mean**2))
    return average if average > 0 else 1.0


def _null_curvature(loss: Loss, data: Data, *, fit_intercept: bool) -> float:
    """The mean second derivative at the model without features; 1 where it vanishes."""
    F = MeanLoss(loss, data.y, data.shares, data.offset)
    with np.errstate(over="ignore", invalid="ignore"):
        constant = F.best_constant() if fit_intercept else 0.0
        curvature = float(np.sum(F.curvature(np.full_like(data.y, constant))))
    return curvature if 0 < curvature < math.inf else 1.0
