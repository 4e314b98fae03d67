"""The sums of `device` by kernels for CUDA: entries are read once, as they are stored.

A float32 entry becomes float64 in a register, so the pass costs no more than reading X does; with
library calls it would be written to memory and read back at twice its size. A program of the
grid sums DEEP rows of a tile of columns; the partial sums, 1/1024 of the entries, are then added
in a fixed order, so that a result is the same every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from sparsebounds._support.array import Array, Vector
from sparsebounds.matrices.bits import Bits
from sparsebounds.matrices.device import ColumnSums

DEEP = 1024
"""Rows in a partial sum."""

TILE = 4096
"""Entries of X in registers at a time, in each program."""

WIDE = 1024
"""Their extent along the axis of storage, at most."""


@triton.jit
def _power_sums(
    x,
    a,
    center,
    out,
    n,
    m,
    down,
    across,
    POWER: tl.constexpr,
    CENTRED: tl.constexpr,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64) * WIDE + tl.arange(0, WIDE)
    top = tl.program_id(1).to(tl.int64) * DEEP
    here = j < m
    total = tl.zeros((TALL, WIDE), dtype=tl.float64)
    if CENTRED:
        shift = tl.load(center + j, mask=here, other=0.0)
    for step in range(0, DEEP, TALL):
        i = top + step + tl.arange(0, TALL)
        inside = (i < n)[:, None] & here[None, :]
        entry = tl.load(x + i[:, None] * down + j[None, :] * across, mask=inside, other=0.0)
        value = entry.to(tl.float64)
        if CENTRED:
            value = value - shift[None, :]
        if POWER == 2:
            value = value * value
        weight = tl.load(a + i, mask=i < n, other=0.0)
        total += value * weight[:, None]
    tl.store(out + tl.program_id(1).to(tl.int64) * m + j, tl.sum(total, axis=0), mask=here)


@triton.jit
def _word_sums(
    x,
    r,
    out,
    n,
    m,
    down,
    across,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64) * WIDE + tl.arange(0, WIDE)
    top = tl.program_id(1).to(tl.int64) * DEEP
    here = j < m
    total = tl.zeros((TALL, WIDE), dtype=tl.int64)
    for step in range(0, DEEP, TALL):
        i = top + step + tl.arange(0, TALL)
        inside = (i < n)[:, None] & here[None, :]
        entry = tl.load(x + i[:, None] * down + j[None, :] * across, mask=inside, other=0.0)
        value = entry.to(tl.float64)
        bits = tl.where(value == 0.0, 0.0, value).to(tl.int64, bitcast=True)
        bits = bits ^ ((bits >> 32) & 0xFFFFFFFF)
        weight = tl.load(r + i, mask=i < n, other=0)
        total += bits * weight[:, None]
    tl.store(out + tl.program_id(1).to(tl.int64) * m + j, tl.sum(total, axis=0), mask=here)


class FusedSums(ColumnSums):
    """Of a torch tensor on a CUDA device, or of what shares memory with one."""

    def __init__(self, array: Array) -> None:
        self._x = torch.from_dlpack(array) if not isinstance(array, torch.Tensor) else array
        n, m = self._x.shape
        long = min(WIDE, triton.next_power_of_2(m if self._by_rows else n))
        # No taller than a partial sum: programs would count the same rows.
        short = min(DEEP, max(1, TILE // long))
        self._tall, self._wide = (short, long) if self._by_rows else (long, short)
        self._grid = (triton.cdiv(m, self._wide), triton.cdiv(n, DEEP))

    @property
    def _by_rows(self) -> bool:
        return bool(self._x.stride(0) >= self._x.stride(1))

    def powers(self, a: Vector, power: int = 1, center: Vector | None = None) -> Vector:
        weights = self._brought(a)
        shift = weights if center is None else self._brought(center)
        out = self._launch(
            _power_sums, torch.float64, weights, shift, POWER=power, CENTRED=center is not None
        )
        return np.asarray(torch.sum(out, dim=0).cpu().numpy())

    def bits(self, rows: Bits) -> Bits:
        # Products and sums of signed integers that wrap have the bits of unsigned ones.
        sums = [
            torch.sum(self._launch(_word_sums, torch.int64, self._brought(row.view(np.int64))), 0)
            for row in rows
        ]
        return np.asarray(torch.stack(sums).cpu().numpy().view(np.uint64))

    def _brought(self, vector: Any) -> torch.Tensor:
        return torch.as_tensor(np.require(vector, requirements=["C", "W"]), device=self._x.device)

    def _launch(
        self, kernel: Any, dtype: torch.dtype, *vectors: torch.Tensor, **options: Any
    ) -> torch.Tensor:
        """The partial sums, one row per chunk of rows."""
        n, m = self._x.shape
        out = torch.empty((self._grid[1], m), dtype=dtype, device=self._x.device)
        with torch.cuda.device(self._x.device):
            kernel[self._grid](
                self._x,
                *vectors,
                out,
                n,
                m,
                *self._x.stride(),
                TALL=self._tall,
                WIDE=self._wide,
                DEEP=DEEP,
                num_warps=8,
                **options,
            )
        return out
