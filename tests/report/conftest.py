"""Reports of three results, on data whose names try to be HTML, and a reader of pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb

NASTY = ("<script>alert(1)</script>", "<b>bold</b>", "a & b", "</script><img src=http://x.test/>")
NAMES = (*NASTY, "age", "dose")


@dataclass
class Page(HTMLParser):
    """What a report holds: tags with their attributes, text, tables, and the charts."""

    text: str = ""
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    inside: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = tag
            self.scripts.append("")
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = "cell"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "td", "th"):
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside in ("script", "style"):
            self.scripts[-1] += data
            return
        self.text += data
        if self.inside == "cell":
            self.tables[-1][-1][-1] += data.strip()

    @property
    def charts(self) -> dict[str, Any]:
        """The figures, by name."""
        (at,) = (i for i, (_, attrs) in enumerate(self.tags) if attrs.get("id") == "charts")
        order = [tag for tag, _ in self.tags[:at]].count("script")
        order += [tag for tag, _ in self.tags[:at]].count("style")
        figures: dict[str, Any] = json.loads(self.scripts[order], parse_constant=pytest.fail)
        return figures

    def table(self, first: str) -> list[list[str]]:
        """The table whose head begins so."""
        (found,) = (rows for rows in self.tables if rows[0][0] == first)
        return found


@pytest.fixture(scope="session")
def read() -> Callable[[Path], Page]:
    """The reader."""

    def read(file: Path) -> Page:
        page = Page()
        page.feed(file.read_text(encoding="utf-8"))
        return page

    return read


@dataclass
class Made:
    """Data, what was found in them, and the reports."""

    folder: Path
    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    regression: sb.Solution
    classes: sb.Solution
    path: sb.Path
    names: tuple[str, ...] = NAMES
    nasty: tuple[str, ...] = NASTY


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 6))
    X[:, 4] = 50 + 10 * X[:, 4]
    y = 2 * X[:, 0] - X[:, 1] + 0.05 * X[:, 4] + rng.normal(size=90)
    labels = np.where(y + rng.normal(size=90) > np.median(y), "<i>yes</i>", "no")
    options = {"ridge": 0.05, "fit_intercept": True, "standardize": True, "feature_names": NAMES}
    train, held = slice(0, 60), slice(60, 90)
    regression = sb.solve(X[train], y[train], k=2, exact=True, **options)
    regression.report(folder / "regression.html", X[held], y[held])
    classes = sb.solve(X, labels, k=3, loss="logistic", **options)
    classes.report(folder / "classes.html")
    path = sb.path(X[train], y[train], ks=range(7), **options)
    path.report(folder / "path.html")
    units = 1e5 * X[train] + 1e6
    long = [f"a_name_that_is_longer_than_a_telephone_is_wide={i} or more" for i in range(6)]
    wide = sb.solve(units, 1e4 * y[train], k=2, **options | {"feature_names": long})
    wide.report(folder / "wide.html")
    return Made(folder, X, y, labels, regression, classes, path)
