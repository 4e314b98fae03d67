"""Program: the data, a loss, one of k / l0, one of ridge / ball.

    k + ridge    min F(z) + sum_i ridge_i/2 w_i^2              at most k nonzeros
    l0 + ridge   min F(z) + sum_i ridge_i/2 w_i^2 + sum l0_i over the support
    k + ball     min F(z)                                      at most k nonzeros, |w|^2 <= ball
    l0 + ball    min F(z) + sum l0_i over the support          |w|^2 <= ball

with z = Xw + b + offset, b the unpenalised intercept (optional), and F the weighted mean
of the loss. Features in `always` are neither counted in k nor charged l0; features in
`never` have w_i = 0; `positive` asks w_i >= 0.

With `standardize` the problem is posed on the columns (x_j - center_j) / scale_j: scale_j
is the weighted standard deviation and center_j the weighted mean where there is an
intercept; without one, columns are not shifted and scale_j is the root mean square. A pair
(center, scale) poses it on given ones, as a stored certificate does.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds._support.decimals import rounded_up, share_up
from sparsebounds._support.errors import InputError
from sparsebounds._support.level import above, level_of
from sparsebounds._support.rounding import exact_dot, in_ball
from sparsebounds.losses import Box, Loss, MeanLoss, NonConvexLoss, get_loss
from sparsebounds.matrices import (
    Matrix,
    StandardizedMatrix,
    as_matrix,
    fingerprint,
    row_count,
    standardized,
)
from sparsebounds.penalties import KRidge, L0Ridge, Penalty

Form = Literal["k+ridge", "l0+ridge", "k+ball", "l0+ball"]


class Program:
    """A sparse program, validated; every other layer is a function of it.

    X is viewed, not copied: changing it, or the program, in place leaves what was computed from
    the old one behind.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        k: int | None = None,
        l0: Any = None,
        ridge: Any = None,
        ball: float | None = None,
        loss: str | Loss = "squared",
        fit_intercept: bool = False,
        standardize: bool | tuple[Vector, Vector] = False,
        sample_weight: Any = None,
        offset: Any = None,
        positive: Any = False,
        always: Any = None,
        never: Any = None,
        feature_names: Any = None,
    ) -> None:
        check.exactly_one(k=k, l0=l0)
        check.exactly_one(ridge=ridge, ball=ball)
        self.loss = get_loss(loss)
        n_given = row_count(X)
        labels = check.response_labels(y, n_given)
        self.weights, keep = check.sample_weights(sample_weight, n_given)
        self.y, self.classes = self._response(labels if keep is None else labels[keep])
        self.offset = None
        if offset is not None:
            full = check.real_vector("offset", offset, n_given, "row")
            self.offset = full if keep is None else full[keep]
        self.fit_intercept = bool(fit_intercept)
        if self.fit_intercept and len(self.y):
            self.loss.check_intercept(self.y)
        self.level = level_of(self.y, self.offset) if self.movable else 0.0
        """What was subtracted from y, and from the intercept, without rounding (`_level`)."""

        self.y = above(self.y, self.level)
        matrix, names = as_matrix(X, keep)
        self.n, self.m = matrix.shape
        if feature_names is not None:
            names = check.feature_names(feature_names, self.m)
        self.feature_names = names

        self.k = None if k is None else check.cardinality(k)
        self.l0 = None
        if l0 is not None:
            self.l0 = check.feature_numbers("l0", l0, self.m, zero_allowed=True)
        self.ridge = None
        if ridge is not None:
            self.ridge = check.feature_numbers("ridge", ridge, self.m, zero_allowed=False)
        self.ball = None if ball is None else check.positive_number("ball", ball)
        self.positive = check.sign_mask(positive, self.m)
        self.always = check.features("always", always, self.m, names)
        self.never = check.features("never", never, self.m, names)
        both = np.flatnonzero(self.always & self.never)
        if len(both):
            raise InputError(
                f"always and never both hold {self.label(int(both[0]))}; keep it in one of them."
            )
        chosen = check.standardization(standardize)
        self.standardize = chosen is not False
        self.matrix = matrix
        if self.standardize:
            given = None if chosen is True else chosen
            self.matrix = standardized(matrix, self.F.p, self.fit_intercept, given)

        self.box: Box | None = None
        """Where an envelope stands in for a non-convex loss (`with_box`): on which box."""

        self.memo: dict[str, Any] = {}
        """What other layers have proved about this program, kept for their next use."""

    # The problem, in the words of the mathematics.

    @property
    def form(self) -> Form:
        """Which of the four problems this is."""
        if self.ball is None:
            return "k+ridge" if self.l0 is None else "l0+ridge"
        return "k+ball" if self.l0 is None else "l0+ball"

    @cached_property
    def F(self) -> MeanLoss:
        """The data term F(z), with the offset inside."""
        return MeanLoss(self.loss, self.y, self.weights / self.mass, self.offset)

    @cached_property
    def mass(self) -> float:
        """The sum of the weights, rounded once."""
        return math.fsum(self.weights)

    @cached_property
    def ridges(self) -> Vector:
        """ridge, one number a feature (ridge forms)."""
        assert self.ridge is not None
        return np.broadcast_to(np.asarray(self.ridge, dtype=np.float64), (self.m,))

    @cached_property
    def prices(self) -> Vector:
        """l0, one number a feature, 0 for those always in; all 0 in the k forms."""
        price = np.zeros(self.m) if self.l0 is None else np.asarray(self.l0, dtype=np.float64)
        return np.where(self.always, 0.0, price)

    @cached_property
    def signed(self) -> bool:
        """Whether a sign is asked of any feature."""
        return bool(self.positive.any())

    @property
    def movable(self) -> bool:
        """Whether the response and the intercept may move together."""
        return self.fit_intercept and self.loss.residual

    @property
    def response(self) -> Vector:
        """y as the user gave it (two classes: -1 and +1)."""
        return self.y + self.level

    @property
    def free(self) -> Mask:
        """Features the problem chooses among: neither always nor never."""
        return ~(self.always | self.never)

    def penalty(
        self,
        features: Index | slice = slice(None),
        ridge: float | None = None,
        *,
        inside: Mask | None = None,
        outside: Mask | None = None,
        k: int | None = None,
    ) -> Penalty:
        """The relaxed penalty h on some features; `ridge` stands in for the ball.

        `inside` are the features known to be in (those always in, if it is not given), and k is
        how many others there may be, where that is fewer than the program's own.
        """
        own = self.ridges[features] if ridge is None else ridge
        inside = self.always[features] if inside is None else inside
        positive = self.positive[features] if self.signed else None
        if self.k is None:
            return L0Ridge(self.prices[features], own, inside, outside, positive)
        return KRidge(self.k if k is None else k, own, inside, outside, positive)

    def objective(self, coef: Any, intercept: float = 0.0) -> float:
        """The objective at a model in the user's units; inf where it breaks a constraint."""
        shifted = isinstance(self.matrix, StandardizedMatrix) and bool(self.matrix.center.any())
        w, b = self.to_program(
            check.real_vector("coef", coef, self.m, "column"),
            check.intercept(intercept, self.fit_intercept or shifted),
        )
        support = np.flatnonzero(w)
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.matrix.columns(support) @ w[support] + b
            value = self.F.value(z) + self.regularizer(w)
        return math.inf if math.isnan(value) else value

    def regularizer(self, w: Vector) -> float:
        """Everything but F, for w on the program's own columns; inf outside the constraints."""
        support = np.flatnonzero(w)
        size = w[support]
        if np.any(self.never[support]) or np.any(size[self.positive[support]] < 0):
            return math.inf
        counted = support[~self.always[support]]
        if self.k is not None and len(counted) > self.k:
            return math.inf
        value = float(np.sum(self.prices[counted]))
        if self.ball is None:
            with np.errstate(over="ignore"):
                return value + 0.5 * float(np.sum(self.ridges[support] * size * size))
        return value if in_ball(w, self.ball) else math.inf

    @cached_property
    def null_intercept(self) -> float:
        """The intercept, less the level, of the best model without features; 0 where none is."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.F.best_constant() if self.fit_intercept else 0.0

    @cached_property
    def null(self) -> float:
        """The objective of the best intercept-only (or zero) model."""
        with np.errstate(over="ignore"):
            return self.F.value(np.full(self.n, self.null_intercept))

    @cached_property
    def rounding(self) -> float:
        """The objective of a fit whose residuals are 1e-14 of the response: as good as 0.

        At most 1e-14 of the objective without a model; 1e-150 where squares underflow.
        """
        response = self.y if self.offset is None else self.y - self.offset
        with np.errstate(over="ignore", invalid="ignore"):
            most = 1e-14 * abs(self.F.value(np.zeros(self.n)))
            return min(1e-28 * float(self.F.p @ response**2), most) or 1e-150

    def relative(self, gap: float, upper: float) -> float:
        """A gap relative to max(|upper|, |null|); 0 where all three are rounding."""
        scale = max(abs(upper), abs(self.null))
        perfect = max(gap, scale) <= self.rounding
        return 0.0 if perfect else gap / max(scale, self.rounding)

    def yardstick(self, upper: float) -> str:
        """What relative gaps are relative to, in words: the larger of two objectives."""
        larger = abs(upper) > abs(self.null)
        return "its objective" if larger else "the objective without features"

    def distance(self, gap: float, upper: float) -> str:
        """A gap in words: how far from the best possible, and of what that is a percentage."""
        share = f"{share_up(self.relative(gap, upper))} of {self.yardstick(upper)}"
        return f"at most {rounded_up(gap, 3)} from the best possible, {share}"

    # Units: w and b act on the program's columns, coef and intercept on the user's.

    def to_program(self, coef: Vector, intercept: float) -> tuple[Vector, float]:
        """(w, b) on the program's columns, b less the level, from a model in the user's units."""
        if not isinstance(self.matrix, StandardizedMatrix):
            return coef, intercept - self.level
        return coef * self.matrix.scale, exact_dot(coef, self.matrix.center, intercept, -self.level)

    def to_user(self, w: Vector, b: float) -> tuple[Vector, float]:
        """(coef, intercept) in the user's units from a model on the program's columns."""
        if not isinstance(self.matrix, StandardizedMatrix):
            return w.copy(), b + self.level
        coef = w / self.matrix.scale
        return coef, exact_dot(-coef, self.matrix.center, b, self.level)

    # New programs from this one.

    def with_budget(self, k: int) -> Program:
        """The same data, loss and size of w, with at most k features in place of l0 (or k)."""
        return self._replaced("prices", k=check.cardinality(k), l0=None)

    def with_price(self, l0: float) -> Program:
        """The same data, loss and size of w, with a price l0 per feature in place of k (or l0)."""
        return self._replaced("prices", k=None, l0=check.positive_number("l0", l0))

    def restricted(self, features: Index) -> Program:
        """The same problem with the other features left out."""
        names = self.feature_names
        vectors = {
            name: value[features]
            for name in ("positive", "always", "never", "ridge", "l0")
            if isinstance(value := getattr(self, name), np.ndarray)
        }
        return self._replaced(
            *("ridges", "prices", "fingerprint", "signed"),
            matrix=self.matrix.part(features),
            m=len(features),
            feature_names=None if names is None else tuple(names[i] for i in features),
            **vectors,
        )

    def with_matrix(self, matrix: Matrix) -> Program:
        """The same problem on another matrix of this shape."""
        scaled = isinstance(matrix, StandardizedMatrix)
        return self._replaced("fingerprint", matrix=matrix, standardize=scaled)

    def at_level(self, level: float) -> Program:
        """The same problem with another level of the response: a stored certificate's."""
        if level == self.level:
            return self
        if not self.movable:
            raise InputError(f"level={level!r}, but the response of this problem stays as it is.")
        stale = ("F", "null_intercept", "null", "rounding")
        return self._replaced(*stale, y=above(self.response, level), level=level)

    def with_box(self, box: Box) -> Program:
        """The convex problem with the loss's envelope on a box in the place of the loss."""
        assert isinstance(self.loss, NonConvexLoss)
        envelope = box.envelope(self.loss, self.y, self.offset).smoothed()
        # An envelope may be 0 without features: accuracy is relative to the loss's own null.
        rounding = max(self.rounding, 1e-8 * abs(self.null))
        return self.with_loss(envelope)._replaced(box=box, rounding=rounding)

    def with_loss(self, loss: Loss) -> Program:
        """The same problem with another loss of the same responses."""
        return self._replaced("F", "null_intercept", "null", loss=loss)

    def _replaced(self, *stale: str, **changes: Any) -> Program:
        """A copy with these changes, without what was proved of this one or is `stale` in it."""
        other = copy.copy(self)
        kept = {name: value for name, value in self.__dict__.items() if name not in stale}
        other.__dict__ = kept | changes | {"memo": {}}
        return other

    def require_convex(self, what: str) -> None:
        """Refuse what is proved for convex losses only."""
        if not self.loss.convex:
            raise InputError(
                f"{what} needs a convex loss, and the {self.loss.name} loss is not convex; solve "
                "and relax take it, and prove how far their model can be from the best."
            )

    # Words and identity.

    @cached_property
    def fingerprint(self) -> str:
        """Identifies X, y, weights and offset: equal for every memory order and storage."""
        return fingerprint(self.matrix, self.response, self.weights, self.offset)

    def label(self, feature: int) -> str:
        """A feature as messages name it."""
        if self.feature_names is None:
            return f"feature {feature}"
        return repr(self.feature_names[feature])

    def describe(self, sparsity: str | None = None) -> str:
        """The problem in one clause; `sparsity` says for many k or l0 what one would say."""
        if sparsity is None:
            sparsity = (
                f"at most {self.k} nonzero coefficient{'' if self.k == 1 else 's'}"
                if self.k is not None
                else f"a price l0={_number(self.l0)} per nonzero coefficient"
            )
        size = f"ridge={_number(self.ridge)}" if self.ball is None else f"|w|^2 <= {self.ball:g}"
        extras = [
            *["an intercept"] * self.fit_intercept,
            *["standardized columns"] * self.standardize,
            *["nonnegative coefficients"] * self.signed,
        ]
        for mask, place in ((self.always, "always in"), (self.never, "never in")):
            if count := int(np.count_nonzero(mask)):
                extras.append(f"{count} feature{'s' * (count != 1)} {place}")
        tail = "".join(f", {extra}" for extra in extras)
        # An envelope's numbers are those of its box.
        numbers = self.loss.parameters() if self.box is None else {}
        own = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
        loss = f"{self.loss.name} loss{f' ({own})' * bool(own)}"
        return f"{loss} on {self.n} x {self.m} data with {sparsity}, {size}{tail}"

    def __repr__(self) -> str:
        return f"<Program: {self.describe()}>"

    # Validation.

    def _response(self, labels: Any) -> tuple[Vector, tuple[Any, Any] | None]:
        if self.loss.two_class:
            return check.two_classes(labels)
        y = check.real_vector("y", labels, len(labels), "row")
        self.loss.check_response(y)
        return y, None


def _number(value: float | Vector | None) -> str:
    return f"{value:g}" if isinstance(value, float) else "(one number per feature)"
