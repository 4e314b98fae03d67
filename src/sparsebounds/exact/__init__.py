"""Exact search: branch and bound whose tree is a proof."""

from __future__ import annotations

from sparsebounds.exact.proof import ExactSearch, Proof
from sparsebounds.exact.search import SearchProgress

__all__ = ["ExactSearch", "Proof", "SearchProgress"]
