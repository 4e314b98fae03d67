"""What version 0.1 offered and wrote is still there: names, calls, certificates, checkpoints.

names.txt has one line per public name: `=` stands for a default, whatever it is. Members of a class
that come from other packages are left out.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb

HERE = Path(__file__).parent

GONE = frozenset(
    f"sparsebounds.penalties.{name}" + member
    for name, members in {
        "Penalty": ("prox", "jacobian", "blocked"),
        "KRidge": ("prox", "jacobian", "blocked"),
        "L0Ridge": ("prox", "jacobian", "blocked", "tau", "kappa"),
        "ProxPoint": ("w", "u", "l0"),
        "Jacobian": ("diagonal", "direction", "beta"),
    }.items()
    for member in (*(f".{one}" for one in members), *[""] * (name in ("ProxPoint", "Jacobian")))
) | {"sparsebounds.certificates.leaf_bounds"}
"""Names that were dropped on purpose, with `prox` of all losses: no part of the solver used them,
and `verify` allows no difference any more, for which `leaf_bounds` returned the most."""

CERTIFICATES = ("leaves", "standardized", "ball", "tree", "logistic", "truncated", "shifted")


def signature(function: Callable[..., Any]) -> str:
    """The parameters of a function in parentheses; empty where it tells none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    shown, named = [], False
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            named = True
        elif one.kind is one.KEYWORD_ONLY and not named:
            named = True
            shown.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        shown.append(f"{star}{one.name}{'=' * (one.default is not one.empty)}")
    return f"({', '.join(shown)})"


def members(cls: type) -> Iterator[tuple[str, str]]:
    """(name, signature) of what a class offers; the signature of an attribute is empty."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("sparsebounds")]
    names = {name for base in own for name in (*base.__dict__, *inspect.get_annotations(base))}
    for name in sorted(names):
        if not name.startswith("_"):
            held = inspect.getattr_static(cls, name, None)
            function = getattr(cls, name, None)
            called = callable(function) and not isinstance(held, property)
            yield name, signature(function) if called else ""


def public() -> Iterator[str]:
    """Every public name of the package, with its signature where it has one."""
    modules = [name for name in sb.__all__ if inspect.ismodule(getattr(sb, name))]
    for holder in (sb, *(getattr(sb, name) for name in modules)):
        for name in holder.__all__:
            value, full = getattr(holder, name), f"{holder.__name__}.{name}"
            if inspect.ismodule(value) or not callable(value):
                yield full
                continue
            yield f"{full}{signature(value)}"
            if inspect.isclass(value):
                yield from (f"{full}.{member}{how}" for member, how in members(value))


def parsed(line: str) -> tuple[str, list[str] | None]:
    """A name and its parameters, as `signatures.py` writes them."""
    name, bracket, rest = line.partition("(")
    return name, [one for one in rest.rstrip(")").split(", ") if one] if bracket else None


def positional(parameters: list[str]) -> list[str]:
    """Those that need no name."""
    names = [one.rstrip("=") for one in parameters]
    return next((names[:i] for i, one in enumerate(names) if one.startswith("*")), names)


def test_every_name_is_there_and_called_as_it_was() -> None:
    now = dict(parsed(line) for line in public())
    wrong = []
    for name, before in map(parsed, (HERE / "names.txt").read_text().splitlines()):
        if name in GONE or (name.startswith("sparsebounds.losses.") and name.endswith(".prox")):
            continue
        after = now.get(name)
        if name not in now or (before is None) != (after is None):
            wrong.append(f"{name} is gone, or is called otherwise")
        elif before is not None and after is not None:
            optional = {one.rstrip("=") for one in after if one.endswith("=") or one[0] == "*"}
            known = {one.rstrip("=") for one in before}
            lost = known - {one.rstrip("=") for one in after} - {"*"}
            asked = {one for one in after if one not in known and one not in optional} - {
                f"{one}=" for one in optional
            }
            moved = positional(after)[: len(positional(before))] != positional(before)
            if lost or asked or moved:
                wrong.append(f"{name}: lost {lost}, newly asked for {asked}, moved: {moved}")
    assert not wrong, "\n".join(wrong)


def data_of(name: str) -> tuple[Any, Any]:
    with np.load(HERE / ("hard.npz" if name in ("shifted", "search") else "data.npz")) as held:
        return held["X"], held["classes" if name == "logistic" else "y"]


@pytest.mark.parametrize("name", CERTIFICATES)
def test_its_certificates_verify(name: str) -> None:
    certificate = sb.Certificate.load(HERE / f"{name}.json")
    verdict = certificate.verify(*data_of(name))
    # Claims of version 0.1 hold no margin for another processor's order of summation.
    assert verdict or verdict.lower == pytest.approx(certificate.lower, rel=1e-13), verdict.message


def test_its_search_goes_on(tmp_path: Path) -> None:
    file = shutil.copy(HERE / "search.ckpt", tmp_path / "search.ckpt")
    X, y = data_of("search")
    found = sb.solve(X, y, l0=0.15, ridge=0.01, exact=True, checkpoint=file)
    afresh = sb.solve(X, y, l0=0.15, ridge=0.01, exact=True)
    assert found.status == "optimal"
    assert found.upper == pytest.approx(afresh.upper, rel=1e-12)
    assert found.certificate.verify(X, y)


def test_its_path_goes_on(tmp_path: Path) -> None:
    file = shutil.copy(HERE / "path.ckpt", tmp_path / "path.ckpt")
    X, y = data_of("path")
    passes: list[Any] = []
    found = sb.path(X, y, ks=range(1, 7), ridge=0.05, checkpoint=file, callback=passes.append)
    afresh = sb.path(X, y, ks=range(1, 7), ridge=0.05)
    assert not passes, "every point was in the file"
    assert [one.upper for one in found] == pytest.approx([one.upper for one in afresh], rel=1e-12)
    assert all(one.certificate.verify(X, y) for one in found)
