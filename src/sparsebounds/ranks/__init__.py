"""Numerical rank: solve on a low-rank X_r, prove on the full X."""

from __future__ import annotations

from sparsebounds.ranks.arguments import chosen_ranks as chosen_ranks
from sparsebounds.ranks.result import RankBounds, RankRow
from sparsebounds.ranks.sweep import rank_bounds

__all__ = ["RankBounds", "RankRow", "rank_bounds"]
