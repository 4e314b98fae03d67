"""Models: sparse, feasible, refitted and locally optimal."""

from __future__ import annotations

from sparsebounds.models.search import Search, candidate_supports, pool_of
from sparsebounds.relaxation.refit import Model, refit

__all__ = ["Model", "Search", "candidate_supports", "pool_of", "refit"]
