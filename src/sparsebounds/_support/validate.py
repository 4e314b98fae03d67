"""Checks of users' arguments. Every error names the argument and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from sparsebounds._support.array import Mask, Vector, to_numpy
from sparsebounds._support.errors import InputError, InputTypeError

Exact: TypeAlias = bool | Literal["auto"]
"""How far to search: to the end, not at all, or for a bounded amount of work."""

LARGEST = 1e150
"""Numbers beyond this overflow when squared."""


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def exactly_one(**arguments: Any) -> None:
    """Exactly one of the arguments is given (not None)."""
    given = [name for name, value in arguments.items() if value is not None]
    names = " and ".join(arguments)
    if not given:
        raise InputError(f"Neither {names.replace(' and ', ' nor ')} was given; pass one of them.")
    if len(given) > 1:
        raise InputError(f"Both {names} were given; pass only one of them.")


def cardinality(k: Any, among: str = "") -> int:
    """k, an entry of `among` where that is named, as an int >= 0."""
    shown = f"{among} holds {k!r}, which" if among else f"k={k!r}"
    if not is_whole(k):
        raise InputTypeError(f"{shown} must be an integer: the largest number of nonzeros.")
    if k < 0:
        raise InputError(f"{shown} is negative; pass the largest number of nonzeros, 0 or more.")
    return int(k)


def positive_number(name: str, value: Any, *, listed: bool = False) -> float:
    """A finite float > 0, or an array of one that has no dimension.

    `listed`: an entry of the argument.
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    shown = f"{name} holds {value!r}, which" if listed else f"{name}={value!r}"
    if not is_number(value):
        raise InputTypeError(f"{shown} must be a number greater than 0.")
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{shown} must be finite and greater than 0.")
    return number


def whole_number(name: str, value: Any, least: int = 0, more: str = "") -> int:
    """An int >= `least`; `more` ends the sentence."""
    if not is_whole(value) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number, {least} or more{more}.")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """True or False, not what Python takes for it."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"{name}={value!r} must be True or False.")
    return bool(value)


def share(name: str, value: Any, least: float, example: str) -> float:
    """A number from `least` to below 1."""
    if not (is_number(value) and least <= float(value) < 1.0):
        said = f"={value!r}" if np.isscalar(value) else f" is a {type(value).__name__}; it"
        raise InputError(
            f"{name}{said} must be a number from {least:g} to below 1, such as {example}."
        )
    return float(value)


def check_random_state(value: Any) -> None:
    """A seed: a whole number, a numpy Generator or None."""
    seed = is_whole(value) and int(value) >= 0
    if not seed and value is not None and not isinstance(value, np.random.Generator):
        raise InputError(
            f"random_state={value!r} must be a whole number, 0 or more, a numpy Generator or None."
        )


def check_tolerance(tol: Any, example: str = "1e-4") -> None:
    """A tolerance is a finite number > 0."""
    if not (is_number(tol) and 0 < float(tol) < math.inf):
        raise InputError(f"tol={tol!r} must be a number greater than 0, such as {example}.")


def check_node_limit(node_limit: Any) -> None:
    """A node limit is None or an int >= 1."""
    if node_limit is not None:
        whole_number("node_limit", node_limit, 1, ", or None for no limit")


def check_exact(exact: Any) -> None:
    """True, False or "auto"."""
    if not isinstance(exact, (bool, np.bool_)) and not (isinstance(exact, str) and exact == "auto"):
        raise InputError(f"exact={exact!r} must be True, False or 'auto'.")


def check_time_limit(time_limit: Any) -> None:
    """A time limit is None or a number of seconds > 0."""
    if time_limit is not None and not (is_number(time_limit) and float(time_limit) > 0):
        raise InputError(f"time_limit={time_limit!r} must be a number of seconds greater than 0.")


def check_callback(callback: Any) -> None:
    """A callback is None or a function."""
    if callback is not None and not callable(callback):
        raise InputTypeError(f"callback={callback!r} cannot be called; pass a function, or None.")


