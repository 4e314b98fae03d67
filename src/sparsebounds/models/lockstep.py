"""Models of all sizes for many problems at once, without proofs: the folds of a cross-validation.

The problems share columns and loss and differ in rows (by shares, 0 for those left out), responses
and ridges. They go up in step, one feature at a time, so that every operation is one on arrays with
a row per problem, and a small table does not spend its time on calls:

    grow       the feature that the quadratic around the model gains most by
    improve    the best swaps of the quadratic, fitted, until none helps
    back       the model without its least feature, where that beats the one of its size

No problem learns of another, or of a row that it leaves out. With M = H_SS + R, B = M^-1 H_S. and
rho = -F' at w, the best model on S, dropping i costs w_i^2 / (2 M^-1_ii), adding j gains
rho_j^2 / (2 s_j), and a swap of i for j does both, with rho_j + B_ij w_i / M^-1_ii and
s_j + B_ij^2 / M^-1_ii (see `exchange`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from sparsebounds._support.array import Index, Mask, Vector
from sparsebounds.losses import Loss

TRIES = 4
"""Swaps that are fitted before a model is called locally optimal, where q is not the loss."""

WIDEST = 500
"""Features that are all in play, and have a Gram matrix where the loss is squared."""

LEAST = 1e-7
"""Changes smaller than this, relative to the objective, are none."""


class Unsettled(Exception):
    """Plain steps do not find the model of a problem."""


@dataclass(frozen=True)
class Alike:
    """Problems that share their columns."""

    columns: Vector
    """One per row, of about unit size, less their means where there is an intercept."""

    loss: Loss
    y: Vector
    """A row per problem."""

    p: Vector
    """The shares of the rows, a row per problem."""

    mass: Vector
    """Shares times this are weights. A row has one weight in all problems that have it."""

    ridges: Vector
    """A row per problem."""

    kind: Index
    """A number per problem: the same for those that differ in their ridges alone."""

    intercept: bool
    always: Index
    open: Mask
    """Features that may enter and leave."""

    @property
    def narrow(self) -> bool:
        """Whether all features are in play."""
        return len(self.columns) <= WIDEST

    @property
    def by_gram(self) -> bool:
        """Whether Gram matrices say it all."""
        return self.loss.name == "squared" and self.narrow

    def at(self, some: Index) -> Alike:
        """Some of the problems."""
        own = {name: getattr(self, name)[some] for name in ("y", "p", "mass", "ridges", "kind")}
        return replace(self, **own)


@dataclass
class State:
    """Some of the problems with a model each, of one size: a row per problem."""

    which: Index
    inside: Index
    w: Vector
    b: Vector
    value: Vector

    def at(self, some: Index | slice) -> State:
        """Some of them."""
        return State(*(getattr(self, field.name)[some] for field in fields(self)))

    def put(self, places: Index, other: State) -> None:
        """Others in the places of some."""
        for field in fields(self):
            getattr(self, field.name)[places] = getattr(other, field.name)


@dataclass(frozen=True)
class Quadratic:
    """The loss around a model of each problem, without ridges, on the features in play."""

    pool: Index
    """The features in play, a row per problem."""

    at: Index
    """The places of the model's own among them."""

    across: Vector
    """H_S. of each problem."""

    diagonal: Vector
    rho: Vector
    """-F'."""

    mean: Vector
    """Of the columns, by which the intercept follows."""


class Lockstep(ABC):
    """The problems, and ways to better supports of all of them."""

    def __init__(self, alike: Alike) -> None:
        self.alike = alike

    @abstractmethod
    def fit(self, state: State, limit: Vector) -> State:
        """The best models on the supports, from the state's own; inf perhaps above the limit."""

    @abstractmethod
    def around(self, state: State) -> Quadratic:
        """The loss around models."""

    @np.errstate(all="ignore")
    def climb(
        self,
        most: int,
        told: Callable[[int], None] = lambda size: None,
        late: Callable[[], bool] = lambda: False,
        begun: list[State] | None = None,
    ) -> list[State]:
        """A state of all problems for each size from 0 to `most`; fewer where it gets late.

        `begun` are the states of the first sizes, where a climb ended early. Unsettled where plain
        steps do not find a model.
        """
        found = begun or [self._surely(self._none())]
        table = self._table(found[-1])
        told(len(found) - 1)
        for size in range(len(found), most + 1):
            if late():
                break
            found.append(self._surely(table.grown(found[-1])))
            table = self.improve(found[-1])
            self._back(found, table)
            told(size)
        return found

    def _none(self) -> State:
        """Models of the features that are always in, with coefficients 0."""
        count, always = len(self.alike.p), self.alike.always
        start = np.zeros((count, len(always))), *np.zeros((2, count))
        return State(np.arange(count), np.tile(always, (count, 1)), *start)

    def _surely(self, state: State) -> State:
        """The best models on the supports; from 0 where the state's own are too far off."""
        found = self.fit(state, np.full(len(state.which), np.inf))
        lost = np.flatnonzero(~np.isfinite(found.value))
        if len(lost):
            part = state.at(lost)
            again = replace(part, w=np.zeros_like(part.w), b=np.zeros_like(part.b))
            found.put(lost, self.fit(again, np.full(len(lost), np.inf)))
        if not np.all(np.isfinite(found.value)):
            raise Unsettled
        return found

    def _table(self, state: State) -> Table:
        try:
            return Table(self.alike, state, self.around(state))
        except np.linalg.LinAlgError as error:
            raise Unsettled from error

    def improve(self, state: State) -> Table:
        """Swap in place while that helps; the table at the end."""
        table = here = self._table(state)
        places, part = np.arange(len(state.which)), state
        while len(places):
            owner, tried = here.swapped(part, TRIES)
            limit = part.value - LEAST * np.abs(part.value)
            tried = self.fit(tried, limit[owner])
            better, at = _best(owner, tried.value, limit)
            places, part = places[better], tried.at(at)
            if len(places):
                state.put(places, part)
                here = self._table(part)
                table.put(places, here)
        return table

    def _back(self, found: list[State], table: Table) -> None:
        """Models without their least feature, where these beat those of their size."""
        part = found[-1]
        for smaller in found[-2:0:-1]:
            limit = smaller.value - LEAST * np.abs(smaller.value)
            tried = table.shrunk(part, limit)
            tried = self.fit(tried, limit[tried.which])
            part = tried.at(np.flatnonzero(tried.value < limit[tried.which]))
            if not len(part.which):
                return
            table = self.improve(part)
            smaller.put(part.which, part)


