"""What rank_bounds was asked for, checked: the method and the ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds._support.validate import is_list
from sparsebounds.program import Program
from sparsebounds.ranks.basis import Method

MOST_RANKS = 50
"""Ranks tried where none are named."""


FEW = 4
"""Passes over X that an SVD may take."""


def chosen_method(program: Program, method: str | None, basis: Vector | None) -> Method:
    """How X is approximated."""
    if basis is not None:
        if method is not None:
            raise InputError(f"Both basis and method={method!r} were given; pass only one of them.")
        return "basis"
    if method is None:
        return "randomized" if program.matrix.by_products else "svd"
    if method == "randomized":
        return "randomized"
    if method != "svd":
        raise InputError(f"method={method!r} is not known; pass 'svd' or 'randomized'.")
    if program.matrix.sparse:
        raise InputError(
            "method='svd' would fill the sparse X; pass method='randomized', or a dense X."
        )
    n, m = program.n, program.m
    room = program.matrix.room
    # A part needs n columns, or all of them; each costs a pass where columns do.
    passes = 1 if room is None or program.matrix.by_columns else math.ceil(m / max(1, room))
    if room is not None and (room < min(n, m) or passes > FEW):
        raise InputError(
            f"method='svd' would read all of X {passes} times, {min(n, m)} columns or more at a "
            "time, and its memory holds too few of them; pass method='randomized', or open X with "
            "more memory."
        )
    return "svd"


def chosen_ranks(program: Program, ranks: Iterable[int] | None, top: int) -> list[int]:
    """The ranks asked for, in order."""
    if ranks is None:
        return [int(r) for r in np.unique(np.linspace(1, top, min(top, MOST_RANKS)).astype(int))]
    if not is_list(ranks):
        raise InputTypeError(f"ranks={ranks!r} must be a list of integers, such as range(1, 20).")
    wanted = list(ranks)
    for rank in wanted:
        if isinstance(rank, bool) or not isinstance(rank, Integral):
            raise InputTypeError(f"ranks holds {rank!r}; every rank must be an integer.")
        if not 1 <= rank <= top:
            raise InputError(
                f"ranks holds {rank}, but on these {program.n} x {program.m} data ranks go from 1 "
                f"to {top}."
            )
    if not wanted:
        raise InputError("ranks is empty; pass one rank or more, such as range(1, 20).")
    return sorted({int(rank) for rank in wanted})
