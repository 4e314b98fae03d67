"""Libraries of the package's extras: imported where they are used, asked for where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError


def library(name: str, extra: str, need: str) -> Any:
    """A module; InputError where it is missing, `need` saying who needs which library."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"{need}, which is not installed: pip install 'sparsebounds[{extra}]'."
        ) from error


def model_frame(
    columns: Mapping[str, Any], coefs: Vector, used: Index, label: Callable[[int], str]
) -> Any:
    """A pandas table, one row per model: these columns, and coefficients of the features used."""
    pd = library("pandas", "data", "to_frame needs pandas")
    named = {f"coef {label(i)}": coefs[:, i] for i in used.tolist()}
    return pd.DataFrame({**columns, **named})
