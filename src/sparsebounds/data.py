"""Data: X, the response, weights and offset, as they were given and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Mask, Vector, read_only
from sparsebounds._support.threads import one_thread
from sparsebounds.losses import Loss
from sparsebounds.matrices import Matrix, as_matrix, fingerprint, row_count


@dataclass(frozen=True, eq=False)
class Coded:
    """A response of two classes as -1 and +1, and the labels that these stand for."""

    y: Vector
    classes: tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of positive weight. X is viewed, not copied: do not change it in place."""

    matrix: Matrix
    y: Vector
    """The response; two classes are -1 and +1."""

    weights: Vector
    offset: Vector | None = None
    names: tuple[str, ...] | None = None
    classes: tuple[Any, Any] | None = None
    """The labels that -1 and +1 stand for."""

    kept: Index | None = None
    """The rows' numbers in X, where some have weight 0."""

    source: tuple[Data, Index] | None = None
    """The data whose columns with these numbers they are (`part`)."""

    def __post_init__(self) -> None:
        for name in ("y", "weights", "offset"):
            if (vector := getattr(self, name)) is not None:
                object.__setattr__(self, name, read_only(vector))

    @classmethod
    @one_thread()
    def read(
        cls,
        X: Any,
        y: Any,
        loss: Loss,
        sample_weight: Any = None,
        offset: Any = None,
        feature_names: Any = None,
    ) -> Data:
        """The data, checked for a loss."""
        n = row_count(X)
        labels = check.response_labels(y.y if isinstance(y, Coded) else y, n)
        weights, keep = check.sample_weights(sample_weight, n)
        labels = labels if keep is None else labels[keep]
        classes = None
        if loss.two_class:
            response, classes = check.two_classes(labels)
            classes = y.classes if isinstance(y, Coded) else classes
        else:
            response = check.real_vector("y", labels, len(labels), "row")
            loss.check_response(response)
        if offset is not None:
            offset = check.real_vector("offset", offset, n, "row")
            offset = offset if keep is None else offset[keep]
        matrix, names = as_matrix(X, keep)
        if feature_names is not None:
            names = check.feature_names(feature_names, matrix.shape[1])
        kept = None if keep is None else np.flatnonzero(keep)
        return cls(matrix, response, weights, offset, names, classes, kept)

    def part(self, features: Index) -> Data:
        """The same rows with these columns alone."""
        names = None if self.names is None else tuple(self.names[i] for i in features)
        matrix = self.matrix.part(features)
        return replace(self, matrix=matrix, names=names, source=(self, features))

    def of_rows(self, keep: Mask) -> Data:
        """Some of the rows."""
        offset = None if self.offset is None else self.offset[keep]
        y, weights, matrix = self.y[keep], self.weights[keep], self.matrix.kept(keep)
        return replace(
            self, matrix=matrix, y=y, weights=weights, offset=offset, kept=None, source=None
        )

    @cached_property
    def mass(self) -> float:
        """The sum of the weights, rounded once."""
        return math.fsum(self.weights) if self.equal is None else len(self.weights) * self.equal

    @cached_property
    def equal(self) -> float | None:
        """The weight of every row; None where they differ."""
        first = float(self.weights[0])
        return first if np.all(self.weights == first) else None

    @cached_property
    def shares(self) -> Vector:
        """The weights, as shares of their sum."""
        return self.weights / self.mass

    @cached_property
    def fingerprint(self) -> str:
        """Identifies X, y, weights and offset: equal for every memory order and storage."""
        return fingerprint(self.matrix, self.y, self.weights, self.offset)

    def label(self, feature: int) -> str:
        """A feature as messages name it."""
        return f"feature {feature}" if self.names is None else repr(self.names[feature])
