"""Looks through a built site: every link inside it leads somewhere, and nothing comes from the net.

    python docs/check_site.py docs/_build/html

A link is broken where its file is missing, or the place on the page that it names. Scripts,
styles and pictures must be files of the site, so that it can be read offline.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements that a browser fetches unasked, and where they say from."""


class Anchors(HTMLParser):
    """The names of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {key: value for key, value in attrs if value is not None}
        self.names |= {said[key] for key in ("id", "name") if key in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag in LOADED and LOADED[tag] in said and said.get("rel") != "canonical":
            self.loaded.append(said[LOADED[tag]])


def pages_of(site: Path) -> list[Path]:
    """The pages of a site, the theme's own templates aside."""
    return [path for path in sorted(site.rglob("*.html")) if path.parent != site / "_static"]


def broken(site: Path) -> Iterator[str]:
    """A sentence for each link that leads nowhere, and for each thing fetched from elsewhere.

    `site` is an absolute path.
    """
    pages = {path: Anchors(path.read_text(encoding="utf-8")) for path in pages_of(site)}
    for path, page in pages.items():
        here = path.relative_to(site).as_posix()
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                if link in page.loaded:
                    yield f"{here} loads {link}"
                continue
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.is_relative_to(site):
                continue  # the site of another version, beside this one
            if not target.exists():
                yield f"{here}: {link} does not exist"
            elif place and target in pages and place not in pages[target].names:
                yield f"{here}: {link} has no such place"


def main(site: Path) -> int:
    """The number of pages on the terminal; 1 where something is broken."""
    faults = sorted(set(broken(site)))
    for fault in faults:
        print(fault)
    count = len(pages_of(site))
    print(f"{site}/index.html: {count} pages, {len(faults)} broken links")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
