"""From a Page to a file: the template, the style, the scripts, and nothing from elsewhere."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from typing import Any

from sparsebounds._support.documents import jsonable
from sparsebounds._support.extras import library
from sparsebounds._support.files import check_output, write_atomically
from sparsebounds._support.printable import printable
from sparsebounds._version import __version__
from sparsebounds.report.parts import Chart, Page


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
