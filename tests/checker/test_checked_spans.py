"""Spans of rows: what any point and any tilt prove holds for every model up to the level."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import numpy as np
from tests.checker.spanning import Rounds, near_models, spoiled
from tests.truncated import candidates, tiny


def test_spans_hold_every_model_up_to_the_level(checker: ModuleType) -> None:
    """By brute force, on tiny programs of all forms."""
    told: Counter[str] = Counter()
    for seed in range(16):
        program = tiny(seed) if seed % 2 else spoiled(seed // 2)
        rng, found = np.random.default_rng(seed), candidates(program)
        rounds = Rounds(checker, found, rng, more=float(rng.choice([0.0, 0.01, 0.2])))
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
