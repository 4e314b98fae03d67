"""Advice on wide gaps: every number is what solving again proves; none is given without need."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.decimals import percent_up
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import Outlook
from sparsebounds.solving.advice import ALIKE, HELPS, SHARE, TOLD, WIDE

DATA = make_correlated(40, 30, 0.5, nonzeros=6, random_state=1)
NUMBER = r"[\d.]+(?:e-?\d+)?"


def proved(X: Any, y: Any, nodes: int = 0, **problem: Any) -> float:
    """The gap that a certificate proves, from what `verify` finds in it."""
    how = {"exact": "auto", "node_limit": nodes} if nodes else {"exact": False}
    solution = sb.solve(X, y, **how, **problem)
    verdict = solution.certificate.verify(X, y)
    assert verdict.ok
    return float((verdict.upper - verdict.lower) / abs(verdict.upper))


def told(sentences: tuple[str, ...], pattern: str) -> re.Match[str]:
    """The one sentence that matches."""
    (found,) = filter(None, (re.search(pattern, sentence) for sentence in sentences))
    return found


def test_a_narrow_gap_needs_none() -> None:
    solution = sb.solve(DATA.X, DATA.y, k=3, ridge=0.3)
    assert solution.rel_gap <= WIDE
    assert solution.advice() == ()


@pytest.mark.parametrize("terms", [{"k": 6}, {"l0": 0.02}], ids=["k", "l0"])
def test_a_larger_ridge_proves_what_it_is_said_to_prove(terms: dict[str, Any]) -> None:
    solution = sb.solve(DATA.X, DATA.y, ridge=0.003, exact=False, **terms)
    assert solution.rel_gap > WIDE
    said = solution.advice()
    ridge, own, gap = told(
        said, rf"^With ridge=({NUMBER}) in place of ({NUMBER}) the gap would be at most ({NUMBER}%)"
    ).groups()
    assert float(own) == 0.003
    assert float(ridge) in (0.009, 0.03)
    by_hand = proved(DATA.X, DATA.y, ridge=float(ridge), **terms)
    assert gap == percent_up(by_hand)
    assert by_hand <= HELPS * solution.rel_gap
    if float(ridge) == 0.03:
        assert proved(DATA.X, DATA.y, ridge=0.009, **terms) > HELPS * solution.rel_gap


def test_after_a_search_the_others_are_searched_for_a_part_of_its_nodes() -> None:
    terms: dict[str, Any] = {"k": 12, "ridge": 0.0002}
    solution = sb.solve(DATA.X, DATA.y, exact=True, node_limit=60, **terms)
    others = [
        ({"ridge": 3 * 0.0002}, "ridge=0.0006 in place of 0.0002"),
        ({"ridge": 10 * 0.0002}, "ridge=0.002 in place of 0.0002"),
        *(({"k": k}, f"k={k} in place of 12") for k in (11, 13, 6, 18)),
    ]
    nodes = int(SHARE * solution.stats.nodes)
    gaps = [(proved(DATA.X, DATA.y, nodes, **terms | other), words) for other, words in others]
    helping = [pair for pair in gaps if pair[0] <= HELPS * solution.rel_gap]
    gap, words = helping[0] if helping else min(gaps)
    assert gap <= TOLD * solution.rel_gap
    assert solution.advice()[1] == f"With {words} the gap would be at most {percent_up(gap)}."


def test_a_ridge_per_feature_is_told_as_a_multiple() -> None:
    ridge = np.linspace(0.002, 0.004, 30)
    solution = sb.solve(DATA.X, DATA.y, ridge=ridge, k=6, exact=False)
    factor, gap = told(
        solution.advice(), rf"^With ({NUMBER}) times the ridge the gap would be at most ({NUMBER}%)"
    ).groups()
    assert gap == percent_up(proved(DATA.X, DATA.y, ridge=float(factor) * ridge, k=6))


def test_another_k_proves_what_it_is_said_to_prove() -> None:
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.normal(size=(40, 12)))[0] * np.sqrt(40)
    y = X[:, 0] + X[:, 1] + X[:, 2] + X[:, 3] + 0.01 * rng.normal(size=40)
    problem = {"ball": 3.9, "exact": False}
    solution = sb.solve(X, y, k=3, **problem)
    assert solution.rel_gap > WIDE
    found = told(
        solution.advice(), r"^With k=(\d+) in place of 3 the model would be proved optimal"
    )
    assert proved(X, y, k=int(found[1]), ball=3.9) <= 1e-4


def test_columns_that_are_nearly_equal_are_named() -> None:
    rng = np.random.default_rng(2)
    X = DATA.X.copy()
    true = np.flatnonzero(DATA.coef)
    X[:, 25] = -2.0 * X[:, true[0]]
    X[:, 26] = X[:, true[1]] + 0.02 * rng.normal(size=40)
    names = [f"x{i}" for i in range(30)]
    terms: dict[str, Any] = {"k": 6, "ridge": 0.003, "fit_intercept": True}
    solution = sb.solve(X, DATA.y, feature_names=names, exact=False, **terms)
    said = solution.advice()
    pairs = re.findall(r"'x(\d+)' from 'x(\d+)' \(correlation (-?[\d.]+)\)", said[-1])
    assert {(int(i), int(j)) for i, j, _ in pairs} == {(true[0], 25), (true[1], 26)}
    for i, j, shown in pairs:
        by_hand = np.corrcoef(X[:, int(i)], X[:, int(j)])[0, 1]
        assert shown == f"{by_hand:.3f}"
        assert abs(by_hand) >= ALIKE
    assert "leave 'x25' and 'x26' out" in said[-1]
    rest = [i for i in range(30) if i not in (25, 26)]
    less = proved(X[:, rest], DATA.y, **terms)
    match = re.search(rf"the gap would be at most ({NUMBER}%)", said[-1])
    assert (match is not None) == (less <= TOLD * solution.rel_gap)
    assert match is None or match[1] == percent_up(less)
    assert not any("apart" in words for words in sb.solve(DATA.X, DATA.y, **terms).advice())


def test_it_tells_what_the_search_is_expected_to_take() -> None:
    solution = sb.solve(DATA.X, DATA.y, k=12, ridge=0.001, exact=True, node_limit=50)
    assert isinstance(solution.outlook, Outlook)
    assert solution.rel_gap > WIDE
    assert solution.outlook.nodes == solution.stats.nodes
    assert solution.advice()[0] == solution.outlook.words
    assert solution.outlook.words in solution.message
    assert sb.solve(DATA.X, DATA.y, k=3, ridge=0.3, exact=True).outlook is None


@pytest.mark.parametrize(
    "problem",
    [
        {"k": 0, "ridge": 0.01},
        {"k": 1, "ridge": 0.01, "columns": 1},
        {"k": 2, "ball": 0.5},
        {"l0": 0.001, "ball": 50.0},
        {"k": 1, "ridge": 0.001, "loss": "tukey", "columns": 2},
        {"k": 30, "ridge": 1e-6},
        {"k": 4, "ridge": 1e-4, "always": [0], "never": [1, 2]},
    ],
)
def test_no_problem_is_too_odd(problem: dict[str, Any]) -> None:
    X = DATA.X[:, : problem.pop("columns", 30)]
    solution = sb.solve(X, DATA.y, exact=False, **problem)
    said = solution.advice()
    assert len(said) <= 3
    assert said == solution.advice()
    assert bool(said) <= (solution.rel_gap > WIDE)


def test_without_time_or_data_nothing_is_solved() -> None:
    solution = sb.solve(DATA.X, DATA.y, k=6, ridge=0.003, exact=False)
    assert solution.advice(time_limit=1e-9) == ()
    without = pickle.loads(pickle.dumps(solution))
    with pytest.raises(ValueError, match="pass the problem to advice as program="):
        without.advice()
    program = sb.Program(DATA.X, DATA.y, k=6, ridge=0.003)
    assert without.advice(program=program) == solution.advice()