def feature_numbers(
    name: str, value: Any, m: int, *, zero_allowed: bool, per: str = "feature"
) -> float | Vector:
    """A positive number, or a vector with one number per feature."""
    if np.ndim(value) == 0:
        return positive_number(name, value)
    numbers = real_vector(name, value, m, per)
    if np.any(numbers < 0) or (not zero_allowed and np.any(numbers == 0)):
        least = "0 or more" if zero_allowed else "greater than 0"
        raise InputError(f"{name} holds {numbers.min():g}; every entry must be {least}.")
    return numbers


def real_vector(name: str, value: Any, length: int, per: str) -> Vector:
    """A finite float64 vector of the given length."""
    array = _array(name, value)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"{name} has dtype {array.dtype}; it must hold real numbers.")
    _check_vector(name, array, per)
    if len(array) != length:
        raise InputError(
            f"{name} has {len(array)} entries, but X has {length} {per}s; pass one per {per}."
        )
    vector = array.astype(np.float64)
    if not np.all(np.isfinite(vector)):
        where = int(np.flatnonzero(~np.isfinite(vector))[0])
        kind = "NaN" if np.isnan(vector[where]) else "infinity"
        remedy = "drop or impute such rows" if per == "row" else "pass a finite number"
        raise InputError(f"{name} holds {kind} at position {where}; {remedy}.")
    if np.any(np.abs(vector) > LARGEST):
        raise InputError(f"{name} holds values beyond {LARGEST:g}; rescale it.")
    return vector


def sample_weights(value: Any, n: int) -> tuple[Vector, Mask | None]:
    """Weights of the rows kept, and which rows those are (None: all)."""
    weights = all_sample_weights(value, n)
    keep = weights > 0
    return (weights, None) if keep.all() else (weights[keep], keep)


def all_sample_weights(value: Any, n: int) -> Vector:
    """The weights of all rows, some of which are above 0."""
    if value is None:
        return np.ones(n)
    weights = real_vector("sample_weight", value, n, "row")
    if np.any(weights < 0):
        raise InputError(
            f"sample_weight holds {weights.min():g}; weights must be 0 or more (0 drops a row)."
        )
    if not np.any(weights > 0):
        raise InputError("sample_weight is all zero, which drops every row; weigh some rows.")
    return weights


def response_labels(y: Any, n: int) -> Any:
    """y as a one-dimensional array of n entries of any kind."""
    if y is None:
        raise InputTypeError("y is None; pass the response, one number or label per row.")
    array = _array("y", y)
    _check_vector("y", array, "row")
    if len(array) != n:
        raise InputError(f"y has {len(array)} entries, but X has {n} rows; pass one per row.")
    if array.dtype.kind == "c":
        raise InputTypeError("y is complex; it must hold real numbers or class labels.")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InputError("y holds NaN or infinity; drop such rows.")
    if array.dtype == object and any(isinstance(v, float) and math.isnan(v) for v in array):
        raise InputError("y holds NaN; drop such rows.")
    return array


def _check_vector(name: str, array: npt.NDArray[Any], per: str) -> None:
    if array.ndim != 1:
        remedy = f"Try {name}.ravel()." if array.ndim else f"Pass a list, one entry per {per}."
        raise InputError(f"{name} must be one-dimensional; its shape is {array.shape}. {remedy}")


