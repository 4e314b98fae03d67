"""The bound at the root: below the optimum, not below the plain one, and a proof."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from tests.cases import seeds

import sparsebounds as sb
from sparsebounds._support.deadline import NEVER, Deadline
from sparsebounds.certificates import tree_bound
from sparsebounds.datasets import make_correlated
from sparsebounds.exact.root import RootProof, _at_level, root_proof
from sparsebounds.models import Search
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.proof import with_tree
from sparsebounds.testing import brute_force, random_program


def proved(program: Program, **more: Any) -> tuple[RootProof | None, float]:
    relaxed = relax(program)
    model = Search(program, relaxed).run()
    return root_proof(program, relaxed, model, more.pop("goal", np.inf), **more), relaxed.lower


def correlated(seed: int, form: Form) -> Program:
    """Columns that the relaxation takes in part, of other lengths."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(25, 6)) + rng.normal(size=(25, 1))) * 10.0 ** rng.uniform(-1, 1, 6)
    y = X @ rng.normal(size=6) + rng.normal(size=25)
    terms: dict[str, Any] = {"k": 2} if form.startswith("k") else {"l0": 0.1 * float(np.var(y))}
    terms |= {"ridge": 0.05} if form.endswith("ridge") else {"ball": 1.0}
    weights = rng.uniform(0.5, 2.0, 25) if seed % 4 == 1 else None
    return Program(X, y, fit_intercept=seed % 4 == 3, sample_weight=weights, **terms)


@pytest.mark.parametrize("form", get_args(Form))
def test_it_is_a_bound(form: Form) -> None:
    count = 0
    for seed in seeds(8 if "ball" in form else 16, "root", form):
        program = random_program(seed, form=form, fit_intercept=bool(seed % 2), most_rows=30)
        if seed % 2:
            program = correlated(seed, form)
        proof, plain = proved(program)
        if proof is None:
            continue
        count += 1
        optimum = brute_force(program)
        assert plain < proof.lower <= optimum.value
        assert proof.tree.size == 1
        assert proof.lower == tree_bound(program, proof.tree, claim=True)
        assert proof.lower <= tree_bound(program, proof.tree)
    assert count >= 3


