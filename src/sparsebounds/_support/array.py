"""Array namespaces: the one place that knows which library an array came from.

Losses are written once against the Python array API standard; what they receive (NumPy,
array_api_strict, torch, CuPy) decides where they run. Penalties, bounds and certificates are
always evaluated in NumPy float64 on the host.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat.numpy
import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device, is_cupy_array, is_torch_array

NUMPY: ModuleType = np if hasattr(np, "astype") else array_api_compat.numpy
"""NumPy follows the standard by itself from version 2.1 on."""

Array: TypeAlias = Any
"""An array of any library that follows the array API standard."""

Vector: TypeAlias = npt.NDArray[np.float64]
"""A NumPy float64 array."""

Index: TypeAlias = npt.NDArray[np.int64]
"""A NumPy array of feature or row indices."""

Mask: TypeAlias = npt.NDArray[np.bool_]
"""A NumPy boolean array."""


def read_only(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """x, or a view of it, that cannot be written to."""
    if not x.flags.writeable:
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def namespace(*arrays: Array) -> ModuleType:
    """The array API namespace shared by `arrays`; Python scalars and None are ignored."""
    # The usual case first: no need to ask every library.
    plain = arrays and all(type(array) is np.ndarray for array in arrays)
    module: ModuleType = NUMPY if plain else array_namespace(*arrays)
    return module


def to_numpy(x: Any) -> npt.NDArray[Any]:
    """x as a NumPy array, from whatever library and device it is on."""
    if is_torch_array(x):
        x = x.detach().cpu()
    elif is_cupy_array(x):
        x = x.get()
    return np.asarray(x)


def on_host(x: Array) -> bool:
    """Whether NumPy can view an array where it is."""
    return bool(is_torch_array(x)) and x.device.type == "cpu"


def bits(x: Array) -> Array | None:
    """The bits of float64 numbers as 64-bit integers; None where the library does not tell."""
    view = getattr(x, "view", None)
    return None if view is None else view(namespace(x).int64)


class Home:
    """Where arrays live and are computed with. This one is the host, with NumPy's arrays."""

    xp = NUMPY

    def bring(self, x: npt.NDArray[Any]) -> Array:
        """A NumPy array, brought there."""
        return x

    def fetch(self, x: Array) -> Vector:
        """An array from there, as NumPy's."""
        return np.asarray(x)

    def empty(self, shape: tuple[int, int]) -> Array:
        """A float64 array whose entries are not set."""
        return np.empty(shape)

    def rows(self, x: Array, index: Index) -> Array:
        """Some rows of a matrix there."""
        return x[index]


class Abroad(Home):
    """The library and the device of an array that is not NumPy's."""

    def __init__(self, array: Array) -> None:
        self.xp = namespace(array)
        self._device = device(array)

    def bring(self, x: npt.NDArray[Any]) -> Array:
        # torch warns of arrays that cannot be written to.
        return self.xp.asarray(np.require(x, requirements="W"), device=self._device)

    def fetch(self, x: Array) -> Vector:
        return to_numpy(x)

    def empty(self, shape: tuple[int, int]) -> Array:
        return self.xp.empty(shape, dtype=self.xp.float64, device=self._device)

    def rows(self, x: Array, index: Index) -> Array:
        return self.xp.take(x, self.bring(index), axis=0)


HOST = Home()


def nonzeros(x: Vector) -> Index:
    """Where numbers are not 0: of a mask, which takes a third of the time where they are many."""
    return np.flatnonzero(x != 0.0)
