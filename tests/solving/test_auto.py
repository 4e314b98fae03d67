"""exact="auto": a search for a bounded amount of work, the same wherever and whenever it runs."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.certificates import tree_bound
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import SearchProgress, search
from sparsebounds.program import Form
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

HARD = make_correlated(60, 40, 0.9, nonzeros=8, random_state=0)


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_it_encloses_the_optimum(form: Form, loss: str) -> None:
    for seed in seeds(4 if loss == "logistic" or "ball" in form else 20, "auto", loss, form):
        program = random_program(
            seed, loss=loss, form=form, fit_intercept=bool(seed % 2), most_rows=16, most_columns=6
        )
        optimum = brute_force(program).value
        scale = max(abs(optimum), abs(program.null), 1e-300)
        for exact in (False, "auto"):
            found = solve_program(program, exact=exact)
            assert found.lower <= optimum
            assert found.upper >= optimum - 1e-9 * scale
            tree = found.certificate.tree
            if tree is not None:
                assert found.lower <= tree_bound(program, tree) <= optimum
        # A few nodes do for so few features.
        assert found.null_gap <= 1e-4
        assert found.upper <= optimum + 1e-4 * scale


def nodes_of(**options: Any) -> tuple[int, float, float, list[int]]:
    seen: list[int] = []

    def watch(now: Any) -> None:
        if isinstance(now, SearchProgress):
            seen.append(now.nodes)

    found = sb.solve(HARD.X, HARD.y, callback=watch, **options)
    return found.stats.nodes, found.lower, found.upper, seen


@pytest.mark.parametrize("terms", [{"k": 8, "ridge": 0.03}, {"l0": 0.1, "ridge": 0.05}])
def test_it_depends_on_no_clock(terms: dict[str, Any]) -> None:
    first = nodes_of(**terms)
    assert first[0] > 10
    assert nodes_of(**terms, time_limit=1000.0) == first


def test_its_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = {"k": 8, "ridge": 0.01}
    whole = sb.solve(HARD.X, HARD.y, **terms, exact=True)
    nothing = sb.solve(HARD.X, HARD.y, **terms, exact=False)
    monkeypatch.setattr(search, "EFFORT", 5e7)
    part = sb.solve(HARD.X, HARD.y, **terms)
    assert (whole.status, part.status, nothing.status) == ("optimal", "bounded", "bounded")
    assert 0 == nothing.stats.nodes < part.stats.nodes < 120 < whole.stats.nodes
    assert nothing.lower <= part.lower < whole.lower
    assert " open of " in part.message
    assert part.certificate.verify(HARD.X, HARD.y).ok
    # To the end means to the end.
    assert sb.solve(HARD.X, HARD.y, **terms, exact=True).stats.nodes == whole.stats.nodes


def test_a_search_that_does_not_get_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_correlated(40, 60, 0.9, nonzeros=8, random_state=0)
    terms = {"l0": 0.02, "ridge": 0.005}
    monkeypatch.setattr(search, "EFFORT", 2e8)
    given_up = sb.solve(data.X, data.y, **terms)
    monkeypatch.setattr(search, "STEADY", 0.0)
    patient = sb.solve(data.X, data.y, **terms)
    assert 0 < given_up.stats.nodes < 0.6 * patient.stats.nodes
    assert given_up.status == patient.status == "bounded"
    assert given_up.lower <= patient.lower <= patient.upper <= given_up.upper


def test_node_limits_hold_too() -> None:
    found = sb.solve(HARD.X, HARD.y, k=8, ridge=0.01, node_limit=1)
    assert found.stats.nodes <= 16
    assert found.status == "bounded"


@pytest.mark.parametrize("value", ["yes", "Auto", None, 2, 1.0])
def test_other_words_are_refused(value: Any) -> None:
    with pytest.raises((InputError, TypeError), match="exact="):
        sb.solve(np.eye(3), np.arange(3.0), k=1, ridge=0.1, exact=value)
