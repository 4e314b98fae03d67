"""The numerical rank of X, without an SVD: a basis of its range grows by blocks of columns.

Columns are centred where there is an intercept (`centred`), and scaled to length 1. What a block
adds to the range is found by a pivoted QR of its distance from the basis so far; a distance below
1e-10 counts as none. In exact arithmetic a matrix of floats that was computed as one of low rank
has full rank, so that every statement about r is one about a matrix within that distance, and says
so. Data of full rank are through after min(n, m) columns.

That is one pass at most, where columns cost their share of it. Where a few columns cost a pass,
blocks are as large as memory allows, from all over X, and after each two passes tell which of the
columns left have a distance from the basis at all: data of low rank are through after one block
and five passes, where a block has enough columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sparsebounds._support.array import Index, Vector
from sparsebounds.matrices import Matrix, StandardizedMatrix
from sparsebounds.primalization.centred import centred
from sparsebounds.primalization.vertex import DEPENDENT
from sparsebounds.program import Program

BLOCK = 128
"""Columns read at a time."""

WORK = 1e11
"""Operations after which min(n, m) stands in for the rank."""

PER_ENTRY = 128.0
"""Operations that may be done for each entry of X that has to be read."""


@dataclass(frozen=True)
class Rank:
    """The rank of X, or a number it does not exceed."""

    value: int
    known: bool
    """Whether `value` is the rank; else it is only an upper bound, min(n, m)."""

    def __str__(self) -> str:
        if not self.known:
            return f"r <= {self.value} (the rank of X, which was not computed)"
        return f"r = {self.value} (the rank of X: distances below {DEPENDENT:g} of a column are 0)"


def rank_of_columns(program: Program, work: float = WORK) -> Rank:
    """The rank of the free columns, centred where the program has an intercept."""
    left = np.flatnonzero(program.groups.held(program.free))
    most = min(program.n - int(program.fit_intercept), len(left))
    basis, done = np.zeros((program.n, 0)), 0.0
    width, centred_matrix = _width(program, most, work), None
    while len(left) and basis.shape[1] < most:
        if done > work:
            return Rank(most, known=False)
        # Where blocks are dear, columns from all over: neighbours may be alike.
        step = 1 if program.matrix.by_columns else max(1, len(left) // width)
        chosen = left[::step][:width]
        left = np.setdiff1d(left, chosen, assume_unique=True)
        part = centred(program, program.matrix.columns(chosen))
        block = part.columns / np.where(part.lengths > 0.0, part.lengths, 1.0)
        for _ in range(2):  # once more for what rounding leaves of the first projection
            block = block - basis @ (basis.T @ block)
        done += 8.0 * block.size * basis.shape[1] + 4.0 * block.size * block.shape[1]
        block = block[:, np.linalg.norm(block, axis=0) > DEPENDENT]
        if block.shape[1] == 0:
            continue
        fresh, triangle, _ = qr(block, mode="economic", pivoting=True)
        count = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > DEPENDENT))
        basis = np.concatenate((basis, fresh[:, :count]), axis=1)
        if not program.matrix.by_columns and len(left) and basis.shape[1] < most:
            entries = float(program.n) * program.m
            more = 4.0 * entries * basis.shape[1]
            if more > max(work, PER_ENTRY * entries):
                return Rank(most, known=False)
            done += more
            centred_matrix = centred_matrix or _centred_matrix(program)
            left = left[_distances(*centred_matrix, basis, left) > DEPENDENT]
    return Rank(min(basis.shape[1], most), known=True)


def _width(program: Program, most: int, work: float) -> int:
    """Columns in a block."""
    room = program.matrix.room
    if program.matrix.by_columns or room is None:
        return BLOCK
    # Enough for all of the range, and a little more, within the work that may be done.
    within = math.isqrt(int(work / (8.0 * program.n)))
    return max(BLOCK, min(room, within, most + BLOCK))


def _centred_matrix(program: Program) -> tuple[Matrix, Vector]:
    """X as `centred` has its columns, and their lengths: two passes at most."""
    ones, n = np.ones(program.n), program.n
    mean, spread = program.matrix.moments(ones / n)
    whole = np.sqrt(n * (spread + mean**2))
    if not program.fit_intercept:
        return program.matrix, whole
    center = program.matrix.moments(program.F.p)[0]
    lengths = np.sqrt(n * (spread + (mean - center) ** 2))
    something = lengths > n * np.finfo(np.float64).eps * whole
    matrix = StandardizedMatrix(program.matrix, center, np.ones(program.m))
    return matrix, np.where(something, lengths, 0.0)


def _distances(matrix: Matrix, lengths: Vector, basis: Vector, index: Index) -> Vector:
    """How far columns are from the span of the basis, relative to their lengths: two passes.

    What rounding adds, for a column with a large mean, costs time: such a column is read.
    """
    inside = matrix.project(basis)[:, index]
    rest = matrix.misfits(basis, inside, np.ones(len(basis)), index)
    return np.sqrt(rest) / np.where(lengths[index] > 0.0, lengths[index], np.inf)
