"""Groups: every bound against exhaustive search over groups, every model whole."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import CertificateError, InputError
from sparsebounds.bounds import screen_at
from sparsebounds.certificates import TreeError, tree_bound
from sparsebounds.certificates.codec import decode, encode
from sparsebounds.groups import read_groups
from sparsebounds.losses import REGISTRY
from sparsebounds.penalties import Groups, KRidge, L0Ridge
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relaxation_of
from sparsebounds.solving import solve_program
from sparsebounds.testing import brute_force, random_program
from sparsebounds.testing._conic import conic_relaxation

FORMS: tuple[Form, ...] = ("k+ridge", "l0+ridge", "k+ball", "l0+ball")
EVERY = list(itertools.product(sorted(REGISTRY), FORMS))


def programs(loss: str, form: Form, count: int, columns: int = 6) -> list[Program]:
    """Programs with groups, the awkward ones included."""
    found: list[Program] = []
    seed = 1000 * EVERY.index((loss, form))
    while len(found) < count:
        seed += 1
        try:
            program = random_program(
                seed,
                loss=loss,
                form=form,
                fit_intercept=seed % 3 == 0,
                most_columns=columns,
                grouped=True,
            )
        except InputError:  # a group is always and never in
            continue
        if not program.groups.single:
            found.append(program)
    return found


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_bounds_hold_and_models_are_whole(loss: str, form: Form) -> None:
    for i, program in enumerate(programs(loss, form, 4)):
        optimum = brute_force(program)
        found = solve_program(program, 1e-6, exact=(False, "auto", True)[i % 3])
        assert found.lower <= optimum.value
        assert found.upper >= optimum.value - 1e-9 * max(1.0, abs(optimum.value))
        assert program.objective(found.coef, found.intercept) <= found.upper + 1e-11 * abs(
            found.upper
        )
        if i % 3 == 2:
            assert found.status == "optimal"
        counted = program.counted(found.support)
        assert program.k is None or len(counted) <= program.k
        stored = decode(encode(found.certificate).encode())
        X = program.data.matrix.columns(np.arange(program.m))
        given = {"sample_weight": program.weights, "offset": program.offset}
        assert stored.verify(X, program.response, **given).ok


@pytest.mark.parametrize(("loss", "form"), EVERY)
def test_the_relaxation_is_that_of_the_referee(loss: str, form: Form) -> None:
    pytest.importorskip("cvxpy")
    for program in programs(loss, form, 2):
        relaxed = relaxation_of(program, 1e-8)
        assert relaxed.status == "optimal"
        if np.ptp(np.log10(program.matrix.norms + 1e-300)) < 3.0:
            # The interior-point solver ends a little off its constraints.
            near = 5e-6 * max(abs(relaxed.value), abs(program.null)) + 1e-9
            assert conic_relaxation(program).value == pytest.approx(relaxed.value, abs=near)


def test_what_is_screened_holds_for_the_optimum() -> None:
    told = 0
    for loss, form in EVERY:
        for program in programs(loss, form, 2):
            optimum = brute_force(program)
            screened = screen_at(program, relaxation_of(program, 1e-8).point, optimum.value)
            used = program.groups.held(optimum.w != 0.0)
            assert not used[screened.fixed_out].any()
            assert used[screened.fixed_in].all()
            slack = 1e-9 * np.abs(optimum.w)
            assert np.all((optimum.w >= screened.low - slack)[used])
            assert np.all((optimum.w <= screened.high + slack)[used])
            told += len(screened.fixed_out) + len(screened.fixed_in)
    assert told > 50


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_paths_and_lists_of_models(loss: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 9))
    z = X[:, :3] @ [1.0, -1.0, 0.5] + 0.5 * X[:, 4]
    y = z + 0.3 * rng.normal(size=40) if loss == "squared" else np.where(z > 0, 1.0, -1.0)
    asked = {"loss": loss, "ridge": 0.05, "groups": [0, 0, 0, 1, 1, 2, 2, 3, 4]}
    for point in sb.path(X, y, ks=range(5), **asked):
        best = brute_force(sb.Program(X, y, k=point.k, **asked)).value
        assert point.lower <= best <= point.upper * (1.0 + 1e-12)
    program = sb.Program(X, y, k=2, **asked)
    near = sb.near_optimal(program, eps=0.1)
    assert near.complete
    values = {}
    for chosen in itertools.chain(*(itertools.combinations([0, 3, 5, 7, 8], i) for i in range(3))):
        columns = program.groups.whole(np.array(chosen, dtype=np.int64)).tolist()
        never = [j for j in range(9) if j not in columns]
        only = sb.Program(X, y, k=9, loss=loss, ridge=0.05, never=never, always=columns)
        values[tuple(columns)] = brute_force(only).value
    least = min(values.values())
    listed = {s for s, value in values.items() if value <= least + 0.1 * abs(program.null)}
    assert set(near.supports) == listed


def test_groups_of_one_change_nothing() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    for asked in ({"k": 3, "ridge": 0.1}, {"l0": 0.02, "ridge": 0.1}, {"k": 2, "ball": 1.0}):
        plain = sb.solve(X, y, **asked)
        same = sb.solve(X, y, groups=list("abcdefgh"), **asked)
        assert same.upper == plain.upper
        assert same.lower == plain.lower
        assert same.coef.tolist() == plain.coef.tolist()
        assert encode(same.certificate) == encode(plain.certificate)


def test_a_forged_part_of_a_group_is_refused() -> None:
    """A tree that decides about some columns of a group only proves nothing."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 8))
    y = X @ np.repeat([1.0, 0.0, -1.0, 0.0], 2) + rng.normal(size=30)
    asked = {"k": 2, "ridge": 0.02, "groups": np.repeat(range(4), 2)}
    found = sb.solve(X, y, exact=True, **asked)
    document = encode(found.certificate)
    assert '"groups"' in document
    with pytest.raises(CertificateError, match="checksum"):
        decode(document.replace('"groups": [', '"groups": [0,', 1).encode())
    tree = found.certificate.tree
    assert tree is not None
    program = sb.Program(X, y, **asked)
    assert tree_bound(program, tree) >= found.lower - 1e-9
    none = {"counts": 0 * tree.counts, "support": tree.support[:0], "values": tree.values[:0]}
    with pytest.raises(TreeError, match="part of a group"):
        tree_bound(program, replace(tree, kept=tree.kept[:-1], **none))


