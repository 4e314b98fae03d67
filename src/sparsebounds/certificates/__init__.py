"""Certificates: build, save, load and verify, without any solver."""

from __future__ import annotations

from sparsebounds._support.errors import CertificateError
from sparsebounds.certificates.certificate import (
    Certificate,
    Leaf,
    leaf_bound,
    leaf_claim,
)
from sparsebounds.certificates.cover import uncovered
from sparsebounds.certificates.row_codec import row_tree_arrays as row_tree_arrays
from sparsebounds.certificates.row_codec import row_tree_from as row_tree_from
from sparsebounds.certificates.row_tree import RowTree as RowTree
from sparsebounds.certificates.row_tree import SpanProof as SpanProof
from sparsebounds.certificates.row_tree import row_bounds as row_bounds
from sparsebounds.certificates.row_tree import row_leaves as row_leaves
from sparsebounds.certificates.row_tree import row_tree_bound as row_tree_bound
from sparsebounds.certificates.tree import MOST_TRIED as MOST_TRIED
from sparsebounds.certificates.tree import Shift as Shift
from sparsebounds.certificates.tree import Tree as Tree
from sparsebounds.certificates.tree import TreeError as TreeError
from sparsebounds.certificates.tree import based as based
from sparsebounds.certificates.tree import dual_vectors as dual_vectors
from sparsebounds.certificates.tree import nodes_bound as nodes_bound
from sparsebounds.certificates.tree import removal_bound as removal_bound
from sparsebounds.certificates.tree import tree_bound as tree_bound
from sparsebounds.certificates.tree_codec import tree_arrays as tree_arrays
from sparsebounds.certificates.tree_codec import tree_from as tree_from
from sparsebounds.certificates.verification import Verdict, verify
from sparsebounds.problem import Problem

__all__ = [
    "Certificate",
    "CertificateError",
    "Leaf",
    "Problem",
    "Verdict",
    "leaf_bound",
    "leaf_claim",
    "uncovered",
    "verify",
]
