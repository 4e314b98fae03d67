"""README.md and docs/ are executed, block after block, each page in a directory of its own.

- ```python blocks run in one namespace per page.
- In ```console and ```sh blocks the lines that start with `$ sparsebounds` (or `$ head`) are run,
  beside the tables of docs/data: the first of a page and what needs a shell in a process of its
  own, the others in this one. Where output is shown below a command it is compared, `...`
  standing for anything (a time, a path). A command is expected to succeed, unless `$ echo $?`
  and the status follow it. docs/transcript.py writes the outputs of docs/commandline.md.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from typer.testing import CliRunner

import sparsebounds
from sparsebounds.cli import _output, app

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
SHELLS = {"console", "sh", "shell", "bash"}
RUN = {"sparsebounds", "head"}
SHELL = set("|&;<>()$`*?[]{}~#")
"""What a shell would read, in a command of ours."""
PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
DATA = ROOT / "docs" / "data"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page its text starts on."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown page, in order."""
    opening, start, inside = None, 0, list[str]()
    for number, line in enumerate(page.splitlines(), start=1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start, inside = fence, number + 1, []
        elif fence and not fence["info"].strip() and fence["ticks"].startswith(opening["ticks"]):
            words = opening["info"].split()
            yield Block(words[0].lower() if words else "", dedent("\n".join(inside)), start)
            opening = None
        else:
            inside.append(line)
    assert opening is None, f"the block that starts on line {start} is never closed"


@dataclass(frozen=True)
class Command:
    """A command of a shell block, with the output and the status the page promises."""

    text: str
    line: int
    output: str
    status: int


def commands(block: Block) -> list[Command]:
    """The commands of a shell block that are run."""
    entries: list[tuple[str, int, list[str]]] = []  # command, line, the lines shown below it
    continued = False
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if continued:
            text, at, shown = entries[-1]
            entries[-1] = (f"{text}\n{line}", at, shown)
        elif line.startswith("$ "):
            entries.append((line.removeprefix("$ "), number, []))
        elif entries:
            entries[-1][2].append(line.rstrip())
        else:
            assert not line.startswith("sparsebounds "), (
                f"line {number}: write it as `$ {line}`, so that this test runs it"
            )
        continued = line.endswith("\\") and bool(entries) and not entries[-1][2]
    found = []
    for index, (text, at, shown) in enumerate(entries):
        if not RUN & set(text.split()[:1]):
            continue
        after = entries[index + 1] if index + 1 < len(entries) else None
        status = int(after[2][0]) if after and after[0].strip() == "echo $?" else 0
        found.append(Command(text, at, "\n".join(shown).strip("\n"), status))
    return found


def shell_environment(directory: Path) -> dict[str, str]:
    """An environment whose `sparsebounds` is the one under test, plain and 100 columns wide."""
    directory.mkdir()
    script = directory / "sparsebounds"
    program = "from sparsebounds.cli import app; app(prog_name='sparsebounds')"
    call = f'exec {shlex.quote(sys.executable)} -c {shlex.quote(program)} "$@"'
    script.write_text(f"#!/bin/sh\n{call}\n", encoding="utf-8")
    script.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    path = os.pathsep.join([str(directory), environment.get("PATH", "")])
    return {**environment, **PLAIN, "PATH": path}


def run_in_shell(text: str, cwd: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The status and the output of a command, run as a reader would."""
    done = subprocess.run(
        text,
        shell=True,
        cwd=cwd,
        env=environment,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout


def run_here(words: list[str]) -> tuple[int, str]:
    """The same of `sparsebounds` with these words, without the imports of another process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as Python does, and pytest does not
        done = CliRunner().invoke(app, words, prog_name="sparsebounds")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def run_command(
    command: Command, where: str, cwd: Path, environment: dict[str, str], *, here: bool = False
) -> None:
    """Runs a command, in the current folder where `here`, and holds it to what the page shows."""
    name, *words = shlex.split(command.text.replace("\\\n", " "))
    if here and name == "sparsebounds" and not SHELL & set(command.text.replace("\\\n", " ")):
        status, output = run_here(words)
    else:
        status, output = run_in_shell(command.text, cwd, environment)
    place = f"{where}:{command.line}: $ {command.text}"
    assert status == command.status, (
        f"{place}\nends with status {status}, not {command.status}:\n{output}"
    )
    if command.output:
        got = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
        same = doctest.OutputChecker().check_output(
            f"{command.output}\n", f"{got}\n", doctest.ELLIPSIS
        )
        assert same, f"{place}\nshows\n{command.output}\nbut prints\n{got}"


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Runs a Python block; a traceback names the page and the line on it."""
    source = "\n" * (block.line - 1) + block.text
    exec(compile(source, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page.exists(), (
        "README.md is missing: write it, a newcomer and the package metadata need it"
    )
    environment = shell_environment(tmp_path / "bin")
    work = tmp_path / "work"
    work.mkdir()
    for table in DATA.glob("*.csv"):
        shutil.copy(table, work)
    monkeypatch.chdir(work)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # A module of its own, so that classes a page defines can be found by pickle.
    module = ModuleType("page_under_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)
    for console in (_output.console, _output.errors):
        monkeypatch.setattr(console, "width", int(PLAIN["COLUMNS"]))
    here = False
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            run_python(block, page, module.__dict__)
        elif block.language in SHELLS:
            for command in commands(block):
                run_command(command, page.name, work, environment, here=here)
                here = True


PAGE = """\
Text with `ticks`.

```python
x = 1
```

- a list

  ```console
  $ pip install something
  $ sparsebounds solve d.csv \\
      -k 3
  gap 0.1 in ... s

  done
  $ sparsebounds verify c.json
  refused
  $ echo $?
  1
  ```

````text
```python
not run
```
````
"""


def test_the_reader_of_pages() -> None:
    first, second, third = blocks(PAGE)
    assert first == Block("python", "x = 1", 4)
    assert third.language == "text"
    solve, verify = commands(second)
    assert solve == Command(
        "sparsebounds solve d.csv \\\n    -k 3", 11, "gap 0.1 in ... s\n\ndone", 0
    )
    assert verify == Command("sparsebounds verify c.json", 16, "refused", 1)
    with pytest.raises(AssertionError, match="so that this test runs it"):
        commands(Block("sh", "sparsebounds demo", 1))
    with pytest.raises(AssertionError, match="never closed"):
        list(blocks("```python\nx = 1"))


def test_the_runner_of_commands_compares(tmp_path: Path) -> None:
    environment = dict(os.environ)
    run_command(Command("echo took 3 s; exit 2", 1, "took ... s", 2), "page", tmp_path, environment)
    with pytest.raises(AssertionError, match="but prints"):
        run_command(Command("echo one", 1, "two", 0), "page", tmp_path, environment)
    with pytest.raises(AssertionError, match="ends with status 1, not 0"):
        run_command(Command("exit 1", 1, "", 0), "page", tmp_path, environment)
    version = f"sparsebounds {sparsebounds.__version__}"
    told = Command("sparsebounds --version", 1, version, 0)
    for here in (False, True):
        run_command(told, "page", tmp_path, shell_environment(tmp_path / f"{here}"), here=here)
    wrong = Command("sparsebounds --version", 1, "sparsebounds", 0)
    with pytest.raises(AssertionError, match="but prints"):
        run_command(wrong, "page", tmp_path, environment, here=True)
    with pytest.raises(AssertionError, match="ends with status 2, not 0"):
        run_command(Command("sparsebounds sovle", 1, "", 0), "page", tmp_path, {}, here=True)


def test_the_reference_names_all_that_is_public() -> None:
    """docs/api.md lists names by hand, in an order for readers."""
    listed = [
        line.strip()
        for block in blocks((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
        for line in block.text.splitlines()
        if re.fullmatch(r" {3}\w+", line)
    ]
    assert sorted([*listed, "__version__"]) == sorted(sparsebounds.__all__)


def test_every_page_has_its_place_in_a_chapter() -> None:
    """A page that no toctree names is on the site and cannot be found there."""
    entries = {
        line.rpartition("<")[2].rstrip(">")
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "{toctree}"
        for line in block.text.splitlines()
    }
    assert not {page.stem for page in PAGES if page != README} - entries - {"index"}


LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")


def anchors(page: str) -> set[str]:
    """The places that a page names: headings as the forge and the site spell them, and `a id`."""
    titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    return {*plain, *re.findall(r'<a id="([^"]+)">', page)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Those between files; `make docs` follows the rest of the site's."""
    for target, place in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("auto/"):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{target} does not exist"
        if place:
            assert place in anchors(file.read_text(encoding="utf-8")), f"{target}#{place}"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("I have a CSV with 40 columns and want 5", "commandline.md#five-minutes"),
        ("My gap is 20%. Is the model bad?", "gap.md"),
        ("Is my lasso any good?", "python.md"),
        ("My data do not fit into memory", "scale.md"),
    ],
)
def test_newcomers_find_answers(question: str, answer: str) -> None:
    """Home, questions and answers, the page: two clicks, and one more for a heading."""
    assert "<faq>\n" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    questions = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    assert f"({answer})" in questions.partition(f"\n### {question}\n")[2].partition("\n### ")[0]
