"""Models: sparse, feasible, refitted and locally optimal."""

from __future__ import annotations

from sparsebounds.models.search import Search, candidate_supports
from sparsebounds.relaxation.refit import Model, as_returned, refit

__all__ = ["Model", "Search", "as_returned", "candidate_supports", "refit"]
