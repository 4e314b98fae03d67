"""Claims: every storage proves what a certificate claims, and no storage a little more."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
import scipy.sparse as sp

import sparsebounds as sb
from sparsebounds.bounds import Node, dual_point, enclosed
from sparsebounds.certificates import Certificate, Leaf
from sparsebounds.certificates.tree import dual_slips, dual_vectors, tree_bound
from sparsebounds.matrices import DenseMatrix
from sparsebounds.testing import brute_force


def storages(X: np.ndarray, folder: Path) -> Iterator[Any]:
    yield X
    yield np.asfortranarray(X)
    yield np.repeat(X, 2, axis=1)[:, ::2]
    yield sp.csr_array(X)
    yield dask.array.from_array(X, chunks=(len(X) // 2, 2))
    np.save(folder / "X.npy", X)
    yield np.load(folder / "X.npy", mmap_mode="r")
    if np.array_equal(X, X.astype(np.float32)):
        yield X.astype(np.float32)


def columns(kind: str, n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(n, m))
    if kind == "scales":
        return X * np.logspace(-8, 8, m)
    if kind == "far":
        return X + np.where(np.arange(m) % 2, 2.0**50, 0.0)
    return X.astype(np.float32).astype(np.float64)


PROBLEMS: list[dict[str, Any]] = [
    {"k": 2, "ridge": 0.1},
    {"k": 2, "ridge": 0.01, "exact": True},
    {"l0": 0.02, "ridge": 0.05, "exact": True, "fit_intercept": True},
    {"l0": 0.02, "ball": 1.0, "fit_intercept": True, "standardize": True},
    {"k": 2, "ball": 0.5, "exact": True, "loss": "huber"},
    {"l0": [0.02, 0.01, 0.03, 0.02, 0.05], "ball": 0.5, "exact": True},
    {"k": 2, "ridge": 0.05, "exact": True, "loss": "logistic", "fit_intercept": True},
    {"k": 2, "ridge": 0.05, "loss": "cauchy", "fit_intercept": True},
    {"l0": 0.01, "ball": 0.5, "loss": "tukey"},
]


def certified(
    kind: str, X: Any, y: np.ndarray, weights: np.ndarray | None, problem: dict[str, Any]
) -> Certificate:
    """From `solve`; on columns that are far from 0, from a dual vector that makes scores cancel."""
    if kind != "far":
        solution = sb.solve(X, y, sample_weight=weights, tol=1e-9, node_limit=30, **problem)
        certificate = solution.certificate
        assert (solution.lower, solution.upper) == (certificate.lower, certificate.upper)
        return certificate
    terms = {name: value for name, value in problem.items() if name != "exact"}
    program = sb.Program(X, y, sample_weight=weights, **terms)
    convex = enclosed(program)
    point = dual_point(convex, convex.F.gradient(np.full(len(y), program.null_intercept)))
    return Certificate.build(program, [point.t], [Leaf(Node(), 0)], np.zeros(program.m))


@pytest.mark.parametrize("kind", ["plain", "scales", "far"])
def test_every_storage_proves_the_claims(kind: str, tmp_path: Path) -> None:
    """Each certificate, made on one storage, holds on the others; an ulp more does not."""
    trees = 0
    for i, problem in enumerate(PROBLEMS):
        rng = np.random.default_rng(i)
        X = columns(kind, 24, 5, rng)
        y = X[:, 0] / np.std(X[:, 0]) + 0.5 * rng.normal(size=24)
        if problem.get("loss") == "logistic":
            y = np.where(y > np.median(y), 1.0, -1.0)
        weights = rng.uniform(0.5, 2.0, 24) if i % 2 else None
        made_on = list(storages(X, tmp_path))
        certificate = certified(kind, made_on[i % len(made_on)], y, weights, problem)
        trees += certificate.tree is not None
        for X_ in made_on:
            verdict = certificate.verify(X_, y, weights)
            assert verdict.ok, (problem, verdict.message)
            assert certificate.lower <= verdict.lower
            assert verdict.upper <= certificate.upper
        for claims in (
            {"lower": math.nextafter(verdict.lower, math.inf)},
            {"lower": verdict.lower + 1e-10 * abs(verdict.upper)},
            {"lower": 2.0 * certificate.upper + 1.0, "upper": certificate.upper},
            {"upper": math.nextafter(verdict.upper, -math.inf)},
        ):
            forged = dataclasses.replace(certificate, **claims)
            assert not forged.verify(made_on[-1], y, weights).ok
    assert trees > 0 or kind == "far"


def test_every_storage_has_the_scales_of_every_other(tmp_path: Path) -> None:
    """Means of 1e14 are rounded to 1/64, in every order otherwise; the scale is 1/2."""
    unlike = 0.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
        X[:, 1] = 1e14 + rng.integers(0, 2, 12)
        made_on, scales = list(storages(X, tmp_path)), []
        for X_ in made_on:
            program = sb.Program(X_, y, k=1, ridge=0.1, fit_intercept=True, standardize=True)
            t = dual_point(program, program.F.gradient(np.zeros(12))).t
            certificate = Certificate.build(program, [t], [Leaf(Node(), 0)], np.zeros(3))
            assert all(certificate.verify(other, y).ok for other in made_on)
            center, scale = certificate.problem.standardize
            scales.append(scale)
            for factor in (1.0 - 1e-5, 1.0 + 1e-5, 1e-9):
                other = (center, scale * [1.0, factor, 1.0])
                problem = dataclasses.replace(certificate.problem, standardize=other)
                forged = dataclasses.replace(certificate, problem=problem)
                assert "means and scales" in forged.verify(X, y).message
        unlike = max(unlike, float(np.max(np.ptp(scales, axis=0))))
    assert unlike > 1e-6


def test_a_null_objective_far_above_the_optimum() -> None:
    """Null 6e11, optimum 0.006: what is allowed is relative to neither."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = 1e6 * X[:, 0] + 0.1 * rng.normal(size=30)
    data = {"X": X, "y": y}
    solution = sb.solve(**data, k=1, ridge=1e-14, tol=1e-12)
    optimum = brute_force(sb.Program(**data, k=1, ridge=1e-14)).value
    assert solution.upper < 0.02 < 1e11 < solution.program.null
    assert 0.0 <= solution.lower <= optimum
    assert solution.certificate.verify(**data).ok
    for lower in (599.5, 1.0001 * solution.upper, solution.upper):
        forged = dataclasses.replace(solution.certificate, lower=lower)
        assert not forged.verify(**data).ok


