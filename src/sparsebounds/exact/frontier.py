"""The open nodes of a search: one row each in arrays that grow, with their places in the tree."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from sparsebounds._support.array import Index, Mask
from sparsebounds.exact.bounder import Bounded

NAMES = tuple(field.name for field in fields(Bounded))


class Frontier:
    """Nodes are added at the end; those that leave are overwritten by the last ones."""

    def __init__(self, nodes: Bounded, places: Index) -> None:
        self._arrays: dict[str, Any] = {name: getattr(nodes, name).copy() for name in NAMES}
        self._arrays["places"] = places.copy()
        self._count = len(places)

    def __len__(self) -> int:
        return self._count

    @property
    def nodes(self) -> Bounded:
        """The open nodes, in no particular order: views, until the next change."""
        return Bounded(**{name: self._arrays[name][: self._count] for name in NAMES})

    @property
    def places(self) -> Index:
        """Their numbers in the tree."""
        places: Index = self._arrays["places"][: self._count]
        return places

    def keep(self, live: Mask) -> None:
        """Leave out the nodes that are not `live`."""
        gone = np.flatnonzero(~live)
        self.replace(gone, Bounded.none(len(self._arrays["state"][0])), gone[:0])

    def replace(self, rows: Index, nodes: Bounded, places: Index) -> None:
        """Take some nodes out and put others in; all of it or, where Ctrl-C comes, nothing."""
        gone, count = np.unique(rows), self._count
        left = count - len(gone)
        # What lies beyond the rows that are left moves into the gaps before it.
        movers = np.setdiff1d(np.arange(left, count), gone)
        gaps, total = gone[gone < left], left + len(places)
        fresh = {name: getattr(nodes, name) for name in NAMES} | {"places": places}
        for name, array in self._arrays.items():
            if total > len(array):
                larger = np.empty((2 * total, *array.shape[1:]), dtype=array.dtype)
                larger[:count] = array[:count]
                self._arrays[name] = larger
        changed = np.concatenate((gaps, np.arange(left, count)))
        before = {name: array[changed] for name, array in self._arrays.items()}
        try:
            for name, array in self._arrays.items():
                array[gaps] = array[movers]
                array[left:total] = fresh[name]
            self._count = total
        except BaseException:
            for name, array in self._arrays.items():
                array[changed] = before[name]
            self._count = count
            raise
