"""Memory for blocks of a matrix, taken once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector


class Scratch:
    """Memory for a block, taken once: fresh pages would cost more than the work on them."""

    def __init__(self) -> None:
        self._flat = np.empty(0)

    def like(self, block: npt.NDArray[np.floating]) -> Vector:
        """An array of this shape and memory order."""
        if len(self._flat) < block.size:
            self._flat = np.empty(block.size)
        return self._shaped(block, block.shape)

    def copy(self, block: npt.NDArray[np.floating]) -> Vector:
        """The block in float64."""
        copied = self.like(block)
        np.copyto(copied, block)
        return copied

    def columns(self, block: npt.NDArray[np.floating], index: Index) -> npt.NDArray[np.floating]:
        """Some columns of a block."""
        if block.dtype != np.float64:
            return block[:, index]
        if len(self._flat) < len(block) * len(index):
            self._flat = np.empty(len(block) * len(index))
        taken = self._shaped(block, (len(block), len(index)))
        # Along the storage; and indices are known to be good, whose check would take a copy.
        if block.strides[0] >= block.strides[1]:
            np.take(block, index, axis=1, out=taken, mode="clip")
        else:
            np.take(block.T, index, axis=0, out=taken.T, mode="clip")
        return taken

    def _shaped(self, block: npt.NDArray[np.floating], shape: tuple[int, ...]) -> Vector:
        """Memory of this shape, in the memory order of a block."""
        flat = self._flat[: shape[0] * shape[1]]
        if block.strides[0] >= block.strides[1]:
            return flat.reshape(shape)
        return flat.reshape(shape[::-1]).T
