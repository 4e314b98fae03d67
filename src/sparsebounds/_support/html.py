"""Results in a notebook: small pieces of HTML that need no script and follow the page's colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as html_escape

from sparsebounds._support.decimals import percent_up, rounded_down, rounded_up
from sparsebounds._support.printable import printable

MOST_ROWS = 30
"""Rows of a table that are shown."""


class Markup(str):
    """Text that is HTML already."""


def escape(text: str) -> str:
    """Text of whatever source as HTML that shows it."""
    return html_escape(printable(text, lines=True))


def block(title: str, parts: Iterable[str]) -> str:
    """A title and paragraphs, or tables, below it."""
    inside = "".join(
        part if isinstance(part, Markup) else f'<p style="margin:.4em 0">{escape(part)}</p>'
        for part in parts
    )
    return (
        '<div style="max-width:46em;padding:.2em 0;color:inherit">'
        f"<strong>{escape(title)}</strong>{inside}</div>"
    )


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A table; the first column is text where the others are numbers."""
    line = "border-bottom:1px solid rgba(128,128,128,.35);padding:.15em .8em .15em 0;"

    def cells(row: Sequence[str], tag: str) -> str:
        look = ["text-align:left", *["text-align:right"] * (len(row) - 1)]
        return "".join(
            f'<{tag} style="{line}{side}">{escape(cell)}</{tag}>'
            for cell, side in zip(row, look, strict=True)
        )

    shown = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[:MOST_ROWS])
    left = len(rows) - MOST_ROWS
    more = f'<p style="margin:.2em 0;opacity:.7">and {left} more</p>' if left > 0 else ""
    style = "border-collapse:collapse;margin:.4em 0;background:transparent;color:inherit"
    return Markup(
        f'<table style="{style}"><thead><tr>{cells(head, "th")}</tr></thead>'
        f"<tbody>{shown}</tbody></table>{more}"
    )


def interval(lower: float, upper: float, relative: float | None = None) -> Markup:
    """Both bounds in a line."""
    gap = "" if relative is None else f" (gap {percent_up(relative)})"
    return Markup(
        f'<p style="margin:.4em 0"><span style="font-variant-numeric:tabular-nums">'
        f"{rounded_down(lower)} &le; best possible &le; {rounded_up(upper)}</span>{gap}</p>"
    )
