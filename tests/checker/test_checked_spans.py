"""Spans of rows: what any point and any tilt prove holds for every model up to the level."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from types import ModuleType

import numpy as np
from tests.checker.spanning import Rounds, data_of, near_models, one_leaf, spoiled
from tests.truncated import candidates, tiny

from sparsebounds.certificates.codec import encode


def test_spans_hold_every_model_up_to_the_level(checker: ModuleType) -> None:
    """By brute force, on tiny programs of all forms."""
    from robust_boxes import boxed
    from row_bounds import Lent, RowBounds
    from row_spans import Spans

    told: Counter[str] = Counter()
    for seed in range(24):
        program = tiny(seed) if seed < 12 else spoiled(seed)
        rng = np.random.default_rng(seed)
        found, c = candidates(program), program.loss.c  # type: ignore[attr-defined]
        eta = 0.0 if program.ball is None else float(rng.uniform(0.1, 1.0) * c**2 / program.ball)
        document = json.loads(encode(one_leaf(found, eta)))
        own = checker.posed(document, data_of(program))
        level = float(found.best() * (1.0 + rng.choice([0.0, 0.01, 0.2])) + 1e-12)
        outer = boxed(own, Fraction(level), []).range if own.intercept else (Fraction(0),) * 2
        rounds = Rounds(found, level, eta, rng)
        b_range = rounds.b + c * np.array([-1.0, 1.0]) * rng.uniform(size=2) * own.intercept
        w, b = near_models(found, level, rng)
        first, last = max(b_range[0], float(outer[0])), min(b_range[1], float(outer[1]))
        b_low, b_high, inside = first, last, (b >= first) & (b <= last)
        target = program.y if program.offset is None else program.y - program.offset
        r = (w @ program.matrix.columns(np.arange(program.m)).T + b[:, None] - target)[inside]
        b, slack = b[inside], 1e-9 * (np.abs(target) + c)
        bounds = RowBounds(own, Fraction(eta))
        low, high = np.full(program.n, -np.inf), np.full(program.n, np.inf)
        for _ in range(3):
            rounds.add(low, high, 0.5 * (b_low + b_high), 0.5 * (b_high - b_low))
            lends = [Lent(x.tolist(), y.tolist(), z, middle) for x, y, z, middle in rounds.lent]
            spans = Spans(bounds, rounds.record(b_range), lends, outer, Fraction(level))
            one = 1 << bounds.rows.bits
            low, high = (
                np.array([x / one for x in ends]) for ends in zip(*spans.spans, strict=True)
            )
            assert np.all((r >= low - slack) & (r <= high + slack)), seed
            b_low, b_high = float(spans.low), float(spans.high)
            aside = 1e-9 * (abs(b_low) + abs(b_high))
            assert np.all((b >= b_low - aside) & (b <= b_high + aside)), seed
        told["models"] += len(r)
        told["finite"] += int(np.sum(np.isfinite(high - low)))
        told["inliers"] += int(np.sum((low >= -c) & (high <= c)))
        told["outliers"] += int(np.sum((low >= c) | (high <= -c)))
        told["intercepts cut"] += b_low > first or b_high < last
    print(told)
    assert min(told.values()) >= 5, told
