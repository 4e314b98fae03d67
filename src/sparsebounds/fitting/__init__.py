"""Fitting: the best model on a given support, and a model in the user's units."""

from __future__ import annotations

from sparsebounds.fitting.drafts import Draft, draftable, drafted, fitted, padded
from sparsebounds.fitting.drafts import Drafted as Drafted
from sparsebounds.fitting.drafts import Wanted as Wanted
from sparsebounds.fitting.drafts import bends as bends
from sparsebounds.fitting.entries import ByEntries as ByEntries
from sparsebounds.fitting.kinds import FEWER as FEWER
from sparsebounds.fitting.kinds import Kinds as Kinds
from sparsebounds.fitting.patterns import Patterns as Patterns
from sparsebounds.fitting.patterns import merged as merged
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
from sparsebounds.fitting.stream import Bends as Bends
from sparsebounds.fitting.stream import streamed as streamed

__all__ = [
    "Draft",
    "Model",
    "as_returned",
    "best",
    "draftable",
    "drafted",
    "evaluated",
    "fitted",
    "inside_ball",
    "local_refit",
    "on_all_rows",
    "padded",
    "refit",
    "without_budget",
]
