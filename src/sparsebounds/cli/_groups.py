"""Groups of options: a dataclass whose fields are options, for commands that share them.

A command takes `group: Group`; on the command line stand the group's fields, in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Spell out, for typer, the parameters that are groups."""
    signature = inspect.signature(command, eval_str=True)
    own = signature.parameters
    groups: dict[str, Any] = {
        name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)
    }
    options = {
        name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()
    }
    spelled_out: list[inspect.Parameter] = []
    for name, parameter in own.items():
        spelled_out += options[name].values() if name in groups else [parameter]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in options[name]})
        command(**given)

    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in spelled_out]
    run.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    return run