def counted(seed: int, loss: str, form: Form) -> Program:
    """The same for classes and counts: separable ones among them, with weights, with an offset."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(30, 5)) + rng.normal(size=(30, 1))) * 10.0 ** rng.uniform(-1, 1, 5)
    z = X / np.abs(X).max(axis=0) @ rng.normal(size=5) * (30.0 if seed % 8 == 7 else 2.0)
    y = np.where(rng.random(30) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(z, -3.0, 3.0))).astype(float)
    y[:2] = 1.0, -1.0 if loss == "logistic" else 0.0
    terms: dict[str, Any] = {"k": 2} if form.startswith("k") else {"l0": 0.02}
    more: dict[str, Any] = {
        "sample_weight": rng.uniform(0.5, 2.0, 30) if seed % 8 == 1 else None,
        "offset": rng.normal(size=30) if seed % 8 == 3 else None,
        "standardize": seed % 8 == 5,
    }
    return Program(X, y, loss=loss, ridge=0.02, fit_intercept=seed % 4 == 3, **terms, **more)


@pytest.mark.filterwarnings("ignore::sparsebounds.relaxation.RelaxationWarning")
@pytest.mark.parametrize("form", ["k+ridge", "l0+ridge"])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_on_a_region_it_is_a_bound(loss: str, form: Form) -> None:
    """Where the level is below the optimum, and, by the curvature alone, where it is above."""
    count = above = 0
    for seed in seeds(8, "region root", loss, form):
        program = random_program(
            seed, loss=loss, form=form, fit_intercept=bool(seed % 4 // 2), most_rows=20
        )
        if seed % 2:
            program = counted(seed, loss, form)
        proof, plain = proved(program)
        if proof is not None:
            count += 1
            optimum = brute_force(program).value
            assert plain < proof.lower <= optimum
            assert proof.lower == tree_bound(program, proof.tree, claim=True)
            assert proof.lower <= tree_bound(program, proof.tree) <= optimum
        if program.never.all():
            continue
        relaxed, optimum = relax(program), brute_force(program).value
        for part in (1e-3, 1.0):
            level = optimum + part * max(optimum - relaxed.lower, 1e-3 * abs(optimum))
            found = _at_level(program, relaxed, level, np.inf, 0.0, NEVER)
            proof = None if found is None else found.proof(program, relaxed)
            if proof is not None:
                above += 1
                assert proof.lower <= tree_bound(program, proof.tree) <= optimum
    assert count >= 3
    assert above >= 3


@pytest.mark.parametrize(
    "terms",
    [
        {"k": 5, "ridge": 0.05},
        {"l0": 0.05, "ridge": 0.05, "fit_intercept": True},
        {"k": 5, "ball": 4.0},
        {"l0": 0.05, "ball": 8.0, "always": [3]},
        {"k": 5, "ridge": 0.05, "positive": np.arange(30) < 3, "never": [4]},
    ],
)
def test_it_closes_much_of_the_gap_and_verifies(terms: dict[str, Any], tmp_path: Any) -> None:
    data = make_correlated(80, 30, 0.6, nonzeros=6, random_state=0)
    program = Program(data.X, data.y, **terms)
    relaxed = relax(program)
    model = Search(program, relaxed).run()
    proof = root_proof(program, relaxed, model, np.inf)
    assert proof is not None
    assert model.value - proof.lower < 0.8 * (model.value - relaxed.lower)
    certificate = with_tree(program, model, proof.tree, proof.lower)
    certificate.save(tmp_path / "c.json")
    assert sb.Certificate.load(tmp_path / "c.json").verify(data.X, data.y).ok
    assert not sb.Certificate.load(tmp_path / "c.json").verify(data.X[::-1], data.y).ok


def test_solve_and_certify_use_it() -> None:
    data = make_correlated(80, 30, 0.6, nonzeros=6, random_state=0)
    solution = sb.solve(data.X, data.y, k=5, ridge=0.05, exact=False)
    assert solution.lower > solution.relaxation.lower
    tree = solution.certificate.tree
    assert tree is not None
    assert (tree.size, solution.stats.nodes) == (1, 0)
    certificate = sb.certify(solution.program, solution.coef)
    assert certificate.lower == pytest.approx(solution.lower, rel=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_other_losses_close_much_of_the_gap(loss: str) -> None:
    data = make_correlated(300, 12, 0.6, nonzeros=6, random_state=0)
    rng, z = np.random.default_rng(0), data.X @ data.coef
    y = np.where(rng.random(300) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
    if loss == "poisson":
        y = rng.poisson(np.exp(0.2 * z)).astype(float)
    program = Program(data.X, y, k=4, ridge=0.01, loss=loss, fit_intercept=True)
    relaxed = relax(program)
    solution = sb.solve(data.X, y, k=4, ridge=0.01, loss=loss, fit_intercept=True, exact=False)
    assert solution.upper - solution.lower < 0.7 * (solution.upper - relaxed.lower)
    assert solution.certificate.verify(data.X, y).ok
    # A goal that the first level reaches is enough.
    model = Search(program, relaxed).run()
    near = relaxed.lower + 0.1 * (model.value - relaxed.lower)
    proof = root_proof(program, relaxed, model, near)
    assert proof is not None
    assert near <= proof.lower <= solution.lower
    (point,) = sb.path(data.X, y, ks=[4], ridge=0.01, loss=loss, fit_intercept=True, exact=False)
    assert point.lower == pytest.approx(solution.lower, rel=1e-3)


def test_where_there_is_none() -> None:
    data = make_correlated(80, 30, 0.6, nonzeros=6, random_state=0)
    few = Program(data.X, data.y, k=2, ridge=0.05)
    assert proved(few)[0] is not None
    # A search would try all pairs at once.
    assert proved(few, alone=False)[0] is None
    late = Deadline.of(1e-9)
    for program, more in (
        (Program(data.X, data.y, k=5, ridge=0.05, loss="huber"), {}),
        (Program(data.X, data.y, k=5, ridge=0.05), {"deadline": late}),
        (Program(data.X, data.y, k=5, ridge=0.05, never=list(range(30))), {}),
        (Program(data.X[:20], data.y[:20], k=5, ridge=0.05), {}),
    ):
        assert proved(program, **more)[0] is None
