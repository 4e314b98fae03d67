"""Exact search: branch and bound whose tree is a proof."""

from __future__ import annotations

from sparsebounds.exact.checkpoint import Checkpoint
from sparsebounds.exact.difficulty import Outlook
from sparsebounds.exact.minimization import SearchProgress
from sparsebounds.exact.near import NearOptimal as NearOptimal
from sparsebounds.exact.near import NearProgress as NearProgress
from sparsebounds.exact.near import near_around as near_around
from sparsebounds.exact.near import near_optimal as near_optimal
from sparsebounds.exact.root import RootProof as RootProof
from sparsebounds.exact.root import root_proof as root_proof
from sparsebounds.exact.row_checkpoint import RowCheckpoint as RowCheckpoint
from sparsebounds.exact.rows import RowSearch as RowSearch
from sparsebounds.exact.search import EFFORT as EFFORT
from sparsebounds.exact.search import ExactSearch, Proof, proof_of
from sparsebounds.exact.search import TooLarge as TooLarge

__all__ = ["Checkpoint", "ExactSearch", "Outlook", "Proof", "SearchProgress", "proof_of"]
