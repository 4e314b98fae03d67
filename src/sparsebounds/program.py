"""Program: the data, a loss, one of k / l0, one of ridge / ball.

    k + ridge    min F(z) + sum_i ridge_i/2 w_i^2              at most k nonzeros
    l0 + ridge   min F(z) + sum_i ridge_i/2 w_i^2 + sum l0_i over the support
    k + ball     min F(z)                                      at most k nonzeros, |w|^2 <= ball
    l0 + ball    min F(z) + sum l0_i over the support          |w|^2 <= ball

with z = Xw + b + offset, b the intercept (optional, unpenalised), F the weighted mean of the loss.
Features in `always` are not counted in k nor charged l0; `never` asks w_i = 0, `positive` w_i >= 0.

With `standardize` the problem is posed on the columns (x_j - center_j) / scale_j: scale_j is the
weighted standard deviation and center_j the weighted mean where there is an intercept; without one,
columns are not shifted and scale_j is the root mean square. The columns of a group are whitened:
mixed by a matrix T so that they are uncorrelated and of variance 1 (`matrices.whitened`). Given
(center, scale), or these with the entries of T, are those of a stored certificate.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Unpack

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Mask, Vector, nonzeros
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.level import above
from sparsebounds._support.rounding import exact_dot, in_ball
from sparsebounds.arguments import Arguments, DataArguments, completed, takes
from sparsebounds.data import Data
from sparsebounds.losses import Box, Loss, MeanLoss, NonConvexLoss, get_loss
from sparsebounds.matrices import Matrix, StandardizedMatrix, WhitenedMatrix, posed
from sparsebounds.penalties import KRidge, L0Ridge, Penalty
from sparsebounds.problem import Problem, mask
from sparsebounds.yardstick import Yardstick

Form = Literal["k+ridge", "l0+ridge", "k+ball", "l0+ball"]

OF_ROWS = ("F", "null_intercept", "null", "rounding")
"""What programs share that differ in their columns, or in what they ask of these."""


def check_program(program: Any) -> None:
    """A program is what `Program` made."""
    if not isinstance(program, Program):
        kind = type(program).__name__
        raise InputTypeError(f"program is a {kind}; pass a sparsebounds.Program(X, y, k=5, ...).")


@takes(Arguments)
class Program(Yardstick):
    """A sparse program, validated: data and a problem. Every other layer is a function of it.

    A program does not change; `with_budget` and the like make new ones. X is viewed, not copied:
    changing it in place leaves what was computed from the old one behind.

    Parameters
    ----------

    Raises
    ------
    ValueError, TypeError
        Where an argument makes no sense, in a sentence that says what to pass instead.

    See Also
    --------
    solve : Pose a program and solve it.

    Notes
    -----
    With one of k and l0, one of ridge and ball, and F the weighted mean of the loss::

        min  F(Xw + b + offset) + sum_i ridge_i/2 w_i^2 + sum of l0_i over the support of w
        over at most k nonzeros, sum_i w_i^2 <= ball

    Examples
    --------
    >>> program = sb.Program(np.eye(4), [3.0, 0.0, 1.0, 0.0], k=1, ridge=0.25)
    >>> program
    <Program: squared loss on 4 x 4 data with at most 1 nonzero coefficient, ridge=0.25>
    >>> program.form, program.objective([1.5, 0, 0, 0])
    ('k+ridge', 0.6875)
    """

    def __init__(self, X: Any, y: Any, **arguments: Unpack[Arguments]) -> None:
        given = completed(arguments)
        loss = get_loss(given["loss"])
        data = Data.read(X, y, loss, *(given[name] for name in DataArguments.__annotations__))
        self._pose(data, Problem.read(data, loss, given), loss)

    def _pose(
        self,
        data: Data,
        problem: Problem,
        loss: Loss,
        box: Box | None = None,
        ceiling: float = -math.inf,
        least_rounding: float = 0.0,
    ) -> None:
        self.data, self.problem, self.loss = data, problem, loss
        self.box = box  # where an envelope stands in for a non-convex loss: on which
        self.ceiling = ceiling  # bounds hold up to this value at least (`up_to`)
        self._least_rounding = least_rounding
        self.n, self.m = data.matrix.shape
        self.weights, self.offset = data.weights, data.offset
        self.classes, self.feature_names = data.classes, data.names
        self.k, self.l0, self.ridge, self.ball = problem.k, problem.l0, problem.ridge, problem.ball
        self.fit_intercept, self.level = problem.fit_intercept, problem.level
        self.standardize = problem.standardize is not None
        self.matrix = data.matrix  # X as the problem is posed on it
        if problem.standardize is not None:
            self.matrix = posed(data.matrix, problem.standardize, problem.partition)
        self.y = above(data.y, problem.level)  # the response less the level
        self.positive = mask(problem.positive, self.m)
        self.always = mask(problem.always, self.m)
        self.never = mask(problem.never, self.m)
        self.groups = problem.partition  # columns that are chosen together
        for vector in (self.y, self.positive, self.always, self.never):
            vector.flags.writeable = False
        self._posed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_posed" in self.__dict__:
            raise AttributeError(
                f"A program does not change: {name} stays as it is. Make a new one, by with_budget "
                "and the like or by sparsebounds.Program(...)."
            )
        super().__setattr__(name, value)

    # It does not change: copies, such as those of a solution, share it.

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self

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
        return MeanLoss(self.loss, self.y, self.data.shares, self.offset)

    @property
    def mass(self) -> float:
        """The sum of the weights, rounded once."""
        return self.data.mass

    @cached_property
    def ridges(self) -> Vector:
        """ridge, one number per feature (ridge forms)."""
        assert self.ridge is not None
        return np.broadcast_to(np.asarray(self.ridge, dtype=np.float64), (self.m,))

    @cached_property
    def prices(self) -> Vector:
        """l0, one number per group (`penalties.groups`), 0 for those always in and in k forms."""
        price = np.zeros(self.m) if self.l0 is None else np.asarray(self.l0, dtype=np.float64)
        return np.where(self.groups.lead & ~self.always, price, 0.0)

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
        return self.data.y

    @cached_property
    def free(self) -> Mask:
        """Groups the problem chooses among, by their first columns: neither always nor never."""
        chosen: Mask = self.groups.lead & ~(self.always | self.never)
        return chosen

    @property
    def units(self) -> int:
        """How many groups there are; features, where these stand alone."""
        return self.m if self.groups.single else len(self.groups.heads)

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
        own: Any = self.ridge if ridge is None else ridge
        alike = self.groups.single and not self.always.any()
        price: Any = self.l0 if alike else self.prices
        own, price = (x[features] if isinstance(x, np.ndarray) else x for x in (own, price))
        inside = self.always[features] if inside is None else inside
        positive = self.positive[features] if self.signed else None
        groups = self.groups.part(features)
        if self.k is None:
            return L0Ridge(price, own, inside, outside, positive, groups)
        return KRidge(self.k if k is None else k, own, inside, outside, positive, groups)

    def objective(self, coef: Any, intercept: float = 0.0) -> float:
        """The objective at a model in the user's units; inf where it breaks a constraint."""
        stated = self.problem.standardize
        shifted = stated is not None and bool(stated[0].any())
        w, b = self.to_program(
            check.real_vector("coef", coef, self.m, "column"),
            check.intercept(intercept, self.fit_intercept or shifted),
        )
        support = nonzeros(w)
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.matrix.columns(support) @ w[support] + b
            value = self.F.value(z) + self.regularizer(w)
        return math.inf if math.isnan(value) else value

    def regularizer(self, w: Vector) -> float:
        """Everything but F, for w on the program's own columns; inf outside the constraints."""
        support = nonzeros(w)
        size = w[support]
        if np.any(self.never[support]) or np.any(size[self.positive[support]] < 0):
            return math.inf
        counted = self.counted(support)
        if self.k is not None and len(counted) > self.k:
            return math.inf
        value = float(np.sum(self.prices[counted]))
        if self.ball is None:
            with np.errstate(over="ignore"):
                return value + 0.5 * float(np.sum(self.ridges[support] * size * size))
        return value if in_ball(w, self.ball) else math.inf

    def counted(self, support: Index) -> Index:
        """The groups of a support that are counted or priced, by their first columns."""
        if self.groups.leaders is not None:
            support = np.unique(self.groups.leaders[support])
        return support[~self.always[support]]

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
        with np.errstate(over="ignore", invalid="ignore"):
            most = 1e-14 * abs(self.F.value(np.zeros(self.n)))
            own = min(1e-28 * float(self.F.p @ self.F.target**2), most) or 1e-150
            return max(own, self._least_rounding)

    # Units: w and b act on the program's columns, coef and intercept on the user's.

    def to_program(self, coef: Vector, intercept: float) -> tuple[Vector, float]:
        """(w, b) on the program's columns, b less the level, from a model in the user's units."""
        if not isinstance(self.matrix, StandardizedMatrix | WhitenedMatrix):
            return coef, intercept - self.level
        b = exact_dot(coef, self.matrix.center, intercept, -self.level)
        return self.matrix.inward(coef), b

    def to_user(self, w: Vector, b: float) -> tuple[Vector, float]:
        """(coef, intercept) in the user's units from a model on the program's columns."""
        if not isinstance(self.matrix, StandardizedMatrix | WhitenedMatrix):
            return w.copy(), b + self.level
        coef = self.matrix.outward(w)
        return coef, exact_dot(-coef, self.matrix.center, b, self.level)

    def _replaced(self, *, data: Data | None = None, **changes: Any) -> Program:
        """The program with other data, or with changes to its problem."""
        return self._made(data or self.data, self.problem.replaced(**changes), self.loss, self.box)

    def _made(self, *parts: Any, **rest: Any) -> Program:
        rest = {"ceiling": self.ceiling, "least_rounding": self._least_rounding} | rest
        other = object.__new__(Program)
        other._pose(*parts, **rest)
        if other._rows == self._rows:
            known = self.__dict__
            other.__dict__.update({name: known[name] for name in OF_ROWS if name in known})
        return other

    @property
    def _rows(self) -> tuple[Any, ...]:
        """What the objective without features depends on."""
        parts = (self.data.y, self.data.weights, self.data.offset, self.loss)
        numbers = (self.level, self.fit_intercept, self._least_rounding)
        return *map(id, parts), *numbers

    def with_budget(self, k: int) -> Program:
        """The same data, loss and size of w, with at most k features in place of l0 (or k)."""
        return self._replaced(k=check.cardinality(k), l0=None)

    def with_price(self, l0: float) -> Program:
        """The same data, loss and size of w, with a price l0 per feature in place of k (or l0)."""
        return self._replaced(k=None, l0=check.positive_number("l0", l0))

    def with_ridge(self, ridge: float | Vector) -> Program:
        """The same data, loss and k or l0, with a ridge in place of the ball (or ridge)."""
        ridge = check.feature_numbers("ridge", ridge, self.m, zero_allowed=False)
        return self._replaced(ridge=ridge, ball=None)

    def restricted(self, features: Index) -> Program:
        """The same problem with the other features left out."""
        part = self.problem.part(features, self.m)
        return self._made(self.data.part(features), part, self.loss, self.box)

    def on(self, data: Data) -> Program:
        """The same problem on other rows, their columns standardized as these are."""
        return self._replaced(data=data)

    def with_matrix(self, matrix: Matrix) -> Program:
        """The same problem on another matrix of this shape."""
        given, own = (f"{n} x {m}" for n, m in (matrix.shape, (self.n, self.m)))
        if given != own:
            raise InputError(f"matrix is {given}, but the program's data are {own}.")
        if isinstance(matrix, StandardizedMatrix | WhitenedMatrix):
            data = replace(self.data, matrix=matrix.base)
            return self._replaced(data=data, standardize=matrix.stated)
        return self._replaced(data=replace(self.data, matrix=matrix), standardize=None)

    def at_level(self, level: float) -> Program:
        """The same problem with another level of the response: a stored certificate's."""
        if level == self.level:
            return self
        if not self.movable:
            raise InputError(f"level={level!r}, but the response of this problem stays as it is.")
        return self._replaced(level=level)

    def up_to(self, value: float) -> Program:
        """The same problem for bounds that may exceed the null model's value, up to this one."""
        return self._made(self.data, self.problem, self.loss, self.box, ceiling=value)

    def with_box(self, box: Box) -> Program:
        """The convex problem with the loss's envelope on a box in the place of the loss."""
        assert isinstance(self.loss, NonConvexLoss)
        envelope = box.envelope(self.loss, self.y, self.offset).smoothed()
        # An envelope may be 0 without features: accuracy is relative to the loss's own null.
        least = max(self.rounding, 1e-8 * abs(self.null))
        # The numbers of an envelope are those of its box.
        problem = self.problem.replaced(loss=envelope.name, loss_parameters={})
        return self._made(self.data, problem, envelope, box, least_rounding=least)

    def with_loss(self, loss: Loss) -> Program:
        """The same problem with another loss of the same responses."""
        problem = self.problem.replaced(loss=loss.name, loss_parameters=loss.parameters())
        return self._made(self.data, problem, loss, self.box)

    def require_convex(self, what: str) -> None:
        """Refuse what is proved for convex losses only."""
        if not self.loss.convex:
            what = what if self.groups.single else f"{what} with groups"
            raise InputError(
                f"{what} needs a convex loss, and the {self.loss.name} loss is not convex; solve "
                "and relax take it, and prove how far their model can be from the best."
            )

    @property
    def fingerprint(self) -> str:
        """Identifies X, y, weights and offset: equal for every memory order and storage."""
        return self.data.fingerprint

    def label(self, feature: int) -> str:
        """A feature as messages name it."""
        return self.data.label(feature)

    def describe(self, sparsity: str | None = None) -> str:
        """The problem in one clause; `sparsity` says for many k or l0 what one would say."""
        return self.problem.describe((self.n, self.m), sparsity)

    def __repr__(self) -> str:
        return f"<Program: {self.describe()}>"
