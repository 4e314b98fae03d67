"""sparsebounds demo, and the words that every command shares."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds._support.documents import jsonable
from sparsebounds.program import Program
from sparsebounds.solving.sentences import bounds_sentence


def test_demo(invoke: Callable[..., Any]) -> None:
    started = time.perf_counter()
    result = invoke("demo")
    assert time.perf_counter() - started < 10
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for part in (
        "Breast cancer: 569 tumours, 30 measurements",
        "worst concave points",
        "No model with at most 5 features can have an objective below",
        "loaded and checked against the data",
        "Verified: logistic loss on 569 x 30 data",
        "relaxed value proved lower passes ms",
    ):
        assert part in text
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_printed_bounds_are_on_the_safe_side() -> None:
    rng = np.random.default_rng(0)
    for value in (rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200)).tolist():
        low, high = (text(value).replace(",", "") for text in (rounded_down, rounded_up))
        assert Decimal(low) <= Decimal(value) <= Decimal(high)
        assert float(high) == pytest.approx(value, rel=1e-6)
    assert rounded_up(1234567890.0) == "1,234,568,000"
    assert rounded_down(float("-inf")) == "-inf"
    assert rounded_up(0.0) == "0"
    assert [percent_up(f) for f in (0.0, 1e-12, 0.001301, 0.25, 12.0)] == [
        "0%",
        "under 0.001%",
        "0.14%",
        "25%",
        "1200%",
    ]


def test_words_without_a_bound() -> None:
    program = Program(np.eye(3), np.ones(3), k=1, ridge=0.1)
    words = bounds_sentence(program, float("-inf"), 0.5)
    assert words == "This model has an objective of 0.5; no lower bound was proved."


def test_json_has_no_infinity() -> None:
    given = {"a": [float("inf"), 1.0], "b": {"c": float("nan")}, "d": ("x", None, True)}
    assert jsonable(given) == {"a": [None, 1.0], "b": {"c": None}, "d": ["x", None, True]}
