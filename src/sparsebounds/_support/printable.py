"""Foreign text made fit for a reader: what a terminal or a page would obey becomes visible.

Column names, class labels, file names and the text in certificates are other people's. Escape
sequences in them can move the cursor, hide a line or set a title, and bidirectional controls show
a text in another order. `printable` shows such characters as Python writes them, `\\x1b` or
`\\u202e`. Letters of every script stay, and so do the joiners between two that are not ASCII: in
emoji, Persian and the scripts of India they are part of the spelling.
"""

from __future__ import annotations

import re
from unicodedata import category

OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, formats, halves of characters, separators of lines and of paragraphs."""

JOINERS = "\u200c\u200d"
PLAIN = re.compile(r"[ -~]*")


def printable(text: str, *, lines: bool = False) -> str:
    """The same text without characters that are obeyed; with `lines`, its line feeds stay."""
    if PLAIN.fullmatch(text):
        return text
    kept = "\n" if lines else ""
    return "".join(
        char
        if category(char) not in OBEYED or char in kept or _joins(text, at)
        else char.encode("unicode_escape").decode()
        for at, char in enumerate(text)
    )


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between two characters that are shown, neither of them ASCII."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return (
        text[at] in JOINERS
        and len(around) == 2
        and all(char > "\x7f" and category(char) not in OBEYED for char in around)
    )
