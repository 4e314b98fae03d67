"""Spans of rows: what any point and any tilt prove holds for every model up to the level."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.checker.judges import Check, verdicts
from tests.checker.schema import SCHEMA, flaws
from tests.checker.spanning import Rounds, data_of, near_models, spoiled
from tests.truncated import candidates, tiny

from sparsebounds.certificates.codec import _checksum, encode
from sparsebounds.certificates.row_codec import SPANS


def packed(values: Any, kind: str) -> str:
    raw = np.ascontiguousarray(values, dtype=kind).tobytes()
    return base64.b64encode(zlib.compress(raw)).decode()


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def test_spans_hold_every_model_up_to_the_level(check: Check) -> None:
    """By brute force, on tiny programs of all forms; `verify` and the checker prove them."""
    told: Counter[str] = Counter()
    for seed in range(12):
        program = tiny(seed) if seed % 2 else spoiled(seed // 2)
        rng, found = np.random.default_rng(seed), candidates(program)
        rounds = Rounds(found, rng, float(rng.choice([0.0, 0.01, 0.2])), near=seed % 4 < 3)
        (w, b), start = near_models(found, rounds.level, rng), rounds.range
        target, c = rounds.bounds.target, rounds.c
        r = w @ rounds.bounds.rows + b[:, None] - target
        inside = (b >= start[0]) & (b <= start[1])
        r, b, slack = r[inside], b[inside], 1e-12 * (np.abs(target) + c)
        for _ in range(3):
            rounds.add()
            low, high, (first, last) = rounds.spans.low, rounds.spans.high, rounds.range
            assert np.all((r >= low - slack) & (r <= high + slack)), seed
            assert np.all((b >= first - np.max(slack)) & (b <= last + np.max(slack))), seed
        certificate, data = rounds.certificate(), data_of(program)
        document = json.loads(encode(certificate))
        assert not list(flaws(document, SCHEMA))
        assert verdicts(document, data, check) == ("", "")
        told["models"] += len(r)
        told["finite"] += int(np.sum(np.isfinite(high - low)))
        told["inliers"] += int(np.sum((low >= -c) & (high <= c)))
        told["outliers"] += int(np.sum((low >= c) | (high <= -c)))
        told["intercepts cut"] += (first, last) != start
        told["bounds"] += certificate.lower > 0.0
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
        "a part too few": {"part_rounds": held["part_rounds"] - 1},
        "more models": {"scope": [], "scope_counts": [0]},
        "a switch that is not there": {"scope": [4096], "scope_counts": [1]},
        "no switch": {"scope": [0], "scope_counts": [1]},
        "a switch twice": {"scope": [n, n], "scope_counts": [2]},
        "no models": {"scope_counts": [-1]},
        "no number": {"end": np.full_like(end, np.nan)},
        "an endless end": {"end": np.full_like(end, 1e300)},
        "a higher level": {"level": 1.001 * held["level"]},
        "no level": {"level": [np.nan]},
    }
    if not len(held["scope"]):
        del changes["more models"]
    for what, arrays in changes.items():
        yield what, {}, {name: packed(value, SPANS[name]) for name, value in arrays.items()}
    for what, more in (("shares raised", 0.5 * (1.0 + theta)), ("shares of 1", 0.0 * theta + 1.0)):
        yield what, {"theta": packed(more, "<f4")}, {}
    yield "a round forgotten", {}, {"rounds": spans["rounds"] - 1}
    yield "an end forgotten", {}, {"ends": spans["ends"] - 1}
    yield "ends below 0", {}, {"ends": -1}


def test_forged_spans_are_refused(check: Check) -> None:
    """By `verify` and by the checker."""
    told: Counter[str] = Counter()
    for seed, program in ((0, spoiled(0)), (1, spoiled(1)), (4, tiny(4))):
        rng, found, data = np.random.default_rng(seed), candidates(program), data_of(program)
        rounds = Rounds(found, rng, near=seed == 1)
        for _ in range(3):
            rounds.add()
        document = json.loads(encode(rounds.certificate()))
        assert verdicts(document, data, check) == ("", "")
        assert document["lower"] > 0.0 or seed == 1
        for what, tree, spans in forgeries(document, rng):
            forged = copy.deepcopy(document)
            forged["rows"] |= tree
            forged["rows"]["spans"] |= spans
            theirs, ours = verdicts(claiming(forged, document["lower"]), data, check)
            assert theirs, what
            assert ours, what
            told[ours] += 1
        less = document | {"upper": 0.999 * document["upper"]}
        for answer in verdicts(claiming(less, document["lower"]), data, check):
            assert "upper bound" in answer
    assert told["Refused: the end of a span is not proved."] > 0.4 * sum(told.values())


def claiming(document: Any, lower: float) -> Any:
    """The document with another claim."""
    changed = document | {"lower": lower}
    return changed | {"sha256": _checksum(changed)}
