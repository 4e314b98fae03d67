"""Fitting: the best model on a given support, and a model in the user's units."""

from __future__ import annotations

from sparsebounds.fitting.refit import (
    Model,
    as_returned,
    best,
    evaluated,
    inside_ball,
    local_refit,
    on_all_rows,
    refit,
    without_budget,
)

__all__ = [
    "Model",
    "as_returned",
    "best",
    "evaluated",
    "inside_ball",
    "local_refit",
    "on_all_rows",
    "refit",
    "without_budget",
]
