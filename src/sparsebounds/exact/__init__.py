"""Exact search: branch and bound whose tree is a proof."""

from __future__ import annotations

from sparsebounds.exact.checkpoint import Checkpoint
from sparsebounds.exact.difficulty import Outlook
from sparsebounds.exact.proof import ExactSearch, Proof, proof_of
from sparsebounds.exact.search import SearchProgress

__all__ = ["Checkpoint", "ExactSearch", "Outlook", "Proof", "SearchProgress", "proof_of"]
