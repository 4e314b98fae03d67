"""Foreign text is shown, not obeyed: in terminals, in notebooks and in reports."""

from __future__ import annotations

import sys
from pathlib import Path
from unicodedata import category

import numpy as np
import polars as pl
import pytest

import sparsebounds as sb
from sparsebounds._support.printable import OBEYED, printable

CODES = map(chr, range(sys.maxunicode + 1))
MANY = [char for at, char in enumerate(CODES) if category(char) in OBEYED or at % 50 == 0]


def obeyed(text: str, allowed: str = "\n") -> list[str]:
    """Characters of a text that a terminal or a browser would act on."""
    return [c for c in text if category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c not in allowed]


def test_every_control_is_shown_and_every_letter_stays() -> None:
    for char in MANY:
        shown = printable(f"a{char}b")
        if category(char) in OBEYED:
            assert shown.isascii()
            assert shown.startswith("a\\")
        else:
            assert shown == f"a{char}b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age", "age"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]8;;http://x\x07y", "\\x1b]8;;http://x\\x07y"),
        ("\x9b31m", "\\x9b31m"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("a\u2028b\u2029", "a\\u2028b\\u2029"),
        ("\ud800", "\\ud800"),
        ("ag\u200de", "ag\\u200de"),
        ("\u200cage\u200d", "\\u200cage\\u200d"),
        ("größe 年齢 عمر возраст", "größe 年齢 عمر возраст"),
        ("👩🏽\u200d🔬 ❤️\u200d🔥", "👩🏽\u200d🔬 ❤️\u200d🔥"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
        ("é\u200d\u202eé", "é\\u200d\\u202eé"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_line_feeds_stay_where_asked() -> None:
    assert printable("a\nb\x1b\r\n", lines=True) == "a\nb\\x1b\\r\n"


def test_notebooks_and_reports(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    names = ["\u202eevil", "<b>\x1b[31m", "größe"]
    y = X @ [1.0, 2.0, 3.0]
    solution = sb.solve(pl.DataFrame(X, schema=names), y, k=3, ridge=0.1)
    path = sb.path(X, y, ks=[1, 3], ridge=0.1)
    for thing in (solution, path, solution.certificate):
        assert not obeyed(thing._repr_html_())
    solution.report(tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text()
    ours = page.replace(_plotly(), "")
    assert not obeyed(ours)
    assert "\\u202eevil" in ours
    assert "&lt;b&gt;\\x1b[31m" in ours
    assert "größe" in ours
    assert "<b>\\x1b" not in ours


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script
