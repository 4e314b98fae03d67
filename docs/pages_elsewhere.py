"""Pages of the site that do not stand in docs/: written into docs/auto when the site is built.

- README.md of experiments/, CHANGELOG.md, CONTRIBUTING.md and SECURITY.md, as they are;
- the tables of benchmarks/results, each with the commit that it was recorded in;
- the commands of `sparsebounds`, from their own help.

Links between pages are written for the repository. Where a page has moved, they follow.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sparsebounds.cli import app as commands

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
AUTO = DOCS / "auto"
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def moved() -> dict[Path, Path]:
    """Pages of the repository outside docs/, and their places on the site."""
    pages = {
        ROOT / "CHANGELOG.md": AUTO / "changelog.md",
        ROOT / "CONTRIBUTING.md": AUTO / "contributing.md",
        ROOT / "SECURITY.md": AUTO / "security.md",
        ROOT / "experiments" / "README.md": AUTO / "experiments" / "index.md",
    }
    for table in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        pages[table] = AUTO / "benchmarks" / table.name
    for picture in sorted((ROOT / "experiments").rglob("*.png")):
        pages[picture] = AUTO / picture.relative_to(ROOT)
    return pages


MOVED = moved()
SHOWN = {
    ROOT / "README.md": DOCS / "index.md",
    **{
        script: AUTO / "gallery" / script.relative_to(ROOT / "examples").with_suffix(".rst")
        for script in (ROOT / "examples").rglob("plot_*.py")
    },
    **MOVED,
}
"""What has a page on the site though it is none in docs/."""


def relinked(text: str, source: Path, place: Path) -> str:
    """The text of the page `source` with its relative links as they are at `place`."""

    def follow(link: re.Match[str]) -> str:
        if "://" in link[2] or link[2].startswith("mailto:"):
            return link[0]
        target = (source.parent / link[2]).resolve()
        target = SHOWN.get(target, target)
        return link[1] + Path(os.path.relpath(target, place.parent)).as_posix() + link[3]

    return LINK.sub(follow, text)


def redirect(app: Any, docname: str, content: list[str]) -> None:
    """A page of docs/, as Sphinx reads it, with links to where pages are on the site.

    Anchors in HTML, which the forge understands, become those of MyST. `auto/benchmarks/*` stands
    for the tables that the page does not name.
    """
    page = DOCS / f"{docname}.md"
    if page.exists() and not page.is_relative_to(AUTO):
        text = ANCHOR.sub(r"(\1)=", relinked(content[0], page, page))
        tables = (f"auto/benchmarks/{path.stem}" for path in (AUTO / "benchmarks").glob("*.md"))
        rest = sorted(table for table in tables if f"<{table}>" not in text)
        content[0] = text.replace("auto/benchmarks/*", "\n".join(rest))


def write() -> None:
    """All these pages; those that are unchanged keep their time, so that Sphinx need not read."""
    for old in {*AUTO.glob("benchmarks/*.md")} - {*MOVED.values()}:
        old.unlink()
    for source, place in MOVED.items():
        if source.suffix == ".md":
            text = relinked(source.read_text(encoding="utf-8"), source, place)
            if source.parent.name == "results":
                text = with_record(text, source)
            _save(place, text)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
    _save(AUTO / "commands.md", command_page())


def _save(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        place.write_text(text, encoding="utf-8")


def _git(*words: str) -> str:
    """What git says, or nothing where this is no repository with its history."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def with_record(text: str, table: Path) -> str:
    """A page of results with its tables in small print, and the commit that brought them."""
    numbers = table.with_suffix(".json")
    place = numbers.relative_to(ROOT).as_posix()
    sentence = f"The numbers are in `{place}`"
    if _git("rev-parse", "--is-shallow-repository") == "false":
        said = _git("log", "-1", "--format=%h of %cs", "--", place)
        if said:
            sentence += f", recorded in commit {said}"
    text = TABLE.sub(lambda found: f":::{{div}} numbers\n{found[0]}:::\n", text)
    return text.replace(":::{div}", f"{sentence}.\n\n:::{{div}}", 1)


def command_page() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(commands)
    lines = [
        "# Commands",
        "",
        "What `sparsebounds COMMAND --help` says. [The command line](../commandline.md) is a walk",
        "through them, with outputs.",
        "",
    ]
    for name, command in root.commands.items():
        lines += [f"## {name}", "", *_described(name, command)]
    return "\n".join(lines) + "\n"


def _described(name: str, command: Any) -> Iterator[str]:
    positional = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["sparsebounds", name, *map(_name, positional)])
    yield from ("```text", f"{usage} [OPTIONS]", "```", "")
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        words = " ".join(paragraph.split())
        if words.startswith("Example: "):
            yield from ("```text", _wrapped(words.removeprefix("Example: ")), "```", "")
        else:
            yield from (_plain(words), "")
    panels: dict[str, list[Any]] = {}
    for one in command.params:
        title = "Arguments" if one in positional else one.rich_help_panel or "Options"
        panels.setdefault(title, []).append(one)
    for title, members in panels.items():
        head = "argument" if title == "Arguments" else "option"
        yield from (f"**{title}**", "", f"| {head} | |", "|---|---|")
        for one in members:
            yield f"| {_spelling(one)} | {_cell(one)} |"
        yield ""


def _name(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _spelling(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{_name(one)}`"
    names = [*one.opts, *one.secondary_opts]
    value = "" if one.is_flag else f" {one.metavar or one.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in names)


def _cell(one: Any) -> str:
    return _plain(one.help or "").replace("|", r"\|")


def _plain(words: str) -> str:
    """Text as it is: what Markdown would take for its own is escaped, options are code."""
    escaped = re.sub(r"([*_<\\`])", r"\\\1", words)
    return re.sub(r"(?<![\w-])--[a-z][\w-]*", r"`\g<0>`", escaped)


def _wrapped(command: str) -> str:
    """A long command on several lines, each a little less than 80 characters."""
    return " \\\n    ".join(textwrap.wrap(command, 74, break_on_hyphens=False))