def _array(name: str, value: Any) -> npt.NDArray[Any]:
    """value as an array, without dropping a mask unseen."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputTypeError(f"{name} is a masked array; fill or drop its masked entries first.")
    try:
        return to_numpy(value)
    except ValueError as error:
        raise InputError(f"{name} cannot be read as a vector of numbers: {error}.") from error


def intercept(value: Any, allowed: bool) -> float:
    """A finite number, 0 where no intercept is allowed."""
    if not isinstance(value, Real):
        raise InputTypeError(f"intercept={value!r} must be a number.")
    if not math.isfinite(value):
        raise InputError(f"intercept={value!r} must be a finite number.")
    if value != 0 and not allowed:
        raise InputError(f"intercept={value!r}, but the program has none; pass fit_intercept=True.")
    return float(value)


def two_classes(y: Any) -> tuple[Vector, tuple[Any, Any]]:
    """y coded -1 and +1 (the larger label), and the two labels in that order."""
    try:
        labels = np.unique(y)
    except TypeError as error:
        raise InputTypeError("y mixes labels that cannot be sorted; use one type.") from error
    values = labels.tolist()
    if labels.dtype.kind in "fiu" and set(values) <= {-1, 1}:
        return y.astype(np.float64), (-1, 1)
    if len(values) != 2:
        shown = ", ".join(repr(label) for label in values[:5])
        if len(values) > 5:
            shown += ", ..."
        raise InputError(
            f"y holds {len(values)} class{'es' * (len(values) != 1)} ({shown}), but this loss "
            "needs exactly two; code y with two labels, or choose loss='squared' for a real "
            "response."
        )
    return np.where(y == labels[1], 1.0, -1.0), (values[0], values[1])


def feature_names(value: Any, m: int, argument: str = "feature_names") -> tuple[str, ...]:
    """m distinct names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputTypeError(f"{argument}={value!r} must be a list of {m} names, one per column.")
    names = tuple(str(name) for name in value)
    if len(names) != m:
        raise InputError(f"{argument} has {len(names)} entries, but X has {m} columns.")
    if len(set(names)) < m:
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{argument} holds {twice!r} more than once; names must differ.")
    return names


def features(
    argument: str,
    chosen: Any,
    m: int,
    names: tuple[str, ...] | None,
    groups: Iterable[tuple[str, int]] = (),
) -> Mask:
    """A mask of the chosen features, given by index or by name.

    The name of a group, where no column has it, stands for the column that comes with it.
    """
    mask = np.zeros(m, dtype=np.bool_)
    if chosen is None:
        return mask
    others = dict(groups)
    if isinstance(chosen, (str, Integral)) or not isinstance(chosen, Iterable):
        chosen = [chosen]
    for feature in entries(chosen):
        grouped = isinstance(feature, str) and feature in others and feature not in (names or ())
        mask[others[feature] if grouped else _feature_index(argument, feature, m, names)] = True
    return mask


def entries(values: Iterable[Any]) -> Iterable[Any]:
    """The entries of a list, or of an array of any library."""
    foreign = bool(is_array_api_obj(values))
    listed: Iterable[Any] = to_numpy(values) if foreign else values
    return listed


def is_list(value: Any) -> bool:
    """Whether a value has entries; a text and a single number have none."""
    scalar = isinstance(value, str) or getattr(value, "ndim", 1) == 0
    return not scalar and isinstance(value, Iterable)


def _feature_index(argument: str, feature: Any, m: int, names: tuple[str, ...] | None) -> int:
    if isinstance(feature, str):
        if names is None:
            raise InputError(
                f"{argument} names the feature {feature!r}, but X has no column names; "
                "pass a data frame, feature_names=, or column indices."
            )
        if feature not in names:
            raise InputError(f"{argument} names {feature!r}, which is not a column of X.")
        return names.index(feature)
    if not is_whole(feature):
        raise InputTypeError(
            f"{argument} holds {feature!r}; pass column indices or names "
            "(np.flatnonzero of a mask)."
        )
    index = int(feature)
    if not 0 <= index < m:
        raise InputError(f"{argument} holds {index}, but columns go from 0 to {m - 1}.")
    return index


def standardization(value: Any) -> Any:
    """True, False, a pair (center, scale), or with groups three of them."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (tuple, list)) and len(value) in (2, 3):
        return value
    raise InputTypeError(
        f"standardize={value!r} must be True, False or a pair of vectors (center, scale)."
    )


def sign_mask(positive: Any, m: int) -> Mask:
    """positive=True, False or a boolean mask, as a mask."""
    if isinstance(positive, (bool, np.bool_)):
        return np.full(m, bool(positive))
    mask = to_numpy(positive)
    if mask.dtype != np.bool_ or mask.shape != (m,):
        raise InputError(
            f"positive must be True, False or a boolean mask of {m} entries, one per feature."
        )
    return mask.copy()
