"""Moves of whole groups, and supports grown by them, against every support fitted anew."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.linear import whiteners
from sparsebounds.models import Search
from sparsebounds.models.beam import beam
from sparsebounds.models.exchange import Quadratic, moves, without_least
from sparsebounds.models.slabs import Slabs
from sparsebounds.penalties import Groups


class Drawn:
    """A quadratic with groups of 1 to 5, in a row or mixed, with twins, prices and fixed groups."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng([seed, 22])
        sizes = np.append(rng.integers(1, 6, size=rng.integers(1, 6)), 2)
        labels = np.repeat(np.arange(len(sizes)), sizes)
        labels = rng.permutation(labels) if seed % 2 else labels
        m = len(labels)
        self.groups = Groups(np.array([np.flatnonzero(labels == one)[0] for one in labels]))
        X = rng.normal(size=(rng.integers(3, 15), m))
        if seed % 3 == 0:
            X[:, -1] = X[:, 0]
        price = np.where(self.groups.lead, 0.1 * rng.random(m) * (seed % 5 < 2), 0.0)
        whole = Quadratic(
            X.T @ X / len(X),
            rng.normal(size=m),
            np.full(m, 0.05),
            price,
            np.zeros(m, dtype=np.bool_),
            self.groups,
        )
        self.model, _ = whole.in_units()
        self.heads = self.groups.heads
        self.fixed = np.ones(m, dtype=np.bool_)
        self.fixed[self.heads] = rng.random(len(self.heads)) < 0.2

    def support(self, leaders):
        return self.groups.whole(np.array(sorted(leaders), dtype=np.int64))

    def value(self, leaders):
        return self.model.values([self.support(leaders)])[0] if len(leaders) else 0.0


@pytest.mark.parametrize("seed", range(30))
def test_moves_change_the_least_value_as_they_say(seed):
    drawn = Drawn(seed)
    heads, fixed, price = drawn.heads.tolist(), drawn.fixed, drawn.model.price
    inside = drawn.rng.choice(heads, len(heads) // 2, replace=False).tolist()
    outside = [g for g in heads if g not in inside and not fixed[g]]
    before, room = drawn.value(inside), seed % 2
    expected = {}
    for i in [g for g in inside if not fixed[g]]:
        left = [g for g in inside if g != i]
        if price[i] > 0.0:
            expected[i, None] = drawn.value(left) - before
        expected |= {(i, j): drawn.value([*left, j]) - before for j in outside}
    if room:
        expected |= {(None, j): drawn.value([*inside, j]) - before for j in outside}
    support = drawn.support(inside)
    found = moves(drawn.model, support, fixed, room=room, most=1000)
    assert {(move.leave, move.enter) for move in found} == set(expected)
    for move in found:
        assert abs(move.change - expected[move.leave, move.enter]) < 1e-10
    assert [move.change for move in found] == sorted(move.change for move in found)
    few = moves(drawn.model, support, fixed, room=room, most=2)
    assert [move.change for move in few] == [move.change for move in found[:2]]


@pytest.mark.parametrize("seed", range(30))
def test_a_beam_that_keeps_all_supports_finds_the_best(seed):
    drawn = Drawn(seed)
    held = drawn.heads[drawn.fixed[drawn.heads]].tolist()
    free = [g for g in drawn.heads.tolist() if g not in held]
    room = min(2, len(free))
    sizes = range(room + 1) if drawn.model.priced else [room]
    every = [(*held, *more) for size in sizes for more in itertools.combinations(free, size)]
    found = beam(drawn.model, [drawn.support(held)], drawn.fixed, room=room, width=1000)
    assert {tuple(one) for one in found} == {tuple(drawn.support(one)) for one in every}
    values = drawn.model.values(found)
    assert np.all(np.diff(values) > -1e-12)
    assert abs(values[0] - min(map(drawn.value, every))) < 1e-10


@pytest.mark.parametrize("seed", range(30))
def test_the_group_that_is_missed_least_is_dropped(seed):
    drawn = Drawn(seed)
    free = [g for g in drawn.heads.tolist() if not drawn.fixed[g]]
    if not free:
        pytest.skip("all groups are fixed")
    rest = [[h for h in drawn.heads if h != g] for g in free]
    # Prices aside: all of them are paid in what is compared.
    lost = [drawn.value(one) + drawn.model.price[g] for g, one in zip(free, rest, strict=True)]
    kept = without_least(drawn.model, drawn.support(drawn.heads), drawn.fixed)
    assert np.array_equal(kept, drawn.support(rest[np.argmin(lost)]))


@pytest.mark.parametrize("seed", range(6))
def test_slabs_have_each_column_once(seed):
    groups = Drawn(seed).groups
    slabs = Slabs(groups)
    assert sorted(slabs.columns[~slabs.empty]) == list(range(groups.size))
    values = np.random.default_rng(seed).normal(size=(3, groups.size))
    spread = slabs.spread(values)
    assert not spread[:, slabs.empty].any()
    for slab in slabs.slabs:
        leaders = slabs.leaders[slab.groups]
        for leader, block in zip(leaders, slab.blocks(spread[0]), strict=True):
            own = values[0, groups.whole(np.array([leader]))]
            assert np.array_equal(block[: len(own)], own)
            assert slab.room < 2 * len(own)
    assert np.array_equal(slabs.leaders[slabs.number], groups.leaders)


def test_whiteners_whiten_and_keep_pivots():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(4, 3, 3))
    matrices = root @ root.mT + np.eye(3)
    found = whiteners(matrices, np.ones((4, 3)))
    assert np.allclose(found @ matrices @ found.mT, np.eye(3), atol=1e-12)
    assert not np.triu(found, 1).any()
    assert np.array_equal(whiteners(np.zeros((1, 1, 1)), np.full((1, 1), 0.25)), [[[2.0]]])


@pytest.mark.parametrize("labels", [None, np.repeat(np.arange(20), 2)])
@pytest.mark.parametrize("rugged", [False, True])
def test_restarts_follow_where_starts_lead_to_different_models(rugged, labels, monkeypatch):
    """One model of a clear signal; of noise, several local optima."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 40)), rng.normal(size=60)
    y = noise if rugged else X[:, :6].sum(axis=1) + 0.1 * noise
    k = 6 if labels is None else 5 if rugged else 3
    program = sb.Program(X, y, k=k, ridge=0.05, groups=labels)
    restarts = []
    monkeypatch.setattr(Search, "restart", lambda search, count, *_: restarts.append(count))
    search = Search(program, sb.relax(program))
    found = search.run()
    assert rugged == (search.optima > 1)
    assert rugged or found.support.tolist() == list(range(6))
    assert len(restarts) == rugged
    assert all(restarts)
