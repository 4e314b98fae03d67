"""Choosing a point of a path: scores of folds with the rule of one standard error, or a criterion.

AIC   -2 log likelihood + 2 d
BIC   -2 log likelihood + d log n
EBIC  BIC + 2 log binom(m, s)     Chen and Chen (2008) with gamma = 1: a price for the choice itself

n is the sum of the sample weights, m the number of features to choose from, s the number chosen, d
all coefficients that are not 0, the intercept included. The likelihood is that of the loss: normal
errors of unknown variance (n log of the mean squared residual), logistic, Poisson; constants are
left out. The ridge makes coefficients smaller and d an overestimate of what they are free to do.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds.losses import Loss, MeanLoss

CRITERIA = ("cv", "aic", "bic", "ebic")
RULES = ("best", "1se")
LIKELIHOODS = ("squared", "logistic", "poisson")


def check_choice(criterion: str, rule: str, loss: Loss) -> None:
    """A criterion and a rule that are known and go together."""
    if criterion not in CRITERIA:
        raise InputError(
            f"criterion={criterion!r} is not known; pass 'cv', 'aic', 'bic' or 'ebic'."
        )
    if rule not in RULES:
        raise InputError(f"rule={rule!r} is not known; pass 'best' or '1se'.")
    if rule == "1se" and criterion != "cv":
        raise InputError(f"rule='1se' needs folds; pass criterion='cv', not {criterion!r}.")
    if criterion != "cv" and loss.name not in LIKELIHOODS:
        raise InputError(
            f"criterion={criterion!r} needs a likelihood, which the {loss.name} loss does not "
            "have; pass criterion='cv'."
        )


def information(
    criterion: str, loss: Loss, y: Vector, weights: Vector, z: Vector, d: int, s: int, m: int
) -> float:
    """The criterion of one model with predictions z: less is better."""
    n = math.fsum(weights)
    with np.errstate(over="ignore"):
        mean = MeanLoss(loss, y, weights / n).value(z)
    # Residuals of 1e-14 of the response are none: more digits would buy features.
    noise = 1e-28 * float(np.mean(y * y)) + 1e-300
    deviance = n * math.log(max(2.0 * mean, noise)) if loss.name == "squared" else 2.0 * n * mean
    if criterion == "aic":
        return deviance + 2.0 * d
    value = deviance + d * math.log(n)
    if criterion == "ebic":
        value += 2.0 * float(gammaln(m + 1) - gammaln(s + 1) - gammaln(m - s + 1))
    return value


def check_scores(scores: Vector) -> None:
    """InputError where no candidate has a score on every fold, a warning where some have not."""
    missing = int(np.count_nonzero(np.isnan(scores).any(axis=2)))
    count = scores.shape[0] * scores.shape[1]
    if missing == count:
        raise InputError(
            "No candidate has a score on every fold: R^2 needs two rows that differ in each of "
            "them, so pass fewer folds or another scoring, such as 'neg_mean_squared_error'; or "
            "the time_limit of a path was reached, so pass a longer one."
        )
    if missing:
        warnings.warn(
            f"{missing} of {count} candidates have no score on some fold and were left out: the "
            "time_limit of a path was reached, or the scorer gave no number.",
            stacklevel=4,
        )


def chosen(scores: Vector, rule: str) -> tuple[int, int]:
    """(ridge, point) of the best mean score, or by the rule of one standard error.

    `scores` has a row per ridge, a column per point (smaller models first), a layer per fold. The
    rule keeps the best ridge and takes its smallest model whose mean score is at most one
    standard error (of the best one's mean) below the best.
    """
    mean = np.where(np.isnan(scores).any(axis=2), -np.inf, scores.mean(axis=2))
    ridge, point = (int(i) for i in np.unravel_index(np.argmax(mean), mean.shape))
    if rule == "1se" and scores.shape[2] > 1 and np.isfinite(mean[ridge, point]):
        error = np.std(scores[ridge, point], ddof=1) / math.sqrt(scores.shape[2])
        point = int(np.argmax(mean[ridge] >= mean[ridge, point] - error))
    return ridge, point


def ends(
    best: Mapping[str, float], results: Mapping[str, Any], most: int, option: str = ""
) -> list[str]:
    """A sentence for each choice at an end of what was tried, where there is more beyond it.

    `most` is the largest k that makes sense, `option` what stands before the names of grids.
    """
    said = []
    for name, value in best.items():
        tried = np.unique(results[f"param_{name}"])
        low, high = (1, most) if name == "k" else (0, math.inf)
        if len(tried) == 1:
            continue
        for end, beyond in (("largest", tried[-1] < high), ("smallest", tried[0] > low)):
            if beyond and value == (tried[-1] if end == "largest" else tried[0]):
                said.append(f"{name} = {value:g} is the {end} tried: widen {option}{name}s.")
    return said
