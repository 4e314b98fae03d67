"""Writes the outputs shown in docs/commandline.md and docs/walk.md: what commands print now.

    python docs/transcript.py            # rewrites the pages
    python docs/transcript.py --check    # says whether it would

The commands of a page run in order, in a folder of their own beside the tables of docs/data;
its Python blocks run too. Blocks marked `sh` stay as they were written by hand. Times and the
last digits of numbers become `...`, which tests/test_docs.py, where the same commands run again,
takes for anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = (HERE / "commandline.md", HERE / "walk.md")
SHOWN = 7
"""Characters of a number that are shown, of those that have more."""

LONGEST = 76
"""Characters of a line of JSON that are shown."""

COST = re.compile(r"\d+(\.\d+)?(?= passes over)|\d+\.\d+(?= s\b)")
TINY = re.compile(r"(at\s+most\s+)\S+e-\d+(?=\s+from)")
"""A distance of nothing but rounding."""

NUMBER = re.compile(r"\d+\.\d+")


def masked(text: str) -> str:
    """An output without what differs from machine to machine."""

    def shortened(number: re.Match[str]) -> str:
        digits = number[0]
        kept = digits[: min(len(digits) - 3, SHOWN)].rstrip(".")
        return digits if len(digits) < SHOWN else f"{kept}..."

    lines = []
    for line in TINY.sub(r"\1...", text).strip("\n").splitlines():
        line = COST.sub("...", line.rstrip())
        line = NUMBER.sub(shortened, line)
        if line.startswith("{") and len(line) > LONGEST:
            line = f"{line[:LONGEST].rsplit(' ', 1)[0]} ...}}"
        lines.append(line)
    return "\n".join(lines)


def rendered(page: str, folder: Path) -> str:
    """The page with what its commands print, run in `folder`."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from test_docs import blocks, commands, shell_environment

    environment = shell_environment(folder / "bin")
    work, lines, namespace = folder / "work", page.splitlines(), dict[str, Any]()
    work.mkdir()
    for table in (HERE / "data").glob("*.csv"):
        (work / table.name).write_bytes(table.read_bytes())
    before, moved = os.getcwd(), 0
    for block in list(blocks(page)):
        if block.language == "python":
            os.chdir(work)
            exec(compile(block.text, "page", "exec"), namespace)
            os.chdir(before)
        for command in commands(block) if block.language == "console" else []:
            done = subprocess.run(
                command.text,
                shell=True,
                cwd=work,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            new = masked(done.stdout).splitlines()
            old = command.output.splitlines()
            start = command.line - 1 + command.text.count("\n") + 1 + moved
            lines[start : start + len(old)] = new
            moved += len(new) - len(old)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Rewrite the pages, or with --check say whether they are as they should be."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            now = rendered(page, Path(folder))
        if "--check" not in sys.argv:
            path.write_text(now, encoding="utf-8")
        elif now != page:
            sys.exit(f"{path} is not what its commands print: run {sys.argv[0]}")


if __name__ == "__main__":
    main()
