"""Every public name is documented in numpydoc's form, and its example runs.

Examples may take `import numpy as np` and `import sparsebounds as sb` for granted. A class names
what it is made with (Parameters) or what it holds (Attributes); a function all that it takes.
"""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from functools import cached_property
from types import FunctionType
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


PUBLIC = public()


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
    assert ">>> " in said.get("Examples", ""), "an example is missing"
    if inspect.isclass(value) and issubclass(value, Exception):
        return
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
        if inspect.isclass(value) and "Parameters" not in sections(value):
            known = {*dir(value), *(one for base in value.__mro__ for one in annotated(base))}
            assert set(entries(sections(value).get("Attributes", ""))) <= known, name


def annotated(value: type) -> set[str]:
    """The attributes that a class declares."""
    return set(vars(value).get("__annotations__", {}))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("Sparse")])
def test_what_fitting_leaves_is_described(name: str) -> None:
    sample = sb.datasets.make_correlated(30, 4, nonzeros=2, classes="Classifier" in name)
    grid = {"cv": 2, "ks": [1, 2]} if name.endswith("CV") else {"k": 2}
    model = PUBLIC[name](**grid).fit(sample.X, sample.y)
    found = {one for one in dir(model) if one.endswith("_") and not one.startswith("_")}
    said = set(entries(sections(type(model))["Attributes"]))
    assert said - found <= {"feature_names_in_"}
    assert found <= said


def test_every_method_has_a_sentence() -> None:
    """Its own, that of the class it is from, or one among a class's attributes."""
    members = (property, cached_property, staticmethod, classmethod, FunctionType)
    silent = set()
    for name, value in PUBLIC.items():
        ours = [one for one in getattr(value, "__mro__", ()) if "sparsebounds" in one.__module__]
        held = [(key, one) for base in ours for key, one in vars(base).items() if key[0] != "_"]
        said = {key for key, one in held if isinstance(one, members) and one.__doc__}
        said |= {key for base in ours for key in entries(sections(base).get("Attributes", ""))}
        silent |= {f"{name}.{key}" for key, one in held if isinstance(one, members)} - {
            f"{name}.{key}" for key in said
        }
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
