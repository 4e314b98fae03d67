"""Models: sparse, feasible, refitted and locally optimal."""

from __future__ import annotations

from sparsebounds.fitting.refit import Model, as_returned, refit
from sparsebounds.models.search import Search, candidate_supports

__all__ = ["Model", "Search", "as_returned", "candidate_supports", "refit"]
