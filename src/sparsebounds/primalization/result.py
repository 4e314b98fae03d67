"""Primalization: a sparse point made from a relaxed one, and by which argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds.fitting import Model

Argument = Literal["sparse", "unique", "vertex"]


@dataclass(frozen=True)
class Primalization:
    """A point with binary weights, made from a relaxed one without a change of predictions.

    Attributes
    ----------
    coef : array
        The coefficients, in the user's units.
    intercept : float
        0 where the problem has none.
    w : array
        The same on the program's own columns.
    b : float
        The intercept there.
    u : array
        The weights before rounding: a vertex, with at most rank_tied entries between 0 and 1.
    value : float
        OPT: the objective of (w, b), rounded up, whatever the number of its nonzeros.
    relaxed_value : float
        The relaxed objective at the vertex: between p** and the value of the relaxed point given.
    excess : float
        OPT - relaxed_value by formula, S the fractional entries of u and tau the tied ridge/2 v^2:

        -tau sum_S u(1 - u) (k + ridge), sum_S l0 (1 - u)^2 (l0 + ridge), 0 (k + ball),
        sum_S l0 (1 - u) (l0 + ball).
    model : Model
        The best model on the same support.
    n_nonzero : int
        Nonzeros among the features that count (not those always in); it may exceed k.
    n_fractional : int
        How many weights were rounded up: the size of S.
    rank_tied : int
        The rank of the tied columns, centred where there is an intercept: see `argument`.
    tied : array of int
        The features the relaxed point shares among: those with 0 < u < 1 before the walk.
    argument : {"sparse", "unique", "vertex"}
        Why the weights are a vertex.

        "sparse": the relaxed weights are binary: the relaxed point is a sparse model of the same
        value, and the best one where the relaxation was solved.
        "unique": the tied columns are independent, so that no other weights predict the same.
        "vertex": they are dependent, and the weights were moved along the ties.
    values : array
        OPT of the paper's linear program, one per random objective; NaN where it found no vertex.
    lack : float
        Non-convex losses: what the point's own objective exceeds OPT by, f - f** at its
        predictions. There OPT is the objective with the envelope f** in the place of f, and
        `model` is fitted to f.

    See Also
    --------
    primalize : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_low_rank(60, 20, rank=3)
    >>> program = sb.Program(data.X, data.y, k=4, ball=20.0)
    >>> primal = sb.primalize(program, sb.relax(program))
    >>> primal.n_nonzero <= 4 + primal.rank_tied - 1, primal.n_fractional <= 3
    (True, True)
    """

    coef: Vector = field(repr=False)
    intercept: float
    w: Vector = field(repr=False)
    b: float = field(repr=False)
    u: Vector = field(repr=False)
    value: float
    relaxed_value: float
    excess: float
    model: Model = field(repr=False)
    n_nonzero: int
    n_fractional: int
    rank_tied: int
    tied: Index = field(repr=False)
    argument: Argument
    values: Vector = field(repr=False)
    lack: float = 0.0

    def __str__(self) -> str:
        how = {
            "sparse": "The relaxed weights are 0 and 1",
            "unique": f"The {len(self.tied)} tied columns are independent, their weights unique",
            "vertex": f"Weights were moved along {len(self.tied)} ties of rank {self.rank_tied}",
        }[self.argument]
        return (
            f"{how}: {self.n_nonzero} nonzeros, {self.n_fractional} of them rounded up, "
            f"OPT = {self.value:.6g}, refitted {self.refit_value:.6g}."
        )

    @property
    def unique(self) -> bool:
        """Whether the weights are the only ones with these predictions: then all draws agree."""
        return self.argument != "vertex"

    @property
    def refit_value(self) -> float:
        """The objective of `model`, rounded up."""
        return self.model.value

    @property
    def support(self) -> Index:
        """Where coef is not zero."""
        return np.flatnonzero(self.coef)
