"""Look: what a table's columns show before any model is fitted to them, in a sentence each.

twins       columns that say the same as another: all but one of them are left out. A column of text
            is left out where all of its values have twins in one other column.
alike       columns with a correlation of 0.999 or more, which stay
constant    columns with one value
leaks       columns that all but determine the target, which may not be known before it is: numbers
            that explain 99% of its variance, or are a monotone function of it; for classes,
            numbers of whose variance they explain 99%, or that tell two classes apart by a cut;
            text whose values, of ten rows or more on average, explain 99%
rare        columns of two values, one of which few rows have
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.tables.recipe import Column
from sparsebounds.tables.sketch import Sketch, Target
from sparsebounds.tables.suggestions import listing
from sparsebounds.tables.twins import USUAL, Likeness, Twins

FEWEST = 10
"""Rows below which columns are alike by chance."""

EXACT = 1e-12
"""1 - |r| up to this is rounding, r the correlation: a column in other units."""

LEAK = 0.99
"""The share of the target that a column explains from which it is named."""

RANKED, MONOTONE = 0.25, 0.9999
"""Columns that explain so much are compared by their ranks, whose correlation says that a column is
a monotone function of the target."""

RARE, ENOUGH = 5, 20
"""Fewer rows than this make a dummy rare, in tables of at least so many."""


@dataclass(frozen=True)
class Look:
    """The columns of X by the table's columns that they are made of."""

    X: Any
    y: Any
    columns: Sequence[Column]
    target: str
    keep: bool
    """Whether twins stay."""

    likeness: Likeness = USUAL
    """What twins may differ in."""

    rows: str = ""
    """Which rows of the table these are, in words, where they are not all."""

    @cached_property
    def labels(self) -> list[str]:
        """The names of the columns of X."""
        return [label for column in self.columns for label in column.labels]

    @cached_property
    def owner(self) -> Index:
        """For each column of X the number of the table's column behind it."""
        return np.repeat(np.arange(len(self.columns)), [len(c.labels) for c in self.columns])

    @cached_property
    def response(self) -> Target:
        return Target.of(self.y)

    @cached_property
    def sketch(self) -> Sketch:
        return Sketch.of(self.X, self.response)

    @cached_property
    def twins(self) -> Twins:
        return Twins.of(self.sketch, self.likeness)

    @cached_property
    def like(self) -> dict[int, int]:
        """The table's column that is spare -> the column of X, of one that stays, like its first.

        From the last one to the first, so that the first of several stays.
        """
        spare = dict[int, int]()
        if len(self.y) < FEWEST:
            return spare
        first = self.twins.first.tolist()
        if first == list(range(len(first))):
            return spare
        owner = self.owner.tolist()
        places: dict[int, list[int]] = {}
        own_places: dict[int, list[int]] = {}
        for j, leader in enumerate(first):
            places.setdefault(leader, []).append(j)
            own_places.setdefault(owner[j], []).append(j)
        staying = {leader: {owner[j] for j in some} for leader, some in places.items()}
        for own in reversed(range(len(self.columns))):
            leaders = {first[j] for j in own_places[own]}
            if set.intersection(*(staying[leader] for leader in leaders)) - {own}:
                spare[own] = first[own_places[own][0]]
                for leader in leaders:
                    staying[leader].discard(own)
        for own, leader in spare.items():
            spare[own] = next(j for j in places[leader] if owner[j] not in spare)
        return dict(sorted(spare.items()))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The table's columns that are left out."""
        return () if self.keep else tuple(self.columns[own].name for own in self.like)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """One sentence on each matter; nothing where there is nothing to say."""
        if len(self.y) < FEWEST:
            return ()
        parts = self._twins(), self._alike(), self._constant(), self._leaks(), self._rare()
        return tuple(sentence for part in parts for sentence in part)

    def _twins(self) -> Iterator[str]:
        if not self.like:
            return
        named = listing(
            f"{self.columns[i].name!r} ({self._same(i, j)})" for i, j in self.like.items()
        )
        if self.keep:
            yield (
                f"Columns that say the same as another: {named}; a model may split its coefficient "
                "between them."
            )
        else:
            many = len(self.like) != 1
            yield (
                f"Left out, as {'others say' if many else 'another column says'} the same"
                f"{self.rows}: "
                f"{named}. --keep-twins keeps {'them' if many else 'it'}."
            )

    def _same(self, own: int, j: int) -> str:
        """In which way a column of the table says the same as a column j of X."""
        i = int(np.flatnonzero(self.owner == own)[0])
        kept = self.columns[self.owner[j]]
        if len(self.columns[own].labels) > 1:
            return f"the values of {kept.name!r} under other names"
        name = self.labels[j]
        if np.array_equal(self.X[:, i], self.X[:, j]):
            return f"equals {name!r}"
        r = float(self.sketch.centred(i) @ self.sketch.centred(j))
        if 1.0 - abs(r) > EXACT:
            return f"nearly {name!r}, correlation {_below_one(r)}"
        return f"{name!r} in other units" if r > 0 else f"the mirror image of {name!r}"

    def _alike(self) -> Iterator[str]:
        stay = [(i, j, r) for i, j, r in self.twins.alike if self.owner[i] != self.owner[j]]
        if stay:
            named = (
                f"{self.labels[i]!r} and {self.labels[j]!r} (correlation {_below_one(r)})"
                for i, j, r in sorted(stay, key=lambda pair: -abs(pair[2]))
            )
            usual = self.likeness == USUAL
            how = "so that a model may take either" if usual else "up to shift, scale and sign"
            yield f"Nearly the same, {how}: {listing(named, 4)}."

    def _constant(self) -> Iterator[str]:
        sketch = self.sketch
        flat = np.array(sketch.few & (sketch.least == sketch.largest))
        varied = np.zeros(len(self.columns), np.bool_)
        np.logical_or.at(varied, self.owner, ~flat)
        if not varied.all():
            named = listing(self._value(i) for i in np.flatnonzero(~varied).tolist())
            yield f"The same value in every row, which explains nothing: {named}."

    def _value(self, own: int) -> str:
        column = self.columns[own]
        if column.categories is None:
            (value,) = self.sketch.least[self.owner == own]
            return f"{column.name!r} ({value:,.6g})"
        return f"{column.name!r} ({listing(map(repr, column.categories), 1)})"

    def _leaks(self) -> Iterator[str]:
        if not self.response.vectors.shape[1]:
            return
        spare = set() if self.keep else set(self.like)
        named = {own: words for own, words in self._determining() if own not in spare}
        if named:
            shown = listing(f"{self.columns[own].name!r} ({named[own]})" for own in sorted(named))
            yield (
                f"The target {self.target!r} is all but determined by {shown}: leave such a column "
                "out with --exclude, unless it is known before the target is."
            )

    def _determining(self) -> Iterator[tuple[int, str]]:
        """The table's columns that tell the target, each with how."""
        sketch, n = self.sketch, len(self.y)
        share = np.sum(sketch.explained**2, axis=1)
        alone = np.array([len(column.labels) == 1 for column in self.columns])[self.owner]
        for i in np.flatnonzero(alone & (share >= RANKED)).tolist():
            own = int(self.owner[i])
            if self.response.codes is None and np.array_equal(self.X[:, i], self.y):
                yield own, "equals it"
            elif share[i] >= LEAK:
                yield own, f"explains {_below(share[i])} of it"
            elif self.response.codes is None and self._monotone(i):
                yield own, "puts the rows in the same order"
        for own in np.flatnonzero(
            np.bincount(self.owner, minlength=len(self.columns)) > 1
        ).tolist():
            part = np.flatnonzero(self.owner == own)
            known = self._by_values(part, n)
            if known >= LEAK:
                yield own, f"explains {_below(known)} of it"
        yield from self._separating(np.flatnonzero(alone & (share < LEAK)))

    def _monotone(self, i: int) -> bool:
        from scipy.stats import spearmanr

        return abs(float(spearmanr(self.X[:, i], self.y).statistic)) >= MONOTONE

    def _by_values(self, part: Index, n: int) -> float:
        """The share that the values of a column of text explain; none where these are many."""
        sketch = self.sketch
        if len(part) * FEWEST > n:
            return 0.0
        count = n * sketch.mean[part]
        part, count = part[count > 0.0], count[count > 0.0]
        products = sketch.explained[part] * sketch.length[part][:, None]
        if self.response.codes is None:
            return float(np.sum(products[:, 0] ** 2 / count))
        sizes = np.bincount(self.response.codes)
        rows = products * np.sqrt(sizes) + np.outer(count / n, sizes)
        return 1.0 - (n - float(np.sum(rows.max(axis=1)))) / (n - int(sizes.max()))

    def _separating(self, candidates: Index) -> Iterator[tuple[int, str]]:
        """Numbers that, cut somewhere, tell two classes apart; a sample leaves few of them."""
        codes = self.response.codes
        if codes is None or codes.max() != 1 or min(np.bincount(codes)) < RARE:
            return
        for step in (16, 1):
            first, second = (np.flatnonzero(codes == side)[::step] for side in (0, 1))
            low, high = self._ends(first, candidates), self._ends(second, candidates)
            low, high = np.where(low[1] < high[0], (low[1], high[0]), (high[1], low[0]))
            candidates, low, high = (each[low < high] for each in (candidates, low, high))
        for j, below, above in zip(candidates.tolist(), low, high, strict=True):
            words = f"one class up to {below:,.6g}, the other from {above:,.6g}"
            yield int(self.owner[j]), words

    def _ends(self, rows: Index, columns: Index) -> tuple[Any, Any]:
        """The least and largest values of columns in some rows."""
        part = self.X[np.ix_(rows, columns)]
        return part.min(axis=0), part.max(axis=0)

    def _rare(self) -> Iterator[str]:
        n, sketch = len(self.y), self.sketch
        if n < ENOUGH:
            return
        with np.errstate(invalid="ignore", divide="ignore"):
            high = np.rint(n * (sketch.mean - sketch.least) / (sketch.largest - sketch.least))
            fewer = np.minimum(high, n - high)
        spare = np.isin(self.owner, [] if self.keep else list(self.like))
        rare = np.flatnonzero(
            sketch.few & (sketch.least < sketch.largest) & (fewer < RARE) & ~spare
        )
        if len(rare):
            named = listing(f"{self.labels[i]!r} ({fewer[i]:.0f})" for i in rare.tolist())
            yield (
                f"Fewer than {RARE} rows are different in {named}: a coefficient there rests on "
                "these rows alone."
            )


def _below_one(r: float) -> str:
    """A correlation, never rounded to 1."""
    digits = 3
    while digits < 12 and abs(float(f"{r:.{digits}f}")) >= 1.0:
        digits += 1
    return f"{r:.{digits}f}"


def _below(share: float) -> str:
    """A share in percent, rounded down."""
    return "all" if share > 1.0 - 1e-12 else f"{np.floor(1e4 * share) / 1e2:g}%"
