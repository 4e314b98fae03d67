"""Leaves of which all supports of up to three groups are tried: what they prove, and forgeries."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import exhaustive
from sparsebounds.certificates.codec import decode, encode
from sparsebounds.models import refit

RNG = np.random.default_rng(8)
SIZES = np.array([1, 4, 2, 3, 1, 2, 4, 3, 2, 1, 3, 2])
GROUPS = np.repeat(np.arange(len(SIZES)), SIZES)
X = RNG.normal(size=(40, len(GROUPS))) + 0.7 * RNG.normal(size=(40, 1))
X[:, GROUPS == 7] = X[:, GROUPS == 3] + 0.1 * RNG.normal(size=(40, 3))
Y = X @ np.repeat(RNG.normal(size=len(SIZES)), SIZES) + 3.0 * RNG.normal(size=40)


def optimum(k: int, **options: Any) -> float:
    """The least objective of all supports of k groups."""
    program = sb.Program(X, Y, k=k, groups=GROUPS, **options)
    every = itertools.combinations(range(len(SIZES)), k)
    supports = (np.flatnonzero(np.isin(GROUPS, some)) for some in every)
    return min(refit(program, support).value for support in supports)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_leaf(k: int) -> None:
    found = sb.solve(X, Y, k=k, ridge=0.01, groups=GROUPS, exact=True)
    tree = found.certificate.tree
    assert tree is not None
    assert tree.exhausted.tolist() == [0]
    best = optimum(k, ridge=0.01)
    assert best - 1e-8 * best <= found.lower <= best <= found.upper + 1e-12 * best
    assert decode(encode(found.certificate).encode()).verify(X, Y).ok


@pytest.fixture(scope="module")
def searched() -> sb.Solution:
    found = sb.solve(X, Y, k=5, ridge=0.001, fit_intercept=True, groups=GROUPS, exact=True)
    assert found.status == "optimal"
    assert found.certificate.tree is not None
    assert len(found.certificate.tree.exhausted) > 1
    return found


def test_a_tree(searched: sb.Solution) -> None:
    best = optimum(5, ridge=0.001, fit_intercept=True)
    assert searched.lower <= best <= searched.upper + 1e-12 * best
    verdict = searched.certificate.verify(X, Y)
    assert verdict.ok
    assert verdict.lower <= best


def test_forged_lists_of_leaves(searched: sb.Solution) -> None:
    tree, lower = searched.certificate.tree, searched.certificate.verify(X, Y).lower
    assert tree is not None
    leaves = np.setdiff1d(np.arange(tree.size), tree.parent)

    def verified(nodes: Any) -> Any:
        forged = replace(tree, exhausted=np.array(nodes, dtype=np.int64))
        return replace(searched.certificate, tree=forged).verify(X, Y)

    assert "claims the lower bound" in verified([]).message
    for node in tree.exhausted:
        assert verified(np.setdiff1d(tree.exhausted, node)).lower <= lower
    best = optimum(5, ridge=0.001, fit_intercept=True)
    for node in leaves:
        verdict = verified(np.union1d(tree.exhausted, node))
        assert "too many supports to try them all" in verdict.message or verdict.lower <= best


def test_other_groups_prove_something_else(searched: sb.Solution) -> None:
    """With groups of which more features are in, a model is better than the claim."""
    certificate = searched.certificate
    merged = certificate.problem.groups.copy()
    merged[GROUPS == 3] = merged[np.flatnonzero(GROUPS == 2)[0]]
    problem = replace(certificate.problem, groups=merged, group_names=())
    better = sb.solve(X, Y, k=5, ridge=0.001, fit_intercept=True, groups=merged, exact=True)
    assert better.upper < searched.lower
    assert not replace(certificate, problem=problem).verify(X, Y).ok


def test_too_many_choices(searched: sb.Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bounds leave too many, nobody tries: the search splits, and `verify` refuses."""
    monkeypatch.setattr(exhaustive, "MOST_FACTORED", 100.0)
    verdict = searched.certificate.verify(X, Y)
    assert not verdict.ok
    assert "too many supports to try them all" in verdict.message
    other = sb.solve(X, Y, k=5, ridge=0.001, fit_intercept=True, groups=GROUPS, exact=True)
    assert other.status == "optimal"
    assert other.upper == pytest.approx(searched.upper, rel=1e-9)
    assert other.certificate.verify(X, Y).ok


def test_the_list_of_good_models() -> None:
    """Every support of up to 3 groups within 5% of the null objective is listed, and no other."""
    program = sb.Program(X, Y, k=3, groups=GROUPS, ridge=0.01)
    every = itertools.chain(*(itertools.combinations(range(len(SIZES)), s) for s in range(4)))
    values = {some: refit(program, np.flatnonzero(np.isin(GROUPS, some))).value for some in every}
    best = min(values.values())
    found = sb.near_optimal(program, eps=0.05)
    listed = {tuple(np.unique(GROUPS[list(support)]).tolist()) for support in found.supports}
    near = {some for some, value in values.items() if value <= best + 0.05 * program.null}
    assert len(near) > 3
    assert listed == near
