"""Models: sparse, feasible, refitted and locally optimal."""

from __future__ import annotations

from sparsebounds.models.refit import Model, as_returned, refit
from sparsebounds.models.search import Search

__all__ = ["Model", "Search", "as_returned", "refit"]
