"""Spans of rows: what any point and any tilt prove holds for every model up to the level."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from tests.checker.judges import Check, adapted
from tests.checker.schema import SCHEMA, flaws
from tests.checker.spanning import Rounds, near_models, packed, spoiled, unpacked
from tests.truncated import candidates, tiny

from sparsebounds.certificates.codec import _checksum
from sparsebounds.certificates.row_codec import SPANS


def test_spans_hold_every_model_up_to_the_level(checker: ModuleType) -> None:
    """By brute force, on tiny programs of all forms."""
    told: Counter[str] = Counter()
    for seed in range(16):
        program = tiny(seed) if seed % 2 else spoiled(seed // 2)
        rng, found = np.random.default_rng(seed), candidates(program)
        rounds = Rounds(checker, found, rng, float(rng.choice([0.0, 0.01, 0.2])), near=True)
        w, b = near_models(found, rounds.level, rng)
        r, c = w @ rounds.A[:, : program.m].T + b[:, None] - rounds.target, rounds.c
        inside = (b >= rounds.start[0]) & (b <= rounds.start[1])
        r, b, slack = r[inside], b[inside], 1e-12 * (np.abs(rounds.target) + c)
        for _ in range(3):
            rounds.add()
            (low, high), (first, last) = rounds.known, rounds.b_known
            assert np.all((r >= low - slack) & (r <= high + slack)), seed
            assert np.all((b >= first - np.max(slack)) & (b <= last + np.max(slack))), seed
        told["models"] += len(r)
        told["finite"] += int(np.sum(np.isfinite(high - low)))
        told["inliers"] += int(np.sum((low >= -c) & (high <= c)))
        told["outliers"] += int(np.sum((low >= c) | (high <= -c)))
        told["intercepts cut"] += (first, last) != rounds.start
    assert min(told.values()) >= 3, told


def forgeries(document: Any, rng: Any) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Changes of the tree and of its spans, and what each is."""
    rows, spans = document["rows"], document["rows"]["spans"]
    held = {name: unpacked(spans[name], kind) for name, kind in SPANS.items()}
    some = np.sort(rng.choice(spans["ends"], size=spans["ends"] // 3, replace=False))
    tilt, end, n = held["tilt"], held["end"], document["data"]["shape"][0]
    theta, values = unpacked(rows["theta"], "<f4"), held["values"].reshape(spans["ends"], -1)
    changes: dict[str, Any] = {
        "ends too near": {"end": end - 1e-6 * np.sign(tilt)},
        "one end too near": {"end": end - 0.1 * np.sign(tilt) * (tilt == tilt[some[0]])},
        "no tilt": {"tilt": 0.0 * tilt},
        "the other side": {"tilt": -tilt},
        "the other side, ends too": {"tilt": -tilt, "end": -end},
        "steeper": {"tilt": 2.0 * tilt},
        "flatter": {"tilt": 0.5 * tilt},
        "other points": {"values": values[::-1]},
        "longer points": {"values": 1.5 * values},
        "other intercepts": {"intercept": held["intercept"] + 0.5},
        "other rows": {"row": held["row"][::-1]},
        "a row that is not there": {"row": held["row"] - 1},
        "an intercept too many": {"row": 0 * held["row"] + n},
        "rounds in another order": {"lent": held["lent"][::-1]},
        "a round of nothing": {"lent": held["lent"] + len(held["lent"])},
        "ends of another round": {"counts": np.roll(held["counts"] + [1, 0, -1], 1)},
        "an end too many": {"counts": held["counts"] + [1, 0, 0]},
        "no number": {"end": np.full_like(end, np.nan)},
        "an endless end": {"end": np.full_like(end, 1e300)},
    }
    for what, arrays in changes.items():
        yield what, {}, {name: packed(value, SPANS[name]) for name, value in arrays.items()}
    for what, more in (("shares raised", 0.5 * (1.0 + theta)), ("shares of 1", 0.0 * theta + 1.0)):
        yield what, {"theta": packed(more, "<f4")}, {}
    yield "a round forgotten", {}, {"rounds": spans["rounds"] - 1}
    yield "an end forgotten", {}, {"ends": spans["ends"] - 1}
    yield "ends below 0", {}, {"ends": -1}


def test_forged_spans_are_refused_or_true(checker: ModuleType, check: Check) -> None:
    """As a forger would go on: with the bound that a refusal tells."""
    told: Counter[str] = Counter()
    for seed, program in ((0, spoiled(0)), (1, spoiled(1)), (4, tiny(4))):
        rng, found = np.random.default_rng(seed), candidates(program)
        rounds = Rounds(checker, found, rng, 0.0, near=False)
        for _ in range(3):
            rounds.add()
        (document,) = adapted(
            high := claiming(rounds.document(), 9.0), check(high, rounds.data), ""
        )
        assert check(document, rounds.data) == ""
        assert 0.0 < document["lower"] <= found.best()
        assert not list(flaws(document, SCHEMA))
        for what, tree, spans in forgeries(document, rng):
            forged = copy.deepcopy(document)
            forged["rows"] |= tree
            forged["rows"]["spans"] |= spans
            answer = check(claiming(forged, document["lower"]), rounds.data)
            assert answer or what == "more intercepts", what
            for other in adapted(forged, answer, ""):
                assert other["lower"] <= found.best(), what
                assert check(other, rounds.data) == "", what
                told["adapted"] += 1
            told[answer.partition("(")[0]] += 1
        less = document | {"upper": 0.999 * document["upper"]}
        assert "upper bound" in check(claiming(less, document["lower"]), rounds.data)
        more = document | {"upper": 1.001 * document["upper"]}
        assert "not proved" in check(claiming(more, document["lower"]), rounds.data)
    print(told)


def claiming(document: Any, lower: float) -> Any:
    """The document with another claim."""
    changed = document | {"lower": lower}
    return changed | {"sha256": _checksum(changed)}