def test_penalties_of_groups() -> None:
    rng = np.random.default_rng(3)
    groups = Groups(np.array([0, 0, 2, 0, 2, 5]))
    ridge = rng.uniform(0.5, 2.0, 6)
    price = np.where(groups.lead, rng.uniform(0.1, 1.0, 6), 0.0)
    for penalty in (KRidge(2, ridge, groups=groups), L0Ridge(price, ridge, groups=groups)):
        for _ in range(20):
            w = rng.normal(size=6) * np.repeat(rng.random(3) < 0.7, 2)[[0, 0, 2, 0, 2, 5]]
            at, u = penalty.slopes(w), penalty.weights(w)
            assert np.all(u == groups.spread(u))
            step = 1e-6 * rng.normal(size=6) * (w != 0.0)
            change = penalty.value(w + step) - penalty.value(w - step)
            assert change / 2.0 == pytest.approx(float(at.gradient @ step), abs=1e-10)
            s = rng.normal(size=6)
            assert penalty.value(w) + penalty.conjugate(s) >= float(s @ w) - 1e-12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ab", "one label per column"),
        ([0, 1], "2 labels"),
        ([[0, 1], [1, 2]], "twice"),
        ([[0, 1], []], "empty"),
        ([[0, 1], 2], "lists and single"),
        ({"one": ["x"]}, "no column names"),
    ],
)
def test_what_is_wrong_is_said(given: object, words: str) -> None:
    with pytest.raises((InputError, TypeError), match=words):
        sb.Program(np.eye(3), np.arange(3.0), k=1, ridge=0.1, groups=given)


def test_labels_lists_and_mappings_mean_the_same() -> None:
    leaders = [0, 1, 0, 3, 1]
    for given in (["a", "b", "a", None, "b"], [[0, 2], [1, 4]], {"a": [0, 2], "b": ["q", "t"]}):
        found, _ = read_groups(given, 5, ("p", "q", "r", "s", "t"))
        assert found.tolist() == leaders
    numbers = read_groups(np.array([7, 3, 7, 5, 3]), 5, None)
    assert (numbers[0].tolist(), numbers[1]) == (leaders, ("7", "3", "5"))
    X = np.random.default_rng(0).normal(size=(20, 5))
    y = X[:, 1] - X[:, 4]
    found = sb.solve(X, y, k=1, ridge=1e-3, groups={"first": [0, 2], "second": [1, 4]})
    assert found.group_support == ("second",)
    assert found.groups_in == ("second",)
    assert set(found.groups_out) == {"first", "feature 3"}
