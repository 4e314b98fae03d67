"""The columns that a search for models works on, read once.

Neighbours on a path share them. Where the squared loss is its own quadratic they are those that
relaxations work on, which have the products of all pairs: the quadratic of any set of features is a
part of one matrix. Columns of a matrix that is thin or tall stay where they are: a copy would be
larger than the data, or as large.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds.fitting import FEWER, Bends, ByEntries, Drafted, Kinds, Wanted, drafted, streamed
from sparsebounds.matrices import Matrix
from sparsebounds.models.hessian import Hessian
from sparsebounds.program import Program
from sparsebounds.relaxation import GramPart, Workspace

FAR = 1e-3
"""A mean beyond this share of a column's length is subtracted before columns are multiplied."""


class Columns(Protocol):
    """Some features in order, as a search works on them."""

    means: Vector
    """What is subtracted from each of them."""

    @property
    def price(self) -> float:
        """Multiplications that the products of all pairs take."""

    def drafted(self, wanted: Wanted, near: Bends | None) -> Drafted:
        """The best coefficients on supports, by plain steps (`fitting.drafted`).

        `near` are second derivatives not far from there, of all of these columns.
        """

    def raw(self, places: Index) -> Vector:
        """Some of the program's own, side by side."""

    def image(self, w: Vector) -> Vector:
        """Their product with one number each."""

    def moments(self, bend: Vector, right: Vector) -> tuple[Vector | Hessian, Vector, Vector]:
        """(H, l, mean): A B A^T, A right and the means under B, all less these means if there is
        an intercept."""


def columns_of(program: Program, features: Index, pool: Pool, *, exact: bool) -> Columns:
    """The columns of some features: copies, shared with neighbours, or where they are.

    `exact`: nothing but the quadratic of the squared loss is wanted.
    """
    if program.matrix.thin or program.matrix.tall:
        return Kept(program, features)
    if exact:
        return Multiplied(program, features, pool.workspace)
    return Read(program, pool, pool.places(features))


class Read:
    """Columns that were read."""

    def __init__(self, program: Program, pool: Pool, places: Index) -> None:
        self._program, self._pool, self._places = program, pool, places
        self.means = pool.means(places)

    @property
    def price(self) -> float:
        return float(self._program.n) * len(self._places) ** 2

    @cached_property
    def _rows(self) -> Vector:
        return self._pool.centred(self._places)

    def drafted(self, wanted: Wanted, near: Bends | None) -> Drafted:
        return drafted(self._program, self._rows.__getitem__, wanted)

    def raw(self, places: Index) -> Vector:
        return self._pool.raw(self._places[places]).T

    def image(self, w: Vector) -> Vector:
        image: Vector = w @ self._rows + float(self.means @ w)
        return image

    def moments(self, bend: Vector, right: Vector) -> tuple[Vector | Hessian, Vector, Vector]:
        linear, mean, mass = self._rows @ right, np.zeros(len(self._rows)), 0.0
        if self._program.fit_intercept:
            mass = float(bend.sum())
            mean = self._rows @ bend / mass
            linear -= float(right.sum()) * mean
        hessian = Hessian(self._rows * np.sqrt(bend), mean, mass)
        every = np.arange(len(linear))
        return hessian if self._program.groups.single else hessian[every], linear, mean


class Kept:
    """Columns that stay in their matrix."""

    def __init__(self, program: Program, features: Index) -> None:
        self._program, self._features = program, features
        self.means = np.zeros(len(features))

    @property
    def price(self) -> float:
        return float(self._matrix.entries) * len(self._features)

    @cached_property
    def _matrix(self) -> Matrix:
        return self._program.matrix.gathered(self._features)

    def drafted(self, wanted: Wanted, near: Bends | None) -> Drafted:
        if self._matrix.tall:
            return streamed(self._program, self._matrix, wanted, near)
        if self._listed is not None:
            rows = self._listed.rows(wanted.supports)
            if FEWER * rows < self._program.n:
                return self._listed.drafted(rows, wanted)
        return drafted(self._program, self._rows, wanted)

    @cached_property
    def _listed(self) -> ByEntries | None:
        """The columns by their entries, where most rows are alike."""
        kinds, entries = Kinds.responses(self._program.F), self._matrix.listed
        if kinds is None or entries is None:
            return None
        return ByEntries(self._program, entries, kinds)

    def _rows(self, places: Index) -> Vector:
        some, at = np.unique(places, return_inverse=True)
        columns: Vector = self._matrix.columns(some).T
        return columns[at.reshape(np.shape(places))]

    def raw(self, places: Index) -> Vector:
        return self._matrix.columns(places)

    def image(self, w: Vector) -> Vector:
        return self._matrix.product(w)

    def moments(self, bend: Vector, right: Vector) -> tuple[Vector, Vector, Vector]:
        if not self._program.fit_intercept:
            return self._matrix.gram(bend), self._matrix.scores(right), self.means
        if self._matrix.tall:
            # One pass, about means that are near: those under B differ.
            hessian, sums, linear = self._matrix.comoments(bend, self._near, right / bend)
            rest = sums / float(bend.sum())
            hessian -= sums[:, None] * rest
            return hessian, linear - float(right.sum()) * rest, self._near + rest
        shares = bend / float(bend.sum())
        # Centred before they are multiplied: a mean of 1e8 would drown what matters.
        centred, mean = self._matrix.centred(shares), self._matrix.scores(shares)
        return centred.gram(bend), centred.scores(right), mean

    @cached_property
    def _near(self) -> Vector:
        """The means of the columns."""
        return self._matrix.moments(self._program.F.p)[0]


