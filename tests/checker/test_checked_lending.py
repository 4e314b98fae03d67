"""Trees over rows whose features lend by supports: both judges accept what is true of them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from tests.bounds.test_row_lending import doubtful, highest, lent_at
from tests.checker.judges import Check, verdicts
from tests.checker.schema import SCHEMA, flaws
from tests.checker.spanning import Rounds, data_of, spoiled
from tests.checker.test_checked_spans import claiming, packed, unpacked
from tests.truncated import candidates, tiny

from sparsebounds.bounds import Lent, RowBounds, Switches, objective_up, outer_range
from sparsebounds.bounds.row_tangents import Tilt
from sparsebounds.certificates import Certificate, RowTree, row_tree_bound
from sparsebounds.certificates.codec import encode
from sparsebounds.program import Program


def split_tree(program: Program, rng: Any) -> Certificate:
    """A tree that splits on all free features but one, each that is in: a lent per leaf."""
    found = candidates(program)
    place = int(np.argmin(found.values))
    w, b = found.w[place], float(found.b[place])
    level = objective_up(program, w, b)
    ball = program.ball
    eta = 0.0 if ball is None else float(rng.uniform(0.1, 0.5) * (level + 1e-3) / ball)
    outer = outer_range(program, level, claim=True)
    bounds = RowBounds(program, Switches(program.m, program.n), outer, eta=eta, claim=True)
    state = np.zeros(bounds.switches.count, dtype=np.int8)
    state[: program.m][program.always] = 1
    free = rng.permutation(np.flatnonzero(program.free))[:-1]
    leaves, nodes, splits = {}, {0: state}, len(free)
    for p, j in enumerate(free):
        nodes[2 * p], leaves[1 + 2 * p], state = state, state.copy(), state.copy()
        leaves[1 + 2 * p][j], state[j] = -1, 1
    leaves[2 * splits] = state
    lents, points, scopes = [], [], np.arange(1 + 2 * splits)
    for node, at in leaves.items():
        if rng.random() < 0.4:
            # Bounded by the losses of a node above.
            scopes[node] = 2 * rng.integers(0, max(1, (node + 1) // 2))
        scope = nodes.get(int(scopes[node]), at)
        lent = lent_at(bounds, scope, rng) or Lent.nothing(program.n, program.m)
        lent = Lent.stored(
            0.999 * lent.theta, lent.shares, lent.eta, lent.middle, sparse=lent.sparse
        )
        near = w if rng.random() < 0.5 else np.where(at[: program.m] < 0, 0.0, w)
        tilt = Tilt(np.zeros(20, dtype=np.int64), np.zeros(20))
        lents.append(lent)
        points.append(highest(bounds, at, (near, b), lent, tilt, rng, scope))
    number, size = len(leaves), 1 + 2 * splits
    place_of = np.full(size, -1)
    place_of[list(leaves)] = np.arange(number)
    tree = RowTree(
        kept=np.arange(program.m),
        cuts=np.zeros(0),
        eta=eta,
        parent=2 * np.arange(splits),
        switch=free,
        points=place_of,
        scope=scopes,
        counts=np.full(number, program.m),
        support=np.tile(np.arange(program.m, dtype=np.int32), number),
        values=np.concatenate([point for point, _ in points]),
        intercept=np.array([aside for _, aside in points]),
        lent=np.arange(number),
        theta=np.array([one.theta for one in lents]),
        shares=np.array([one.shares for one in lents]),
        etas=np.array([one.eta for one in lents]),
        middles=np.array([one.middle for one in lents]),
        sparse=np.array([one.sparse for one in lents], dtype=np.int64),
    )
    lower = row_tree_bound(program, tree, level, claim=True)
    made = Certificate.build(program, (), (), w, b, lower=lower, rows=tree)
    return replace(made, upper=level)


def forgeries(rows: Any, rng: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other numbers, and what each is."""
    kinds = {"theta": "<f4", "shares": "<f4", "etas": "<f8", "sparse": "<i4", "values": "<f8"}
    held = {name: unpacked(rows[name], kind) for name, kind in kinds.items()}
    some = rng.random(len(held["theta"])) < 0.3
    for name, value in (
        ("sparse", 1 - held["sparse"]),
        ("sparse", np.zeros_like(held["sparse"])),
        ("theta", np.where(some, 0.5 * (held["theta"] + 1.0), held["theta"])),
        ("theta", np.minimum(1.01 * held["theta"], 0.99)),
        ("theta", 0.9 * held["theta"]),
        ("shares", 0.9 * held["shares"]),
        ("shares", np.minimum(1.05 * held["shares"], 63 / 64)),
        ("shares", -held["shares"]),
        ("etas", 0.9 * held["etas"]),
        ("etas", 1.1 * held["etas"]),
        ("values", held["values"] * (1.0 + 0.1 * rng.normal(size=len(held["values"])))),
        ("values", 3.0 * held["values"]),
    ):
        yield name, {name: packed(value, kinds[name])}
    yield "no flags", {"sparse": None}


@np.errstate(all="ignore")
def test_trees_that_lend_by_supports(check: Check) -> None:
    """What either judge accepts of such trees and of forged ones is true, by brute force."""
    told: Counter[str] = Counter()
    for seed in range(12):
        rng, program = np.random.default_rng(seed), (doubtful, tiny)[seed % 4 == 3](seed)
        certificate, data = split_tree(program, rng), data_of(program)
        document = json.loads(encode(certificate))
        lower = document["lower"]
        assert certificate.rows is not None
        assert not list(flaws(document, SCHEMA))
        assert verdicts(document, data, check) == ("", "")
        told["bounds"] += lower > 0.0
        if lower <= 0.0:
            continue
        for more in (1e-6 * abs(document["upper"]), 1.0):
            theirs, ours = verdicts(claiming(document, lower + more), data, check)
            assert theirs
            assert ours
        for what, change in forgeries(document["rows"], rng):
            forged = copy.deepcopy(document)
            forged["rows"] |= change
            if change.get("sparse", "") is None:
                del forged["rows"]["sparse"]
            for claim in (lower, 0.5 * lower):
                theirs, ours = verdicts(claiming(forged, claim), data, check)
                assert theirs or not ours, what
                told["refused" if ours else "accepted"] += 1
        count = document["rows"]["lent_count"]
        for flags in ([2] * count, [-1] * count, [1] * (count + 1)):
            forged = copy.deepcopy(document)
            forged["rows"]["sparse"] = packed(flags, "<i4")
            for answer in verdicts(claiming(forged, 0.0), data, check):
                assert answer
    assert min(told.values()) >= 5, told


def test_spans_that_lend_by_supports(check: Check) -> None:
    """They are proved by both judges, and not with ends that are nearer."""
    proved = 0
    for seed in range(6):
        rng, program = np.random.default_rng(seed), (doubtful, spoiled)[seed % 2](seed)
        rounds = Rounds(candidates(program), rng, near=True, sparse=True)
        for _ in range(2):
            rounds.add()
        document, data = json.loads(encode(rounds.certificate())), data_of(program)
        assert verdicts(document, data, check) == ("", "")
        spans = document["rows"]["spans"]
        if not spans["ends"]:
            continue
        proved += spans["ends"]
        forged = copy.deepcopy(document)
        tilt, end = unpacked(spans["tilt"], "<f8"), unpacked(spans["end"], "<f8")
        forged["rows"]["spans"]["end"] = packed(end - 1e-6 * np.sign(tilt), "<f8")
        for answer in verdicts(claiming(forged, 0.0), data, check):
            assert "span" in answer
    assert proved >= 50
