"""Every public name is documented in numpydoc's form, and its example runs.

Examples may take `import numpy as np` and `import sparsebounds as sb` for granted. A class names
what it is made with (Parameters) or what it holds (Attributes); a function all that it takes.
"""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb

SECTIONS = (
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes"),
    *("References", "Examples"),
)
"""In numpydoc's order."""

CONSTANTS = {"ROOT", "WIDER", "NONCONVEX", "REGISTRY", "SINGLE", "__version__"}
"""Their sentences stand in the source."""


def public() -> dict[str, Any]:
    """What every public name stands for: those of the package, and the others by their module."""
    found = {name: getattr(sb, name) for name in sb._HOME}
    for module in sb._MODULES:
        place = getattr(sb, module)
        others = set(place.__all__) - found.keys() - CONSTANTS
        found |= {f"{module}.{name}": getattr(place, name) for name in sorted(others)}
    return found


PENDING = ("losses.", "matrices.", "penalties.", "testing.")
PUBLIC = {name: value for name, value in public().items() if not name.startswith(PENDING)}


def sections(value: Any) -> dict[str, str]:
    """The sections of a docstring by their titles; what stands before them is its head."""
    text = inspect.cleandoc(value.__doc__ or "")
    head, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"head": head, **dict(zip(rest[::2], rest[1::2], strict=True))}


def entries(section: str) -> list[str]:
    """The names that a section describes, in order."""
    lines = [line for line in section.splitlines() if line and not line[0].isspace()]
    return [name for line in lines for name in line.split(" : ")[0].split(", ")]


def taken(value: Any) -> list[str]:
    """The names of the parameters of a function or class."""
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    shown = {stars[0]: "*", stars[1]: "**"}
    return [
        shown.get(one.kind, "") + one.name for one in inspect.signature(value).parameters.values()
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    value = PUBLIC[name]
    said = sections(value)
    assert said["head"].splitlines()[0].endswith((".", "?")), "a sentence comes first"
    titles = [title for title in said if title != "head"]
    assert titles == [title for title in SECTIONS if title in titles], "sections have an order"
    if issubclass(type(value), type) and issubclass(value, Exception):
        return
    assert ">>> " in said.get("Examples", ""), "an example is missing"
    described = entries(said.get("Parameters", ""))
    if not inspect.isclass(value):
        assert sorted(described) == sorted(taken(value))
        gives = inspect.signature(value).return_annotation
        assert ("Returns" in said) == (gives != "None" and "Yields" not in said)
        return
    held = entries(said.get("Attributes", ""))
    assert len(set(held)) == len(held)
    if described or not dataclasses.is_dataclass(value):
        assert sorted(described) == sorted(taken(value))
    else:
        assert {one.name for one in dataclasses.fields(value)} <= set(held)


def test_what_is_said_of_attributes_is_there() -> None:
    for name, value in PUBLIC.items():
        if inspect.isclass(value):
            known = {*dir(value), *getattr(value, "__dataclass_fields__", ())}
            held = entries(sections(value).get("Attributes", ""))
            extra = {one for one in held if one not in known and not one.endswith("_")}
            assert not extra or not dataclasses.is_dataclass(value), (name, extra)


def methods(value: Any) -> Iterator[tuple[str, Any]]:
    """What a class of ours offers, its bases included."""
    for base in value.__mro__:
        if base.__module__.startswith("sparsebounds"):
            for name, member in vars(base).items():
                if not name.startswith("_") and (
                    inspect.isroutine(member) or isinstance(member, property)
                ):
                    yield name, member


def test_every_method_has_a_sentence() -> None:
    silent = [
        f"{name}.{method}"
        for name, value in PUBLIC.items()
        if inspect.isclass(value)
        for method, member in methods(value)
        if not inspect.getdoc(getattr(value, method, member))
    ]
    assert not silent


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str) -> None:
    found = doctest.DocTestFinder(recurse=True).find(
        PUBLIC[name], name, module=False, globs={"np": np, "sb": sb}
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for one in found:
        runner.run(one, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
