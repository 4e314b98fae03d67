"""The checker on groups: it accepts proofs, and what it accepts is true."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.checker.forgery import changed
from tests.checker.judges import Check, verdicts
from tests.checker.schema import SCHEMA, flaws
from tests.groups.test_groups import EVERY, programs

import sparsebounds as sb
from sparsebounds.certificates.codec import _checksum, encode
from sparsebounds.program import Program
from sparsebounds.solving import solve_program


def data_of(program: Program) -> dict[str, Any]:
    X = np.array(program.data.matrix.columns(np.arange(program.m)))
    given = {"X": X, "y": program.data.y, "sample_weight": program.weights}
    return given if program.offset is None else given | {"offset": program.offset}


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"sha256": _checksum(document)}


def test_certificates_of_groups_and_forgeries_of_them(check: Check) -> None:
    rng, told = np.random.default_rng(0), Counter[str]()
    for i, (loss, form) in enumerate(EVERY):
        for j, program in enumerate(programs(loss, form, 2)):
            found = solve_program(program, 1e-6, exact=bool((i + j) % 2))
            data, document = data_of(program), json.loads(encode(found.certificate))
            assert "groups" in document["problem"]
            assert not list(flaws(document, SCHEMA))
            assert check(document, data) == "", (loss, form)
            false = sealed(document | {"lower": found.upper + 1e-9 * (1.0 + abs(found.upper))})
            assert "it claims the lower bound" in check(false, data)
            del document["problem"]["group_names"]  # the reader counts them, and they say nothing
            for _ in range(3):
                theirs, ours = verdicts(changed(document, rng)[1], data, check)
                told[f"{bool(theirs)} {bool(ours)}"] += 1
                # `verify` lets a split name a group by any of its features.
                assert theirs or not ours or "that is not its first" in ours
    assert told["True True"] > 30
    assert told["False False"] > 10


def grouped(loss: str = "squared", **asked: Any) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 8))
    y = X @ np.repeat([1.0, 0.0, -1.0, 0.0], 2) + rng.normal(size=30)
    y = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    asked = {"k": 2, "ridge": 0.02} | asked
    found = sb.solve(X, y, loss=loss, groups=np.repeat(range(4), 2), **asked)
    return {"X": X, "y": y}, json.loads(encode(found.certificate))


@pytest.mark.parametrize("loss", ["squared", "logistic", "welsch", "truncated"])
def test_trees_regions_and_boxes_of_groups(loss: str, check: Check) -> None:
    data, document = grouped(loss, exact=loss == "squared")
    assert check(document, data) == ""
    above = sealed(document | {"lower": document["upper"] * 1.0001})
    assert "it claims the lower bound" in check(above, data)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_leaves_of_which_all_supports_are_tried(k: int, check: Check) -> None:
    """Groups of one to four columns, of which neighbours are alike; the checker tries them too."""
    rng = np.random.default_rng(k)
    groups = np.repeat(np.arange(9), rng.permutation([1, 1, 2, 2, 3, 3, 4, 1, 2]))
    X = np.cumsum(rng.normal(size=(24, len(groups))), axis=1)
    y = X @ rng.normal(size=len(groups)) + rng.normal(size=24)
    found = sb.solve(X, y, k=k, ridge=0.01, groups=groups, exact=True)
    data, document = {"X": X, "y": y}, json.loads(encode(found.certificate))
    assert len(document["tree"]["exhausted"]) > 0
    assert check(document, data) == ""
    above = sealed(document | {"lower": document["upper"] * (1.0 + 1e-6)})
    assert "it claims the lower bound" in check(above, data)
    tree = {name: x for name, x in document["tree"].items() if name != "exhausted"}
    assert "it claims the lower bound" in check(sealed(document | {"tree": tree}), data)


def test_groups_that_are_none_are_refused(check: Check) -> None:
    data, document = grouped()
    problem = document["problem"]
    for groups, words in (
        ([1, 1, 2, 2, 4, 4, 6, 6], "no first feature"),
        ([0, 0, 1, 2, 4, 4, 6, 6], "no first feature"),
        ([0, 0, 2, 2, 4, 4, 6, False], "no first feature"),
        ([0, 0, 2, 2], "one number per feature"),
        (None, "one number per feature"),
    ):
        assert words in check(sealed(document | {"problem": problem | {"groups": groups}}), data)
    part = problem | {"never": [7]}
    assert "a part of a group" in check(sealed(document | {"problem": part}), data)
    # What holds for pairs does not hold for larger groups.
    larger = problem | {"groups": [0, 0, 0, 0, 4, 4, 6, 6], "group_names": ["a", "b", "c"]}
    assert all(verdicts(sealed(document | {"problem": larger}), data, check))
    single = {name: x for name, x in problem.items() if name not in ("groups", "group_names")}
    assert check(sealed(document | {"problem": single}), data)
