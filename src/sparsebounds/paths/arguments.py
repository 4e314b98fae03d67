"""What a path was asked for, checked: the grid and the limits."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sparsebounds._support import validate as check
from sparsebounds._support.errors import InputError, InputTypeError


def checked_grid(ks: Any, l0s: Any) -> list[int] | list[float]:
    """Budgets or prices, whichever was given."""
    check.exactly_one(ks=ks, l0s=l0s)
    return budgets(ks) if l0s is None else prices(l0s)


def budgets(ks: Any) -> list[int]:
    """The numbers of features asked for, ascending, each once."""
    if not check.is_list(ks):
        raise InputTypeError(f"ks={ks!r} must be a list of integers, such as range(1, 31).")
    grid = sorted({check.cardinality(k, "ks") for k in check.entries(ks)})
    if not grid:
        raise InputError("ks is empty; pass one number of features or more, such as range(1, 31).")
    return grid


def prices(l0s: Any) -> list[float]:
    """The prices asked for, descending (so that models grow), each once."""
    if not check.is_list(l0s):
        raise InputTypeError(f"l0s={l0s!r} must be a list of prices, such as [0.1, 0.03, 0.01].")
    found = {check.positive_number("l0s", l0, listed=True) for l0 in check.entries(l0s)}
    grid = sorted(found, reverse=True)
    if not grid:
        raise InputError("l0s is empty; pass one price or more, such as [0.1, 0.03, 0.01].")
    return grid


def check_options(tol: Any, stop: Any, exact: Any, node_limit: Any, callback: Any) -> None:
    """Tolerances and limits that make sense."""
    check.check_tolerance(tol)
    if stop is not None and not (isinstance(stop, Real) and 0.0 < float(stop) < 1.0):
        raise InputError(f"stop={stop!r} must be a number between 0 and 1, such as 0.01, or None.")
    check.check_exact(exact)
    check.check_node_limit(node_limit)
    check.check_callback(callback)
