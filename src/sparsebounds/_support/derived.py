"""Values derived from an object that does not change, computed once and kept as long as it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Rest = ParamSpec("Rest")
Owner = TypeVar("Owner")
Value = TypeVar("Value")


def derived(
    function: Callable[Concatenate[Owner, Rest], Value],
) -> Callable[Concatenate[Owner, Rest], Value]:
    """A function of an object, and of numbers, whose values are kept beside the object."""
    kept: WeakKeyDictionary[Any, dict[Any, Value]] = WeakKeyDictionary()

    @wraps(function)
    def found(owner: Owner, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Value:
        own = kept.setdefault(owner, {})
        key = (args, tuple(sorted(kwargs.items())))
        if key not in own:
            own[key] = function(owner, *args, **kwargs)
        return own[key]

    return found
