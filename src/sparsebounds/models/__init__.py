"""Models: sparse, feasible, refitted and locally optimal."""

from __future__ import annotations

from sparsebounds.fitting import Model, as_returned, refit
from sparsebounds.models.ladder import Ladder
from sparsebounds.models.ladder import tell as tell
from sparsebounds.models.local import LocalSearch as LocalSearch
from sparsebounds.models.lockstep import Alike as Alike
from sparsebounds.models.lockstep import State as State
from sparsebounds.models.lockstep import Unsettled as Unsettled
from sparsebounds.models.pool import Pool
from sparsebounds.models.search import Search, candidate_supports
from sparsebounds.models.step_losses import climbed as climbed
from sparsebounds.models.step_losses import in_step as in_step

__all__ = ["Ladder", "Model", "Pool", "Search", "as_returned", "candidate_supports", "refit"]
