"""Sketch: what one pass over the columns of X leaves of them, enough to compare them with others.

Let z be a column, centred and of length 1. For a matrix G of d random normal vectors the d numbers
G z keep distances: |G z - G z'|^2 is |z - z'|^2 = 2 (1 - r) times a chi^2 of d degrees of freedom,
with r the correlation of the columns. Columns that are nearly equal are near in d dimensions, where
a tree finds them: n m d operations in place of n m^2.

The products with the response say how much of it a column explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector

DIMENSIONS = 10
BLOCK = 1 << 18
"""Entries of X that are looked at together."""

SAMPLE = 64
"""Rows that say which columns may have two values or less."""

ROUNDING = 1e-14
"""A variance next to the mean square that is nothing but rounding."""

MOST_CLASSES = 50
"""Classes of a response; with more it is not compared with columns."""


@dataclass(frozen=True)
class Target:
    """The response as orthonormal vectors: itself, centred, or one vector per class."""

    vectors: Vector
    """n x 1, or n x classes; n x 0 where it is not compared with columns."""

    codes: Index | None
    """The class of each row; None for a number."""

    @classmethod
    def of(cls, y: Any) -> Target:
        """Text, truths and two values are classes."""
        n = len(y)
        values, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind not in "fiu" or len(values) == 2:
            if not 2 <= len(values) <= MOST_CLASSES:
                return cls(np.zeros((n, 0)), codes)
            member = (codes[:, None] == np.arange(len(values))).astype(np.float64)
            return cls(member / np.sqrt(member.sum(axis=0)), codes)
        centred = np.asarray(y, np.float64) - np.mean(y, dtype=np.float64)
        length = float(np.linalg.norm(centred))
        usable = 0.0 < length < np.inf
        return cls((centred / length)[:, None] if usable else np.zeros((n, 0)), None)


@dataclass(frozen=True)
class Sketch:
    """What is kept of each column of X."""

    X: Any
    mean: Vector
    length: Vector
    """Of the centred column; inf where it is constant, but for rounding, or not finite."""

    marks: Vector
    """m x d: products of the centred column, made of length 1, with random vectors."""

    explained: Vector
    """m x (1 or classes): products with the vectors of the target."""

    few: Mask
    """Whether a column has two values or less."""

    least: Vector
    largest: Vector
    """Of the columns with `few` values; NaN elsewhere."""

    @classmethod
    def of(cls, X: Any, target: Target) -> Sketch:
        """One pass over X, a dense matrix of numbers."""
        n, m = X.shape
        random = np.random.default_rng(0).normal(size=(n, DIMENSIONS))
        beside = np.hstack((random, target.vectors))
        mean, length = np.zeros(m), np.zeros(m)
        products = np.zeros((m, beside.shape[1]))
        step = max(1, BLOCK // n)
        for at in range(0, m, step):
            part = slice(at, at + step)
            block = np.array(X[:, part], dtype=np.float64, order="F")
            mean[part] = block.mean(axis=0)
            block -= mean[part]
            length[part] = np.sqrt(np.einsum("ij,ij->j", block, block))
            products[part] = block.T @ beside
        few, least, largest = _few_values(X)
        with np.errstate(invalid="ignore", over="ignore"):
            flat = ~(length**2 > ROUNDING * n * mean**2)
        length[flat | (few & (least == largest)) | ~np.isfinite(length)] = np.inf
        products[~np.isfinite(length)] = 0.0
        products /= length[:, None]
        marks, explained = products[:, :DIMENSIONS], products[:, DIMENSIONS:]
        return cls(X, mean, length, marks, explained, few, least, largest)

    def centred(self, columns: Any) -> Vector:
        """Columns made of mean 0 and length 1."""
        part = np.asarray(self.X[:, columns], dtype=np.float64) - self.mean[columns]
        return np.asarray(part / self.length[columns])


def _few_values(X: Any) -> tuple[Mask, Vector, Vector]:
    """The columns with two values or less, and these; a sample of the rows rules others out."""
    n, m = X.shape
    some = X[np.unique(np.linspace(0, n - 1, SAMPLE).astype(int))]
    few = np.all((some == some.min(axis=0)) | (some == some.max(axis=0)), axis=0)
    least, largest = np.full(m, np.nan), np.full(m, np.nan)
    for j in np.flatnonzero(few).tolist():
        column = X[:, j]
        least[j], largest[j] = low, high = column.min(), column.max()
        few[j] = np.all((column == low) | (column == high))
    return few, least, largest
