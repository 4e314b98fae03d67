"""Page: sections of paragraphs, tables, charts and code; and the file that it becomes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sparsebounds._support.documents import jsonable
from sparsebounds._support.extras import library
from sparsebounds._support.files import check_output, write_atomically
from sparsebounds._support.printable import printable
from sparsebounds._version import __version__


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is shown, what it is sorted by, and perhaps a bar."""

    text: str
    key: float | None = None
    """None: the text. NaN sorts last."""

    bar: float | None = None
    """A signed part of the longest bar, from -1 to 1."""

    mark: Literal["", "good", "faint"] = ""

    @property
    def sort(self) -> float | str:
        """For the page's script."""
        if self.key is None:
            return self.text
        return "" if math.isnan(self.key) else self.key


def number(value: float, digits: int = 6) -> Cell:
    """A number that is no bound; a dash where there is none."""
    return Cell("–" if math.isnan(value) else f"{value:.{digits}g}", float(value))


def count(value: int) -> Cell:
    """A whole number, all digits of it."""
    return Cell(str(value), float(value))


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
    def columns(self) -> list[tuple[str, bool]]:
        """Titles, and whether there are numbers below."""
        return [
            (title, any(row[j].key is not None for row in self.rows))
            for j, title in enumerate(self.titles)
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


Block = Table | Chart | Text | Code | Bar


@dataclass(frozen=True)
class Section:
    """A title and what stands below it."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Card:
    """One number that matters."""

    label: str
    value: str
    note: str = ""
    mark: Literal["", "good", "open"] = ""


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


def _shown(value: Any) -> Any:
    """Text as it can be shown; HTML of our own and numbers as they are."""
    return printable(value, lines=True) if type(value) is str else value
