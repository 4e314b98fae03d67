"""Groups of options: a dataclass whose fields are options, for commands that share them.

A command takes `group: Group`; on the command line stand the group's fields, in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, get_type_hints


def grouped(*groups: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Spell out, for typer, the parameters that are of one of these groups."""

    def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        taken = {name: p.annotation for name, p in signature.parameters.items()}
        taken = {name: kind for name, kind in taken.items() if kind in groups}
        parameters = []
        for name, parameter in signature.parameters.items():
            if name in taken:
                parameters += _options(taken[name])
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @wraps(command)
        def run(**given: Any) -> None:
            for name, group in taken.items():
                values = {option.name: given.pop(option.name) for option in fields(group)}
                given[name] = group(**values)
            command(**given)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return spelled_out


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=hints[option.name],
        )
        for option in fields(group)
    ]
