"""The arguments of a problem: one table, in signatures, in documentation and in types."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputTypeError
from sparsebounds.arguments import TABLE, Arguments, CommonArguments

FIRST = ["k", "l0", "ridge", "ball", "loss"]


def test_table_and_types_agree() -> None:
    assert TABLE.keys() == Arguments.__annotations__.keys()
    assert TABLE.keys() - CommonArguments.__annotations__.keys() == {"k", "l0"}
    assert list(TABLE)[:5] == FIRST


@pytest.mark.parametrize("function", [sb.solve, sb.Program])
def test_a_problem_s_arguments_are_spelt_out(function: Any) -> None:
    shown = inspect.signature(function).parameters
    assert list(shown)[:7] == ["X", "y", *FIRST]
    for name, (default, sentence) in TABLE.items():
        assert shown[name].default == default
        kind = Arguments.__annotations__[name].__forward_arg__
        assert shown[name].annotation == kind
        said = f"{name} : {kind}, default {default!r}\n    {sentence.splitlines()[0]}\n"
        assert said in function.__doc__


def test_a_path_has_a_grid_in_place_of_k_and_l0() -> None:
    shown = inspect.signature(sb.path).parameters
    assert list(shown)[:7] == ["X", "y", "ks", "l0s", "ridge", "ball", "loss"]
    assert not {"k", "l0"} & shown.keys()
    assert "\nk : " not in sb.path.__doc__


@pytest.mark.parametrize(
    ("function", "given", "sentence"),
    [
        (sb.solve, {"timelimit": 3}, "solve has no argument 'timelimit'. Did you mean 'time_"),
        (sb.solve, {"rigde": 1.0, "kk": 1}, "solve has no argument 'rigde'. Did you mean 'ridge'?"),
        (sb.Program, {"time_limit": 3}, "Program has no argument 'time_limit'."),
        (sb.Program, {"offsets": 3, "x": 1}, "Program has no argument 'offsets'. Did you mean 'of"),
    ],
)
def test_other_names_are_refused(function: Any, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputTypeError) as caught:
        function(np.eye(3), np.arange(3.0), k=1, ridge=0.1, **given)
    assert str(caught.value).startswith(sentence)


P = sb.Program(np.eye(3), np.arange(3.0), k=1, ridge=0.1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sb.solve(np.eye(3), np.ones(3), 3), "as in solve(X, y, k=...)."),
        (lambda: sb.path(np.eye(3), np.ones(3), [1]), "as in path(X, y, ks=...)."),
        (lambda: sb.SparseRegressor(3, 0.1), "as in SparseRegressor(k, ball=...)."),
        (lambda: sb.SparseRegressor(kk=3), "SparseRegressor has no argument 'kk'. Did you mean"),
        (lambda: sb.SparseClassifierCV(rigdes=3), "CV has no argument 'rigdes'. Did you mean 'rid"),
        (lambda: sb.relax(np.eye(3), k=3), "program: relax(sb.Program(X, y, k=...))."),
        (lambda: sb.path(np.eye(3), ks=[1]), "path needs y"),
        (lambda: sb.path(P, ks=[1], ridge=1.0), "and ridge too"),
        (lambda: sb.certify(P, sb.SparseRegressor()), "without coefficients; call its fit(X, y)"),
    ],
)
def test_calls_that_cannot_be_say_how_they_can(call: Any, sentence: str) -> None:
    with pytest.raises(InputTypeError) as caught:
        call()
    assert sentence in str(caught.value)


def test_a_path_of_a_program_is_that_of_its_data() -> None:
    data = sb.datasets.make_correlated(30, 6, nonzeros=2)
    program = sb.Program(data.X, data.y, l0=1.0, ridge=0.1)
    whole = sb.path(data.X, data.y, ks=[1, 2], ridge=0.1)
    assert np.array_equal(sb.path(program, ks=[1, 2]).lower, whole.lower)
