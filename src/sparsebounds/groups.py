"""What users say of groups, checked: labels, lists or a mapping, to the first column of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from sparsebounds._support import validate as check
from sparsebounds._support.array import Index
from sparsebounds._support.errors import InputError, InputTypeError

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Stated:
    """Groups that were read before: of another program, or of a file."""

    leaders: Index
    names: tuple[str, ...] = ()


def read_groups(given: Any, m: int, names: tuple[str, ...] | None) -> tuple[Index, tuple[str, ...]]:
    """The first column of each column's group, and the groups' names in that order.

    Both are empty where every column stands alone; names are empty where none were given.
    """
    if given is None:
        return NONE, ()
    if isinstance(given, Stated):
        return given.leaders, given.names
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputTypeError(
            f"groups={given!r} is not a list; pass one label per column, lists of columns, or a "
            "mapping of names to lists."
        )
    if isinstance(given, Mapping):
        lists, labels = list(given.values()), [str(name) for name in given]
    else:
        array = np.asarray(given) if is_array_api_obj(given) else None
        if array is not None and array.ndim == 1 and array.dtype.kind in "iubSU":
            return _numbered(array, m, names)
        listed = list(check.entries(given))
        nested = [check.is_list(one) for one in listed]
        if any(nested) and not all(nested):
            raise InputTypeError(
                "groups holds lists and single entries; pass one label per column, or lists alone."
            )
        if not any(nested):
            return _labelled(listed, m, names)
        lists, labels = listed, []
    leaders = np.arange(m)
    taken = np.zeros(m, dtype=np.bool_)
    own: dict[int, str] = {}
    for place, one in enumerate(lists):
        member = check.features("groups", one, m, names)
        if np.any(member & taken):
            again = int(np.flatnonzero(member & taken)[0])
            label = f"feature {again}" if names is None else repr(names[again])
            raise InputError(f"groups holds {label} twice; a feature belongs to one group.")
        if not member.any():
            raise InputError("groups holds an empty group; leave it out.")
        taken |= member
        first = int(np.argmax(member))
        leaders[member] = first
        if labels:
            own[first] = labels[place]
    return _told(leaders, own if labels else None, names)


def _numbered(
    labels: npt.NDArray[Any], m: int, names: tuple[str, ...] | None
) -> tuple[Index, tuple[str, ...]]:
    """Groups of equal labels, all of one kind."""
    _check_labels(len(labels), m)
    if labels.dtype.kind in "iu" and np.all(labels[1:] >= labels[:-1]):
        first = np.flatnonzero(np.append(True, labels[1:] != labels[:-1])[:m])
        leaders = np.repeat(first, np.diff(first, append=m))
    else:
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        leaders = first[place].astype(np.int64)
        first.sort()
    if len(first) == m:
        return NONE, ()
    return leaders, tuple(map(str, labels[first].tolist()))


def _check_labels(count: int, m: int) -> None:
    if count != m:
        raise InputError(
            f"groups has {count} labels, but X has {m} columns; pass one label per column."
        )


def _labelled(
    labels: list[Any], m: int, names: tuple[str, ...] | None
) -> tuple[Index, tuple[str, ...]]:
    """Groups of equal labels; a column whose label is None stands alone."""
    _check_labels(len(labels), m)
    first: dict[Any, int] = {}
    leaders = np.arange(m)
    for column, label in enumerate(labels):
        if label is not None and label == label:
            leaders[column] = first.setdefault(label, column)
    return _told(leaders, {column: str(label) for label, column in first.items()}, names)


def _told(
    leaders: Index, own: dict[int, str] | None, names: tuple[str, ...] | None
) -> tuple[Index, tuple[str, ...]]:
    if np.array_equal(leaders, np.arange(len(leaders))):
        return NONE, ()
    if own is None:
        return leaders, ()
    return leaders, tuple(
        own.get(column, f"feature {column}" if names is None else names[column])
        for column in np.unique(leaders).tolist()
    )
