"""Page: sections of paragraphs, tables, charts and code; and the file that it becomes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from sparsebounds._support.decimals import readable
from sparsebounds._support.documents import jsonable
from sparsebounds._support.extras import library
from sparsebounds._support.files import check_output, write_atomically
from sparsebounds._support.printable import printable
from sparsebounds._version import __version__

LONGEST = 36
"""Characters of a name in a table; all of it is shown on hovering."""

WIDE = 24
"""Characters of a text beyond which a narrow screen shows cards in place of a table."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is shown, what it is sorted by, and perhaps a bar."""

    text: str
    key: float | None = None
    """None: the text. NaN sorts last."""

    bar: float | None = None
    """A signed part of the longest bar, from -1 to 1."""

    mark: Literal["", "good", "faint", "code"] = ""
    full: str = ""
    """The whole of a text that is shown shortened, for who points at it."""

    @property
    def sort(self) -> float | str:
        """For the page's script."""
        if self.key is None:
            return self.full or self.text
        return "" if math.isnan(self.key) else self.key


def number(
    value: float, digits: int = 6, *, bar: float | None = None, mark: Literal["", "faint"] = ""
) -> Cell:
    """A number that is no bound; a dash where there is none."""
    shown = "–" if math.isnan(value) else readable(value, digits)
    return Cell(shown, key=float(value), bar=bar, mark=mark)


def count(value: int) -> Cell:
    """A whole number, all digits of it."""
    return Cell(f"{value:,}", key=float(value))


def named(name: str, mark: Literal["", "faint"] = "") -> Cell:
    """A name, shortened where it is long."""
    short = shortened(name, LONGEST)
    return Cell(short, full=name if short != name else "", mark=mark)


def listed(names: Sequence[str], between: str = ", ") -> Cell:
    """Several names, each shortened where it is long."""
    short, full = (between.join(some) for some in ([named(name).text for name in names], names))
    return Cell(short, full=full if short != full else "")


def shortened(name: str, longest: int) -> str:
    """A name with its middle left out where it is long: names often differ at their ends."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1].rstrip()}…{name[-tail:].lstrip()}"


@dataclass(frozen=True)
class Table:
    """Titles of columns, and rows."""

    titles: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    name: str = ""
    """With a name the table can be sorted and searched."""

    note: str = ""
    kind: Literal["table"] = "table"

    @property
    def look(self) -> Literal["pairs", "stacked", ""]:
        """For a narrow screen: a table without titles, or a wide one, which has a card per row."""
        if not any(self.titles):
            return "pairs"
        widths = (len(cell.text) for row in self.rows for cell in row[1:] if cell.key is None)
        return "stacked" if len(self.titles) > 3 or max(widths, default=0) > WIDE else ""

    @property
    def columns(self) -> list[tuple[int, str, bool]]:
        """Place, title and whether there are numbers below, of the columns that are not empty."""
        return [
            (j, title, any(row[j].key is not None for row in self.rows))
            for j, title in enumerate(self.titles)
            if not self.rows or any(row[j].text for row in self.rows)
        ]


@dataclass(frozen=True)
class Chart:
    """A figure in plotly's own JSON; colours are variables of the page's style."""

    name: str
    title: str
    figure: dict[str, Any]
    caption: str = ""
    half: bool = False
    """Whether two of them stand side by side."""

    kind: Literal["chart"] = "chart"


@dataclass(frozen=True)
class Text:
    """A paragraph; `strong` ones are larger."""

    text: str
    strong: bool = False
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class Code:
    """Something to type."""

    text: str
    kind: Literal["code"] = "code"


@dataclass(frozen=True)
class Stretch:
    """A part of a bar, in words, with its share of the whole."""

    share: float
    words: str
    look: str


@dataclass(frozen=True)
class Bar:
    """One bar cut into stretches."""

    stretches: tuple[Stretch, ...]
    kind: Literal["bar"] = "bar"


@dataclass(frozen=True)
class Card:
    """One number that matters."""

    label: str
    value: str
    note: str = ""
    mark: Literal["", "good", "open"] = ""


@dataclass(frozen=True)
class Cards:
    """Several of them in a row."""

    cards: tuple[Card, ...]
    kind: Literal["cards"] = "cards"


Block = Table | Chart | Text | Code | Bar | Cards


@dataclass(frozen=True)
class Section:
    """A title and what stands below it."""

    name: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def rows(self) -> list[tuple[bool, list[Block]]]:
        """Its blocks, those of half the width in a row together, and whether they are."""
        sides = groupby(self.blocks, lambda block: isinstance(block, Chart) and block.half)
        return [(half, list(blocks)) for half, blocks in sides]


@dataclass(frozen=True)
class Page:
    """A report."""

    title: str
    subtitle: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]


def require_report() -> None:
    """Raise, in a sentence, where a report cannot be written."""
    for name in ("jinja2", "plotly"):
        library(name, "report", f"A report needs {name}")


def check_report(file: str | os.PathLike[str]) -> None:
    """Raise, before the work, where a report cannot be written, or not into this file."""
    require_report()
    check_output(file)


def rendered(page: Page) -> str:
    """The page as HTML. Every text in it is escaped; charts are JSON in a block of its own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("sparsebounds.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    charts = {
        block.name: jsonable(block.figure)
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Chart)
    }
    html: str = environment.get_template("page.html").render(
        page=page,
        charts=charts,
        plotly=Markup(get_plotlyjs()) if charts else "",
        version=__version__,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    )
    return html


def write(file: str | os.PathLike[str], page: Page) -> None:
    """Write the page, whole or not at all."""
    sections = tuple(section for section in page.sections if section.blocks)
    write_atomically(file, rendered(replace(page, sections=sections)))


def _unbroken(text: str) -> Any:
    """A text in which no line ends within a number such as 6.5e-11, as HTML."""
    from markupsafe import Markup, escape

    safe = str(escape(_shown(text)))
    return Markup(re.sub(r"(\d[\d.]*e-\d+)", r'<span class="whole">\1</span>', safe))


def _shown(value: Any) -> Any:
    """Text as it can be shown; HTML of our own and numbers as they are."""
    return printable(value, lines=True) if type(value) is str else value