def test_little_is_given_away() -> None:
    """The claim is within 1e-11 of the bound, for leaves and for trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 15))
    y = X[:, :4] @ np.ones(4) + rng.normal(size=60)
    for options in ({}, {"exact": True}, {"exact": True, "fit_intercept": True}):
        solution = sb.solve(X, y, k=4, ridge=0.1, tol=1e-9, **options)
        verdict = solution.certificate.verify(X, y)
        assert verdict.lower - 1e-11 * verdict.upper <= solution.lower
        assert solution.upper <= verdict.upper * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_vectors_in_another_order(loss: str, weighted: bool) -> None:
    """`dual_slips` bound how far dual vectors formed with columns in another order are off."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 40)) * np.logspace(-3, 3, 40)
    y = rng.poisson(2.0, 25) + 0.0
    if loss in ("logistic", "squared_hinge"):
        y = np.where(y > 1.0, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, 25) if weighted else None
    w, b = rng.normal(size=(3, 40)) / np.logspace(-3, 3, 40) / 10.0, rng.normal(size=3)
    moved = 0.0
    for intercept in (False, True):
        terms = {"loss": loss, "fit_intercept": intercept, "sample_weight": weights}
        program = sb.Program(X, y, k=3, ridge=0.1, **terms)
        t = dual_vectors(program, DenseMatrix(X), w, b)
        slips = dual_slips(program, DenseMatrix(X), w, b, t)
        for _ in range(10):
            order = rng.permutation(40)
            other = dual_vectors(program, DenseMatrix(X[:, order]), w[:, order], b)
            assert np.all(np.abs(other - t) <= slips)
            moved = max(moved, float(np.max(np.abs(other - t))))
        assert np.max(slips @ program.F.p) < 1e-11
    assert moved > 0.0


def test_tree_claims_are_below_the_bounds_of_any_order(tmp_path: Path) -> None:
    """Rows and columns in other orders: sums of everything are in other orders."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 12)) * np.logspace(-4, 4, 12)
    y = X @ (rng.normal(size=12) / np.logspace(-4, 4, 12)) + rng.normal(size=40)
    for intercept in (False, True):
        options = {"k": 3, "ridge": 1e-3, "fit_intercept": intercept}
        certificate = sb.solve(X, y, **options, exact=True, tol=1e-8).certificate
        assert certificate.tree is not None
        found = []
        for _ in range(5):
            order = rng.permutation(40)
            tree = dataclasses.replace(certificate.tree, removal=certificate.tree.removal[order])
            found.append(tree_bound(sb.Program(X[order], y[order], **options), tree))
        assert certificate.lower <= min(found)
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").verify(X, y).ok


def test_a_multiplier_at_a_price() -> None:
    """Where the best multiplier makes a gain exactly 0, rounding up must not make it positive."""
    X = np.array([[0.0, 1.0], [1.0, 0.9999999989376019], [1.0, 0.0]])
    data = {
        "X": X,
        "y": [-1.0, -1.0, 1.0],
        "sample_weight": [0.0006306342165164773, 1448850.4516658771, 2.998723480931555e-08],
        "offset": [-1.418222877021748, 0.8782230240445814, 1.0943777241527213],
    }
    form = {"l0": [0.02901117499096116, 0.1226955677893935], "ball": 0.08065170426200328}
    solution = sb.solve(**data, **form, loss="squared_hinge", fit_intercept=True, tol=1e-3)
    assert solution.certificate.verify(**data)
    assert solution.rel_gap <= 1e-4
