"""What the site is built with: pages from elsewhere, and the look for broken links."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROOT = DOCS.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, object]:
    return runpy.run_path(str(DOCS / "pages_elsewhere.py"))


@pytest.mark.parametrize(
    ("source", "place", "link", "expected"),
    [
        ("docs/exact.md", "docs/exact.md", "curvature.md#other", "curvature.md#other"),
        ("docs/exact.md", "docs/exact.md", "../src/no_page.md", "../src/no_page.md"),
        ("docs/exact.md", "docs/exact.md", "../CHANGELOG.md#fixed", "auto/changelog.md#fixed"),
        ("docs/exact.md", "docs/exact.md", "#advice", "#advice"),
        ("docs/exact.md", "docs/exact.md", "https://x.org/a.md", "https://x.org/a.md"),
        ("CHANGELOG.md", "docs/auto/changelog.md", "docs/scale.md#rows", "../scale.md#rows"),
        ("CONTRIBUTING.md", "docs/auto/contributing.md", "README.md", "../index.md"),
    ],
)
def test_links_follow_pages(pages: dict, source: str, place: str, link: str, expected: str) -> None:
    moved = pages["relinked"](f"see [it]({link}).", ROOT / source, ROOT / place)
    assert moved == f"see [it]({expected})."


def test_commands_are_described(pages: dict) -> None:
    text = pages["command_page"]()
    for name in ("solve", "path", "near", "predict", "certify", "verify", "rank", "reproduce"):
        assert f"\n## {name}\n" in text
    assert "| `--target TARGET` | The response" in text
    assert "`--nonnegative`" in text


def test_tables_say_where_they_come_from(pages: dict) -> None:
    table = ROOT / "benchmarks" / "results" / "exact.md"
    text = pages["with_record"]("# T\n\nwords\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", table)
    before, _, after = text.partition(":::{div} numbers\n| a | b |")
    assert "`benchmarks/results/exact.json`" in before
    assert after.endswith("| 1 | 2 |\n:::\n")


def test_broken_links_are_found(tmp_path: Path) -> None:
    broken = runpy.run_path(str(DOCS / "check_site.py"))["broken"]
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="#top">2</a><a href="https://x.org">3</a><p id="top">'
    )
    (tmp_path / "b.html").write_text('<p id="here">')
    assert list(broken(tmp_path)) == []
    (tmp_path / "b.html").write_text(
        '<a href="c.html">1</a><script src="https://x.org/s.js"></script><a href="a.html#no">'
    )
    assert sorted(broken(tmp_path)) == [
        "a.html: b.html#here has no such place",
        "b.html loads https://x.org/s.js",
        "b.html: a.html#no has no such place",
        "b.html: c.html does not exist",
    ]
