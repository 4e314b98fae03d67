"""Data matrices: what the project reads, wherever it is stored."""

from __future__ import annotations

from sparsebounds.matrices.base import Entries as Entries
from sparsebounds.matrices.base import Matrix
from sparsebounds.matrices.dense import DenseMatrix
from sparsebounds.matrices.device import DeviceMatrix
from sparsebounds.matrices.fingerprint import fingerprint as fingerprint
from sparsebounds.matrices.largest import RowTerms as RowTerms
from sparsebounds.matrices.low_rank import LowRankMatrix
from sparsebounds.matrices.opening import on_disk as on_disk
from sparsebounds.matrices.opening import open_matrix as open_matrix
from sparsebounds.matrices.posed import posed as posed
from sparsebounds.matrices.posed import standardized as standardized
from sparsebounds.matrices.progress import progress as progress
from sparsebounds.matrices.recoding import Recoding as Recoding
from sparsebounds.matrices.sparse import SparseMatrix
from sparsebounds.matrices.standardized import StandardizedMatrix, column_statistics
from sparsebounds.matrices.stored import StoredMatrix
from sparsebounds.matrices.tables import as_matrix
from sparsebounds.matrices.tables import row_count as row_count
from sparsebounds.matrices.whitened import WhitenedMatrix as WhitenedMatrix
from sparsebounds.matrices.whitened import grams_within as grams_within

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
