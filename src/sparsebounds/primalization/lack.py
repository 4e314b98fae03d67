"""rho: how far a non-convex loss lies above its envelope on a box, at most."""

from __future__ import annotations

import numpy as np

from sparsebounds.losses import Envelope
from sparsebounds.program import Program

CELLS = 2000


def lack_of_convexity(program: Program, convex: Program) -> float:
    """sum_i p_i sup (loss - envelope) over the box, from a grid and the largest slope on it."""
    envelope, y = convex.loss, program.y
    assert isinstance(envelope, Envelope)
    lo, hi = envelope.lo, envelope.hi
    half = (hi - lo) / (2.0 * CELLS)
    most, steepest = np.zeros(len(y)), np.zeros(len(y))
    for share in np.arange(CELLS + 1) / CELLS:
        z = np.clip(lo + share * (hi - lo), lo, hi)
        most = np.maximum(most, program.loss.value(y, z) - envelope.value(y, z))
        slope = program.loss.gradient(y, z) - envelope.gradient(y, z)
        steepest = np.maximum(steepest, np.abs(slope))
    return float(program.F.p @ (most + steepest * half))
