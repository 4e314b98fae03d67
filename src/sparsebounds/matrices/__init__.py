"""Data matrices: what the project reads, wherever it is stored."""

from __future__ import annotations

from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.low_rank import LowRankMatrix
from sparsebounds.matrices.sparse import SparseMatrix
from sparsebounds.matrices.standardized import StandardizedMatrix, column_statistics
from sparsebounds.matrices.stored import StoredMatrix
from sparsebounds.matrices.tables import as_matrix

__all__ = [
    "DenseMatrix",
    "DeviceMatrix",
    "LowRankMatrix",
    "Matrix",
    "SparseMatrix",
    "StandardizedMatrix",
    "StoredMatrix",
    "as_matrix",
    "column_statistics",
]