class Multiplied(Kept):
    """Columns of a dense matrix, and the products of all pairs: relaxations use them too.

    Of the columns themselves a search asks for few; these are read again.
    """

    def __init__(self, program: Program, features: Index, workspace: Workspace) -> None:
        super().__init__(program, features)
        self._workspace = workspace

    @property
    def price(self) -> float:
        return self._workspace.smooth.price(len(self._fresh))

    @property
    def _fresh(self) -> Index:
        """The columns that no relaxation and no search has read."""
        return np.setdiff1d(self._features, self._workspace.index, assume_unique=True)

    def raw(self, places: Index) -> Vector:
        return self._program.matrix.columns(self._features[places])

    def image(self, w: Vector) -> Vector:
        some = nonzeros(w)
        return self._program.matrix.gathered(self._features[some]).product(w[some])

    def moments(self, bend: Vector, right: Vector) -> tuple[Vector, Vector, Vector]:
        """Those of the squared loss, whose B and right are the same everywhere."""
        space = self._workspace
        space.add(self._program, self._fresh)
        assert isinstance(space.smooth, GramPart)
        return space.smooth.moments(space.places(self._features))


class Pool:
    """Columns of some features, one per row, which only ever grow in number."""

    def __init__(self, program: Program, workspace: Workspace | None = None) -> None:
        """`workspace` has what relaxations of the program read."""
        self._program = program
        self.workspace = Workspace(program) if workspace is None else workspace
        self._place = np.full(program.m, -1, dtype=np.int64)
        self._size = 0
        self._raw = np.empty((0, program.n))
        self._centred = self._raw
        self._means = np.empty(0)

    def places(self, features: Index) -> Index:
        """Where features lie; those that are new are read."""
        fresh = features[self._place[features] < 0]
        if len(fresh):
            self._read(fresh)
        return self._place[features]

    def raw(self, places: Index) -> Vector:
        """The program's own columns, one per row."""
        return self._raw[places]

    def centred(self, places: Index) -> Vector:
        """The same less their means, where there is an intercept."""
        return self._centred[places]

    def means(self, places: Index) -> Vector:
        """What was subtracted."""
        return self._means[places]

    def _read(self, features: Index) -> None:
        program, old, size = self._program, self._size, self._size + len(features)
        rows = program.matrix.columns(features).T
        means = np.zeros(len(features))
        if program.fit_intercept:
            means = rows @ program.F.p
            with np.errstate(all="ignore"):
                far = np.abs(means) > FAR * np.sqrt(np.mean(rows**2, axis=1))
            means[~far] = 0.0
        shared = self._centred is self._raw
        self._raw = _grown(self._raw, old, rows)
        if shared and not means.any():
            self._centred = self._raw
        else:
            before = self._raw if shared else self._centred
            self._centred = _grown(before, old, rows - means[:, None])
        self._means = np.concatenate((self._means, means))
        self._place[features] = np.arange(old, size)
        self._size = size


def strongest(program: Program, scores: Vector, count: int) -> Index:
    """The free features with the largest scores: `count`, and twice the budget.

    Of groups so many that their columns come to `count`, and twice the budget.
    """
    groups, scale = program.groups, np.sqrt(1.0 if program.ridge is None else program.ridge)
    score = groups.norms(scores / scale if isinstance(scale, np.ndarray) else scores)
    score = np.where(groups.led(program.free), score, 0.0)
    most = count + 2 * (program.k or 0)
    least = np.partition(score, -most)[-most] if 0 < most < len(score) else 0.0
    strong = np.flatnonzero((score >= least) & (score > 0.0))
    strong = strong[np.argsort(-score[strong], kind="stable")[:most]]
    if not groups.single:
        before = np.cumsum(groups.sizes[strong]) - groups.sizes[strong]
        strong = strong[: int(np.count_nonzero(before < count)) + 2 * (program.k or 0)]
    return np.sort(groups.first(strong))


def _grown(store: Vector, old: int, rows: Vector) -> Vector:
    """A store with rows after its first ones, larger by half where it is full."""
    size = old + len(rows)
    if size > len(store) or not old:
        larger = np.empty((size if not old else max(size, old + old // 2), rows.shape[1]))
        larger[:old] = store[:old]
        store = larger
    store[old:size] = rows
    return store
