"""Data sets for experiments and examples."""

from __future__ import annotations

from sparsebounds.datasets.leukemia import Leukemia, load_leukemia
from sparsebounds.datasets.synthetic import (
    Sample,
    make_bell_spectrum,
    make_correlated,
    make_low_rank,
)

__all__ = [
    "Leukemia",
    "Sample",
    "load_leukemia",
    "make_bell_spectrum",
    "make_correlated",
    "make_low_rank",
]
