"""Problem: what is asked of the data.

`Arguments` are what users pass, `Problem` what they mean once checked: the value that programs are
made of, and that certificates and checkpoints keep.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index, Mask, Vector, read_only
from sparsebounds._support.decimals import counted
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.level import level_of
from sparsebounds._support.threads import one_thread
from sparsebounds.arguments import is_auto
from sparsebounds.data import Data
from sparsebounds.groups import Stated, read_groups
from sparsebounds.losses import Loss
from sparsebounds.matrices import Recoding, standardized
from sparsebounds.penalties import Groups
from sparsebounds.ridge import auto_ridge

if TYPE_CHECKING:
    from sparsebounds.program import Program

ADDED = ("groups", "group_names", "level")
"""Fields that older problems have not: at their defaults they are not part of a digest."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked of data of m columns; the loss by its name. Equal ones have one `digest`.

    Attributes
    ----------
    loss : str
        Its name.
    loss_parameters : dict
        The loss's own numbers, by name.
    k : int or None
        The most features of a model.
    l0 : float or array or None
        The price per feature.
    ridge : float or array or None
        The weight of sum w_i^2 / 2.
    ball : float or None
        The most that sum w_i^2 may be.
    fit_intercept : bool
        Whether there is an intercept.
    standardize : tuple of arrays or None
        (center, scale) of the columns; where groups are whitened, and the entries of T.
    positive : array of int
        Features whose coefficients must be >= 0.
    always : array of int
        Features in every model.
    never : array of int
        Features in no model.
    groups : array of int
        The first column of each column's group; empty: every column stands alone.
    group_names : tuple of str
        Of the groups, in the order of their first columns; empty: they have the names of these.
    level : float
        What is subtracted from the response, and from the intercept, without rounding.

    See Also
    --------
    Program : A problem with its data.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> program.problem.describe((3, 3))
    'squared loss on 3 x 3 data with at most 1 nonzero coefficient, ridge=1'
    """

    loss: str
    loss_parameters: Mapping[str, float]
    k: int | None
    l0: float | Vector | None
    ridge: float | Vector | None
    ball: float | None
    fit_intercept: bool
    standardize: tuple[Vector, ...] | None
    positive: Index
    always: Index
    never: Index
    groups: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    group_names: tuple[str, ...] = ()
    level: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name != "group_names":  # many, and texts
                object.__setattr__(self, one.name, _fixed(getattr(self, one.name)))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Problem) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping that cannot be changed cannot be pickled either.
        values = [getattr(self, one.name) for one in fields(self)]
        return Problem, tuple(dict(one) if isinstance(one, Mapping) else one for one in values)

    @classmethod
    @one_thread()
    def read(cls, data: Data, loss: Loss, given: Mapping[str, Any]) -> Problem:
        """The problem that the `completed` arguments pose on these data."""
        m, names = data.matrix.shape[1], data.names
        k, l0, ridge, ball = (given[name] for name in ("k", "l0", "ridge", "ball"))
        fit_intercept = check.truth("fit_intercept", given["fit_intercept"])
        if fit_intercept and len(data.y):
            loss.check_intercept(data.y)
        k = None if k is None else check.cardinality(k)
        leaders, group_names = read_groups(given["groups"], m, names)
        partition = Groups(leaders if len(leaders) else None)
        if l0 is not None:
            stated = partition.single or isinstance(given["groups"], Stated)
            l0 = _per_column("l0", l0, partition, m, zero_allowed=True)
            l0 = l0 if stated else _once(l0, partition)
        chosen = check.standardization(given["standardize"])
        if is_auto(ridge):
            ridge = auto_ridge(
                data, loss, fit_intercept=fit_intercept, standardize=chosen is not False
            )
        elif isinstance(ridge, str):
            raise InputTypeError(f"ridge={ridge!r} must be a number greater than 0, or 'auto'.")
        elif ridge is not None:
            ridge = _per_column("ridge", ridge, partition, m, zero_allowed=False)
        ball = None if ball is None else check.positive_number("ball", ball)
        positive = check.sign_mask(given["positive"], m)
        always, never = (
            partition.held(
                check.features(
                    name, given[name], m, names, zip(group_names, partition.heads, strict=False)
                )
            )
            for name in ("always", "never")
        )
        both = np.flatnonzero(always & never)
        if len(both):
            what = "" if partition.single else "the group of "
            raise InputError(
                f"always and never both hold {what}{data.label(int(both[0]))}; "
                "keep it in one of them."
            )
        scaled = None
        if chosen is not False:
            given_ones = None if chosen is True else chosen
            if given_ones is None or len(given_ones) == 3:
                _check_whitened(partition, positive, ridge)
            scaled = standardized(data.matrix, data.shares, fit_intercept, partition, given_ones)
        movable = fit_intercept and loss.residual
        return cls(
            loss=loss.name,
            loss_parameters=loss.parameters(),
            k=k,
            l0=l0,
            ridge=ridge,
            ball=ball,
            fit_intercept=fit_intercept,
            standardize=scaled,
            positive=np.flatnonzero(positive),
            always=np.flatnonzero(always),
            never=np.flatnonzero(never),
            groups=leaders,
            group_names=group_names,
            level=level_of(data.y, data.offset) if movable else 0.0,
        )

    @classmethod
    def of(cls, program: Program) -> Problem:
        """The problem a program poses."""
        return program.problem

    def program(
        self, X: Any, y: Any, m: int, *, loss: Loss, sample_weight: Any, offset: Any
    ) -> Program:
        """The same problem on data of m columns."""
        from sparsebounds.program import Program

        stated = {one.name: getattr(self, one.name) for one in fields(self)}
        del stated["loss_parameters"], stated["level"], stated["group_names"]
        for name in ("always", "never"):
            stated[name] = stated[name].tolist()
        stated |= {
            "loss": loss,
            "positive": mask(self.positive, m),
            "standardize": self.standardize or False,
            "groups": Stated(self.groups, self.group_names),
        }
        return Program(X, y, sample_weight=sample_weight, offset=offset, **stated).at_level(
            self.level
        )

    def part(self, features: Index, m: int) -> Problem:
        """The same problem on these of its m columns."""

        def cut(value: Any) -> Any:
            return value[features] if isinstance(value, np.ndarray) else value

        return replace(
            self,
            l0=cut(self.l0),
            ridge=cut(self.ridge),
            standardize=self._standardized(features),
            positive=np.flatnonzero(mask(self.positive, m)[features]),
            always=np.flatnonzero(mask(self.always, m)[features]),
            never=np.flatnonzero(mask(self.never, m)[features]),
            **self._groups_of(features),
        )

    def _standardized(self, features: Index) -> tuple[Vector, ...] | None:
        """`standardize` on these columns, which are whole groups."""
        if self.standardize is None:
            return None
        center, scale, *entries = self.standardize
        parts = [Recoding.stated(self.partition, one).part(features) for one in entries]
        mixed = [part.entries for part in parts if part is not None]
        return center[features], scale[features], *mixed

    @cached_property
    def partition(self) -> Groups:
        """The groups."""
        return Groups(self.groups if len(self.groups) else None)

    def replaced(self, **changes: Any) -> Problem:
        """The problem with changes; what was derived from its groups stays."""
        other = replace(self, **changes)
        if other.groups is self.groups:
            other.__dict__["partition"] = self.partition
        return other

    def groups_of(self, features: Index, names: tuple[str, ...] | None) -> tuple[str | int, ...]:
        """The groups that some features belong to: their names, else those of their first columns.

        Numbers, where columns have no names either.
        """
        leaders = self.leaders_of(features)
        if self.group_names:
            places = np.searchsorted(self.partition.heads, leaders)
            return tuple(self.group_names[i] for i in places)
        return tuple(int(i) if names is None else names[i] for i in leaders.tolist())

    def leaders_of(self, features: Index) -> Index:
        """The first columns of the groups of some features; these, where they stand alone."""
        return np.unique(self.groups[features]) if len(self.groups) else features

    def group_labels(self, features: Index, names: tuple[str, ...] | None) -> list[str]:
        """The group of each of some features, by name; empty for those that stand alone."""
        if len(self.groups) == 0:
            return [""] * len(features)
        leaders, counts = np.unique(self.groups, return_counts=True)
        known = self.groups_of(leaders, names)
        places = np.searchsorted(leaders, self.groups[features]).tolist()
        return ["" if counts[i] == 1 else str(known[i]) for i in places]

    def chosen_of(self, support: Index, m: int) -> tuple[int, int]:
        """How many features, or groups, a support has that are counted; and of how many."""
        places = np.arange(m) if len(self.groups) == 0 else self.groups
        free = np.setdiff1d(np.arange(m), np.concatenate((self.always, self.never)))
        return len(np.intersect1d(places[support], free)), len(np.unique(places[free]))

    def _groups_of(self, features: Index) -> dict[str, Any]:
        """The groups of some columns, which are whole ones."""
        if len(self.groups) == 0:
            return {}
        part = self.partition.part(features)
        if part.leaders is None:
            return {"groups": self.groups[:0], "group_names": ()}
        heads = np.searchsorted(self.partition.heads, self.groups[features[part.heads]])
        names = tuple(self.group_names[i] for i in heads) if self.group_names else ()
        return {"groups": part.leaders, "group_names": names}

    @cached_property
    def digest(self) -> str:
        """Identifies the problem: equal ones, and no others, have the same."""
        found = hashlib.sha256()
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ADDED and not np.size(value) * np.any(value):
                continue
            parts = value if isinstance(value, tuple) and one.name != "group_names" else (value,)
            found.update(f"{one.name}:".encode())
            for part in parts:
                plain = dict(part) if isinstance(part, Mapping) else part
                array = isinstance(part, np.ndarray)
                found.update(part.tobytes() if array else repr(plain).encode())
                found.update(b";")
        return found.hexdigest()

    @property
    def unit(self) -> str:
        """What k counts and l0 is the price of."""
        return "group" if len(self.groups) else "nonzero coefficient"

    @property
    def terms(self) -> tuple[str, str]:
        """What makes models sparse, and what keeps coefficients small."""
        size = f"k={self.k}" if self.k is not None else f"l0={_number(self.l0)}"
        return size, f"ridge={_number(self.ridge)}" if self.ball is None else f"ball={self.ball:g}"

    def describe(self, shape: tuple[int, int], sparsity: str | None = None) -> str:
        """The problem in one clause; `sparsity` says for many k or l0 what one would say."""
        if sparsity is None and self.k is not None:
            sparsity = f"at most {counted(self.k, self.unit)}"
        elif sparsity is None:
            sparsity = f"a price l0={_number(self.l0)} per {self.unit}"
        size = f"ridge={_number(self.ridge)}" if self.ball is None else f"|w|^2 <= {self.ball:g}"
        extras = [
            *[f"{counted(len(self.partition.heads), 'group')} of features"][: len(self.groups)],
            *["an intercept"] * self.fit_intercept,
            *["standardized columns"] * (self.standardize is not None),
            *["nonnegative coefficients"] * (len(self.positive) > 0),
        ]
        for count, place in ((len(self.always), "always in"), (len(self.never), "never in")):
            if count:
                extras.append(f"{counted(count, 'feature')} {place}")
        tail = "".join(f", {extra}" for extra in extras)
        own = ", ".join(f"{name}={value:g}" for name, value in self.loss_parameters.items())
        loss = f"{self.loss} loss{f' ({own})' * bool(own)}"
        return f"{loss} on {shape[0]} x {shape[1]} data with {sparsity}, {size}{tail}"


def mask(features: Index, m: int) -> Mask:
    """Which of m features are listed."""
    found = np.zeros(m, dtype=np.bool_)
    found[features] = True
    return found


def _fixed(value: Any) -> Any:
    """A value of a problem, not to be changed in place; itself where it was none to be."""
    if isinstance(value, tuple):
        fixed = tuple(map(_fixed, value))
        return value if all(map(operator.is_, value, fixed)) else fixed
    if isinstance(value, Mapping) and not isinstance(value, MappingProxyType):
        return MappingProxyType(dict(value))
    return read_only(value) if isinstance(value, np.ndarray) else value


def _check_whitened(groups: Groups, positive: Mask, ridge: float | Vector | None) -> None:
    """Refuse what is asked of single columns of a group that is whitened."""
    several = ~np.asarray(groups.alone)
    remedy = "with standardize=True; pass standardize=False, and X in the units that you mean."
    if np.any(positive & several):
        column = int(np.flatnonzero(positive & several)[0])
        raise InputError(
            f"positive asks for the sign of column {column}, whose group is whitened {remedy}"
        )
    if np.any(ridge != groups.spread(ridge)):
        raise InputError(
            f"ridge is not one number for all columns of a group, which is whitened {remedy}"
        )


def _per_column(
    name: str, value: Any, groups: Groups, m: int, *, zero_allowed: bool
) -> float | Vector:
    """One number, or one per column: its group's, where there is one per group."""
    if groups.single or np.ndim(value) == 0 or len(value) == m:
        return check.feature_numbers(name, value, m, zero_allowed=zero_allowed)
    spread = np.empty(m)
    spread[groups.heads] = check.feature_numbers(
        name, value, len(groups.heads), zero_allowed=zero_allowed, per="group"
    )
    return groups.spread(spread)


def _once(prices: float | Vector, groups: Groups) -> float | Vector:
    """Prices of groups, at their first columns; those of a group's columns must agree."""
    if isinstance(prices, float):
        return prices
    other = np.flatnonzero(prices != groups.spread(prices))
    if len(other):
        column, first = int(other[0]), int(groups.spread(np.arange(groups.size))[other[0]])
        raise InputError(
            f"l0 holds {prices[first]:g} and {prices[column]:g} for columns {first} and {column}, "
            "which are in one group and have one price; pass one number, or one per group "
            f"({len(groups.heads)}, in the order of their first columns)."
        )
    return np.where(groups.lead, prices, 0.0)


def _number(value: float | Vector | None) -> str:
    return f"{value:g}" if isinstance(value, float) else "(one number per feature)"
