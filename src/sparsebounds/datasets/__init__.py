"""Data sets for experiments and examples."""

from __future__ import annotations

from sparsebounds.datasets.synthetic import Sample, make_correlated, make_low_rank

__all__ = ["Sample", "make_correlated", "make_low_rank"]
