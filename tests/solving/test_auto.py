"""exact="auto": a search for a bounded amount of work, the same wherever and whenever it runs."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.bounds import Tried, exhaustive
from sparsebounds.certificates import tree_bound
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import SearchProgress, ridge, search
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


class Watched:
    """The operations of a search on 20 groups of 6 features, after each batch and each try."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 120))
        y = X[:, ::5].sum(axis=1) + 3.0 * rng.normal(size=40)
        self.batches: list[tuple[float, float]] = []
        """What nodes took, and what their supports took."""

        self.closed: list[float] = []
        """The share of the root's gap that was closed by then."""

        self.done: list[float] = []
        """What each try took that came to its end."""

        self.given_up: list[float] = []
        plain = ridge.RidgeBounder.exhaust

        def exhaust(bounder: ridge.RidgeBounder, *asked: Any) -> Tried | None:
            self.bounder, before, failed = bounder, bounder.trying, bounder.fruitless
            found = plain(bounder, *asked)
            if found is not None:
                self.done.append(bounder.trying - before)
            elif bounder.fruitless > failed:
                self.given_up.append(bounder.trying - before)
            return found

        def watch(now: Any) -> None:
            if isinstance(now, SearchProgress):
                node = 1e6 + 20.0 * self.bounder.program.m**2
                self.batches.append((now.nodes * node, self.bounder.trying))
                self.closed.append(now.outlook.closed)

        groups = np.repeat(np.arange(20), 6)
        with monkeypatch.context() as patch:
            patch.setattr(ridge.RidgeBounder, "exhaust", exhaust)
            self.found = sb.solve(
                X, y, k=5, ridge=0.02, groups=groups, callback=watch, tol=1e-6, **options
            )


def test_supports_of_groups_are_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "EFFORT", 4e8)
    auto = Watched(monkeypatch)
    assert auto.found.status == "bounded"
    # What is earned is used up in the last batch, and by both kinds of work.
    left = [
        (0.05 + closed) * 2e8 - sum(work)
        for closed, work in zip(auto.closed, auto.batches, strict=True)
    ]
    assert min(left[:-1]) > 0.0 >= left[-1]
    assert min(auto.batches[-1]) > 0.25 * sum(auto.batches[-1])
    assert auto.batches[-1][1] == pytest.approx(sum(auto.done), rel=1e-12)
    # Supports take no more than nodes, but for one try.
    assert all(tried <= nodes + max(auto.done) for nodes, tried in auto.batches)
    # A search to the end has no such limit.
    whole = Watched(monkeypatch, exact=True)
    assert whole.found.status == "optimal"
    nodes, tried = whole.batches[-1]
    assert tried > nodes + max(whole.done)


def test_groups_search_as_long_as_they_get_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "EFFORT", 4e8)
    short = Watched(monkeypatch)
    monkeypatch.setattr(search, "AHEAD", 1.0)
    patient = Watched(monkeypatch)
    used = sum(patient.batches[-1])
    assert sum(short.batches[-1]) < 0.8 * used
    assert sum(patient.batches[-2]) < 2e8 <= used
    assert short.found.lower <= patient.found.lower <= patient.found.upper


def test_tries_that_are_given_up_are_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "EFFORT", 4e8)
    monkeypatch.setattr(search, "AHEAD", 1.0)
    monkeypatch.setattr(exhaustive, "MOST_FACTORED", 100.0)
    auto = Watched(monkeypatch)
    assert len(auto.given_up) > 1
    assert min(auto.given_up) > 1e5
    assert auto.batches[-1][1] == pytest.approx(sum(auto.done + auto.given_up), rel=1e-12)


def test_supports_of_single_features_are_part_of_their_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms = {"k": 5, "ridge": 0.01}
    monkeypatch.setattr(search, "EFFORT", 5e7)
    before = nodes_of(**terms)
    assert before[0] > 10
    monkeypatch.setattr(ridge, "PASSES", 1e12)
    assert nodes_of(**terms) == before


def test_node_limits_hold_too() -> None:
    found = sb.solve(HARD.X, HARD.y, k=8, ridge=0.01, node_limit=1)
    assert found.stats.nodes <= 16
    assert found.status == "bounded"


@pytest.mark.parametrize("value", ["yes", "Auto", None, 2, 1.0])
def test_other_words_are_refused(value: Any) -> None:
    with pytest.raises((InputError, TypeError), match="exact="):
        sb.solve(np.eye(3), np.arange(3.0), k=1, ridge=0.1, exact=value)