class Table:
    """What moves from the supports of a state would gain: a row per problem."""

    def __init__(self, alike: Alike, state: State, here: Quadratic) -> None:
        self.pool, self.at, across = here.pool, here.at, here.across
        ridges, every = alike.ridges[state.which[:, None], self.pool], _column(len(self.pool))
        own = np.arange(self.at.shape[1])[:, None]
        matrix = across[every[:, :, None], own, self.at[:, None]]
        np.einsum("ijj->ij", matrix)[:] += ridges[every, self.at]
        self.inverse = np.linalg.inv(matrix)
        self.weights = self.inverse @ across
        self.rho, self.mean = here.rho, here.mean
        schur = here.diagonal + ridges - np.einsum("ijk,ijk->ik", self.weights, across)
        self.schur = np.maximum(schur, ridges)
        self.enters = alike.open[self.pool]
        self.enters[every, self.at] = False
        self.spread = np.einsum("ijj->ij", self.inverse).copy()
        self.cost = np.where(alike.open[state.inside], state.w**2 / self.spread, np.inf)

    def put(self, places: Index, other: Table) -> None:
        """Others in the places of some."""
        for name, part in vars(other).items():
            getattr(self, name)[places] = part

    def grown(self, state: State) -> State:
        """Each support with the feature that gains most, and q's minimum there."""
        every = np.arange(len(state.which))
        j = np.argmax(np.where(self.enters, self.rho**2 / self.schur, -1.0), axis=1)
        t = self.rho[every, j] / self.schur[every, j]
        w = np.column_stack((state.w - t[:, None] * self.weights[every, :, j], t))
        return self._moved(state, every, np.column_stack((self.at, j)), w)

    def swapped(self, state: State, most: int) -> tuple[Index, State]:
        """(places, state): the most promising swaps, several per problem, with q's minima."""
        shift = self.weights / self.spread[:, :, None]
        top = shift * state.w[:, :, None]
        top += self.rho[:, None, :]
        shift *= self.weights
        shift += self.schur[:, None, :]
        top *= top
        top /= shift
        change = np.where(self.enters[:, None, :], self.cost[:, :, None] - top, np.inf)
        count, size, pool = change.shape
        change = change.reshape(count, size * pool)
        most = min(most, size * pool)
        at = np.argpartition(change, most - 1, axis=1)[:, :most] if most else np.zeros((count, 0))
        least = -2.0 * LEAST * np.abs(state.value)[:, None]
        owner, column = np.nonzero(change[np.arange(count)[:, None], at.astype(int)] < least)
        i, j = np.divmod(at.astype(int)[owner, column], max(pool, 1))
        every, own, spread = np.arange(len(owner)), self.inverse[owner, :, i], self.spread[owner, i]
        gone, reach = state.w[owner, i] / spread, self.weights[owner, i, j]
        t = self.rho[owner, j] + reach * gone
        t /= self.schur[owner, j] + reach**2 / spread
        across = self.weights[owner, :, j] - own * (reach / spread)[:, None]
        w = state.w[owner] - own * gone[:, None] - t[:, None] * across
        places = self.at[owner]
        w[every, i], places[every, i] = t, j
        return owner, self._moved(state, owner, places, w)

    def shrunk(self, state: State, values: Vector) -> State:
        """Supports without their least feature, where q is less there than a problem's value."""
        i = np.argmin(self.cost, axis=1)
        hope = state.value + 0.5 * self.cost[np.arange(len(i)), i]
        good = np.flatnonzero(hope < values[state.which])
        i, part = i[good], state.at(good)
        keep, places = np.arange(part.inside.shape[1]) != i[:, None], self.at[good]
        gone = part.w[np.arange(len(i)), i] / self.spread[good, i]
        w = part.w - self.inverse[good, :, i] * gone[:, None]
        shape = (len(good), keep.shape[1] - 1)
        return self._moved(state, good, places[keep].reshape(shape), w[keep].reshape(shape))

    def _moved(self, state: State, owner: Index, places: Index, w: Vector) -> State:
        """Coefficients on features at other places, sorted; the intercept follows the means."""
        every, mean = _column(len(owner)), self.mean[owner]
        old = np.einsum("ij,ij->i", mean[every, self.at[owner]], state.w[owner])
        b = state.b[owner] + old - np.einsum("ij,ij->i", mean[every, places], w)
        inside = self.pool[owner[:, None], places]
        order = np.argsort(inside, axis=1)
        inside, w = inside[every, order], w[every, order]
        return State(state.which[owner], inside, w, b, np.full(len(owner), np.inf))


def _column(count: int) -> Index:
    return np.arange(count)[:, None]


def _best(owner: Index, values: Vector, limits: Vector) -> tuple[Index, Index]:
    """(owners, entries): of the entries of each owner the least, where it is below its limit."""
    order = np.lexsort((values, owner))
    first = order[np.unique(owner[order], return_index=True)[1]]
    first = first[values[first] < limits[owner[first]]]
    return owner[first], first
