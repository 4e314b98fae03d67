"""Names: columns and labels that are commands to a terminal, a browser or a template."""

from __future__ import annotations

import tempfile
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.console import command, table, write_csv
from tests.hostile.draw import chance, pick

import sparsebounds as sb

Rng = np.random.Generator
FOLDER = tempfile.TemporaryDirectory(prefix="hostile")

NASTY = (
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link", "\x9b31m", "\x07", "\x08\x08",
    "a\rb", "a\nb", "\x7f", "\u202eevil", "\u2066x\u2069", "\u200fx", "\u061cx", "\u2028x", "\x0c",
    "[bold red]x", "[/]", "[/bold]", "[link=http://x]y", "[", "\\[", "[@click=x]y",
    "<hostile>", "</script><hostile>", '"><hostile onload=x>', "' onmouseover='hostile()' x='",
    "<!--<hostile>", "]]><hostile>", "<svg/onload=hostile()>", "javascript:hostile()",
    "{{7*7}}", "{% raw %}", "${x}", "%s%n", "=cmd()|'x'", "", " ", "x" * 5000, "é" * 300,
    "a,b", 'a"b', "(intercept)", "-k", "--help", "../x", "\ufeffa", "\U0001f600", "a\x00b",
    "*", "^.*$",
)  # fmt: skip


class Names(Attack):
    """Hostile names of columns and classes: nothing raw on the terminal, nothing active in HTML."""

    name, weight = "names", 2.0

    def case(self, rng: Rng) -> Finding | None:
        names = [pick(rng, *NASTY) if chance(rng, 0.6) else f"c{i}" for i in range(3)]
        if chance(rng, 0.2):
            names = [name + pick(rng, *NASTY) for name in names]
        return by_command(rng, names) if chance(rng, 0.7) else by_library(rng, names)


def by_command(rng: Rng, names: list[str]) -> Finding | None:
    folder = Path(FOLDER.name)
    data, model, proof, page = (folder / name for name in ("d.csv", "m.json", "p.json", "r.html"))
    for file in (model, proof, page):
        file.unlink(missing_ok=True)
    target = pick(rng, "y", "y", *NASTY)
    rows = table(rng, [*names, target], 14)
    options: list[Any] = ["--target", target]
    if chance(rng, 0.4):
        labels = (pick(rng, *NASTY) or "no", "yes")
        for i, row in enumerate(rows[1:]):
            row[-1] = labels[i % 2]
        options += ["--loss", "logistic"]
    write_csv(data, rows)
    runs = [["solve", data, *options, "-k", 2, "--out", model, "--certificate", proof]]
    if chance(rng, 0.3):
        runs[0] += ["--report", page]
    runs += [
        ["path", data, *options, "--ks", "1:2"],
        ["verify", proof, data, *options],
        ["predict", model, data],
        ["certify", model, data, *options, "-k", 2],
        ["solve", data, *options, "-k", 1, pick(rng, "--always", "--exclude"), pick(rng, *NASTY)],
    ]
    for words in (runs[0], runs[int(rng.integers(1, len(runs)))]):
        result, found = command(*words, codes=(0, 2, 3))
        if found is not None:
            return found
        raw = controls(result.stdout + result.stderr)
        # Predictions are data, for another program to read.
        if raw and words[0] != "predict":
            return Finding(
                "a control character reaches the terminal",
                f"{raw!r}: sparsebounds {words} with {names!r}\n{result.output[:300]!r}",
            )
    if page.exists():
        return active(page.read_text("utf-8"), repr(names))
    return None


def by_library(rng: Rng, names: list[str]) -> Finding | None:
    X = rng.normal(size=(15, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=15)
    page = Path(FOLDER.name) / "library.html"
    try:
        solution = sb.solve(X, y, k=2, ridge=0.1, feature_names=names)
        path = sb.path(X, y, ks=[1, 2], ridge=0.1, feature_names=names)
        program = sb.Program(X, y, k=2, ridge=0.1, feature_names=names)
        near = sb.near_optimal(program, 0.1)
        shown = [item._repr_html_() for item in (solution, path, near) if _has_html(item)]
        shown.append(solution.certificate._repr_html_())
        texts = [repr(item) for item in (solution, path, near, program)]
        texts += [solution.message, path.message, near.message]
        if chance(rng, 0.3):
            solution.report(page)
            shown.append(page.read_text("utf-8"))
    except ValueError as error:
        return None if "feature_names" in str(error) else crash(repr(names), error)
    except Exception as error:
        return crash(repr(names), error)
    raw = "".join(controls(text) for text in texts)
    if raw:
        return Finding("a control character in a repr", f"{raw!r} with {names!r}")
    found = [active(text, repr(names)) for text in shown]
    return next(filter(None, found), None)


def _has_html(item: Any) -> bool:
    return hasattr(item, "_repr_html_")


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def controls(text: str) -> str:
    """Characters that command a terminal rather than show."""
    return "".join(
        sorted({c for c in text if (unicodedata.category(c) == "Cc" and c != "\n") or c in BIDI})
    )


class _Tags(HTMLParser):
    """Whether a name became a tag, or a handler."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "hostile":
            self.found = self.get_starttag_text() or tag
        for name, value in attrs:
            handler = name.startswith("on") or name in ("href", "src")
            if handler and value and "hostile" in value and "&" not in value:
                self.found = self.get_starttag_text() or tag


def active(page: str, what: str) -> Finding | None:
    """Whether a page holds a name as code."""
    parser = _Tags()
    parser.feed(page)
    return (
        Finding("a name is active in HTML", f"{parser.found!r}: {what}") if parser.found else None
    )
