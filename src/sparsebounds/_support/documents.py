"""JSON documents: made of values of any kind, and read field by field.

Every failure of a reader names the field and what it must be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from sparsebounds._support.errors import InputError


def jsonable(value: Any) -> Any:
    """Lists for arrays and tuples, and None for what is not finite, as JSON has no infinity."""
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [jsonable(item) for item in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def no_constant(name: str) -> Any:
    """What json.load is to do with NaN and Infinity, which are no JSON."""
    raise ValueError(f"{name} is not allowed")


class Document:
    """A JSON value with its path, read field by field; a path of "" reads the value itself."""

    error: type[ValueError] = InputError

    def __init__(self, content: Any, path: str = "") -> None:
        self.content = content
        self.path = path

    def at(self, content: Any, path: str) -> Self:
        """A part of the document."""
        return type(self)(content, path)

    def get(self, key: str) -> Any:
        if not key:
            return self.content
        if not isinstance(self.content, dict):
            raise self._wrong("", "an object")
        if key not in self.content:
            raise self.error(f"{self._name(key)} is missing.")
        return self.content[key]

    def record(self, key: str) -> Self:
        if not isinstance(self.get(key), dict):
            raise self._wrong(key, "an object")
        return self.at(self.get(key), self._name(key))

    def items(self, key: str) -> Iterator[Self]:
        name = self._name(key)
        for i, item in enumerate(self.entries(key)):
            yield self.at(item, f"{name}[{i}]")

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or len(value) > 1000:
            raise self._wrong(key, "a short text")
        return value

    def truth(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def integer(self, key: str, least: int, most: int | None = 2**62) -> int:
        value = self.get(key)
        most = 2**62 if most is None else most
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(key, f"an integer from {least} to {most}")
        return value

    def number(self, key: str) -> float:
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number")
        if abs(value) > 1e300 or not math.isfinite(value):
            raise self._wrong(key, "a finite number")
        return float(value)

    def entries(self, key: str) -> list[Any]:
        value = self.get(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def refuse_others(self, known: Iterable[str]) -> None:
        """What is not stated is at its default: a file may be older than a field, not newer."""
        others = sorted(self.content.keys() - set(known))
        if others:
            raise self.error(
                f"{self._name(others[0])} is not known here; update sparsebounds, or remove it."
            )

    def _name(self, key: str) -> str:
        return f"{self.path}.{key}".strip(".")

    def _wrong(self, key: str, expected: str) -> ValueError:
        return self.error(f"{self._name(key) or 'the document'} must be {expected}.")
