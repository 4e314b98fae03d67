"""Rows held out: a seeded share of them, with both classes in the same proportion on each side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.errors import InputError


def held_out(y: Any, share: float, seed: int) -> tuple[Index, Index]:
    """(training rows, held-out rows), each in order. Labels and 0/1 responses are stratified."""
    from sklearn.model_selection import train_test_split

    n = len(y)
    count = round(share * n)
    if not 1 <= count <= n - 2:
        raise InputError(
            f"--test {share:g} of {n} rows holds out {count} and leaves {n - count}; at least 1 "
            "and 2 are needed."
        )
    classes, sizes = np.unique(y, return_counts=True)
    labels = y.dtype.kind not in "fiu" or len(classes) == 2
    room = sizes.min() >= 2 and min(count, n - count) >= len(classes)
    train, test = train_test_split(
        np.arange(n), test_size=count, random_state=seed, stratify=y if labels and room else None
    )
    return np.sort(train), np.sort(test)
