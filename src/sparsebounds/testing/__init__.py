"""For tests, yours and ours: checks of losses and penalties, and the exhaustive referee."""

from __future__ import annotations

from sparsebounds.testing._conic import ConicSolution, conic_relaxation
from sparsebounds.testing._instances import random_program
from sparsebounds.testing._loss import check_loss
from sparsebounds.testing._penalty import check_penalty
from sparsebounds.testing._referee import Optimum, brute_force

__all__ = [
    "ConicSolution",
    "Optimum",
    "brute_force",
    "check_loss",
    "check_penalty",
    "conic_relaxation",
    "random_program",
]
