"""From a Page to a file: the template, the style, the scripts, and nothing from elsewhere."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from sparsebounds._errors import InputError
from sparsebounds._files import write_atomically
from sparsebounds._version import __version__
from sparsebounds.report.parts import Chart, Page


def require_report() -> None:
    """Raise, in a sentence, where a report cannot be written."""
    try:
        import jinja2  # noqa: F401
        import plotly.offline  # noqa: F401
    except ImportError as error:
        raise InputError(
            "A report needs plotly and jinja2, which are not installed: "
            "pip install 'sparsebounds[report]'."
        ) from error


def check_target(file: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be written before the work rather than after it."""
    path = Path(file)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file, such as report.html.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist.")


def rendered(page: Page) -> str:
    """The page as HTML. Every text in it is escaped; charts are JSON in a block of its own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("sparsebounds.report"),
        autoescape=True,
        undefined=StrictUndefined,
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


def jsonable(value: Any) -> Any:
    """Lists for arrays and None for what is not finite, as JSON has no infinity."""
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [jsonable(item) for item in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    return None if isinstance(value, float) and not np.isfinite(value) else value
