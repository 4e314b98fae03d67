"""Where results go: not onto an input, not onto another result, not onto somebody else's file.

A file counts as written by sparsebounds if its first (of a PDF, its last) bytes say so:

    certificate, model file   "format": "sparsebounds-...
    report                    <meta name="generator" content="sparsebounds ...
    picture of a path         sparsebounds as the program that made it (PNG, PDF, SVG)
    predictions               the header that `predict` writes

Such a file, or an empty one, is replaced; any other only with --force. A checkpoint is read before
it is written, and one of other work is refused there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from sparsebounds._support.errors import InputError
from sparsebounds._support.files import check_output, resolved, same_file

LOOK = 4096
"""Bytes that are looked at, at both ends of a file."""

OURS = re.compile(
    rb"""\A\{\s*"format":[ ]"sparsebounds-
    | <meta[ ]name="generator"[ ]content="sparsebounds[ ]
    | \A\x89PNG.*Software\0sparsebounds[ ]
    | \A%PDF.*/Creator[ ]\(sparsebounds[ ]
    | <dc:title>sparsebounds[ ]
    | \Aprediction(,score([ ]of[ ][^\n]*)?|,"?probability[ ]of[ ][^\n]*)?\n""",
    re.VERBOSE | re.DOTALL,
)

ENDINGS = {
    "--checkpoint": (".npz",),
    "--certificate": (".json",),
    "--certificates": (".json",),
    "--out": (".json",),
    "--report": (".html", ".htm"),
}
OTHERS = {".csv", ".tsv", ".txt", ".xlsx", ".pdf", ".png", ".svg", ".npy", ".parquet", ".pkl"}
"""Endings that the kinds of files have, and those that say another kind."""

Outputs = Sequence[tuple[str, Path | None]]
"""Options and the files they name."""


def check_outputs(
    outputs: Outputs, inputs: Mapping[str, Path], *, force: bool, any_name: bool = False
) -> None:
    """InputError, before the work, for a file that cannot be written or must not be.

    With `any_name` its ending may say any kind.
    """
    given = [(option, path) for option, path in outputs if path is not None]
    known = OTHERS.union(*ENDINGS.values())
    for option, path in given:
        check_output(path, f"{option} {path}")
        for name, source in inputs.items():
            if same_file(path, source):
                raise InputError(
                    f"{option} {path} is the same file as {name} {source}, which it would replace; "
                    "name another file."
                )
    for (option, path), (other, second) in combinations(given, 2):
        if str(path) != os.devnull and same_file(path, second):
            raise InputError(
                f"{option} {path} and {other} {second} are the same file; name two of them."
            )
    for option, path in given:
        right = () if any_name else ENDINGS.get(option, ())
        if right and path.suffix.lower() in known.difference(right):
            raise InputError(f"{option} {path}: the name of such a file must end in {right[0]}.")
        if not force and option != "--checkpoint" and not _may_go(path):
            raise InputError(
                f"{option} {path} exists, and sparsebounds did not write it; name another file, or "
                "pass --force to replace it."
            )


def check_folder(option: str, folder: Path) -> None:
    """InputError, before the work, for a folder that cannot be made or written into."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{option} {there} is a file; name a folder.")
    check_output(there / ".sparsebounds", f"{option} {folder}")


def _may_go(path: Path) -> bool:
    """Whether nothing is lost with what a path names: no file, an empty one, or one of ours."""
    target, state = resolved(path)
    if state is None or not target.is_file() or state.st_size == 0:
        return True
    with target.open("rb") as stream:
        head = stream.read(LOOK)
        stream.seek(max(0, state.st_size - LOOK))
        return OURS.search(head + stream.read()) is not None
