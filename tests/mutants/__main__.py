"""python -m tests.mutants: one-line faults, one at a time, and the tests that notice them.

A mutant is a row of `table.py`: a piece of text on one line of the source, what a slip would make
of it, and the tests that should fail then. It is applied to a copy of the package in a temporary
directory that stands first on PYTHONPATH: the working tree is never touched. First the tests of
all mutants run on the unchanged code, where they must pass.

A mutant is caught if its tests run and one of them fails. It is no mutant, and so a mistake in the
table, if its text does not occur exactly once, if the tests cannot be collected with it, or if a
test ends in an error of programming (a name that is not there) rather than of mathematics.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "sparsebounds"
SECONDS = 300
"""The most that the tests of one mutant may take; those of the unchanged code, four times that."""

PROGRAMMING = {"AttributeError", "ImportError", "IndexError", "KeyError", "NameError"}
PROGRAMMING |= {"ModuleNotFoundError", "SyntaxError", "TypeError", "UnboundLocalError"}


class TableError(Exception):
    """A row of the table that does not fit the source."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: caught by a test, survived, or no mutant at all."""

    mutant: Mutant
    verdict: str
    detail: str
    seconds: float

    @property
    def caught(self) -> bool:
        return self.verdict == "caught"


def place(mutant: Mutant) -> tuple[Path, int]:
    """The file, relative to the package, and the line (from 0) of the mutant's text."""
    path = PACKAGE / mutant.file
    if not path.is_file():
        raise TableError(f"{mutant.name}: there is no file {mutant.file}")
    if "\n" in mutant.old + mutant.new or mutant.old == mutant.new:
        raise TableError(f"{mutant.name}: old and new must differ, and be of one line")
    source = path.read_text(encoding="utf-8")
    lines, first, last = source.splitlines(), 0, len(source.splitlines())
    if mutant.within is not None:
        found = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == mutant.within
        ]
        if len(found) != 1:
            raise TableError(
                f"{mutant.name}: {mutant.file} has {len(found)} functions {mutant.within!r}"
            )
        first, last = found[0].lineno - 1, found[0].end_lineno or last
    hits = [i for i in range(first, last) for _ in range(lines[i].count(mutant.old))]
    if len(hits) != 1:
        where = mutant.file if mutant.within is None else f"{mutant.within} of {mutant.file}"
        raise TableError(f"{mutant.name}: {mutant.old!r} occurs {len(hits)} times in {where}")
    return Path(mutant.file), hits[0]


def mutated(base: Path, mutant: Mutant, to: Path) -> Path:
    """A copy of the compiled package with the fault in it; the directory for PYTHONPATH."""
    file, line = place(mutant)
    shutil.copytree(base, to)
    target = to / "sparsebounds" / file
    lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[line] = lines[line].replace(mutant.old, mutant.new)
    target.write_text("".join(lines), encoding="utf-8")
    for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
        stale.unlink()
    return to


def environment(source: Path) -> dict[str, str]:
    """One BLAS thread, no bytecode written, and this source before any that is installed."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return (
        os.environ
        | threads
        | {
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SCIPY_ARRAY_API": "1",
            "COLUMNS": "400",
        }
    )


def run_tests(source: Path, tests: Sequence[str], limit: float) -> tuple[int, str]:
    """pytest's exit code (-1: out of time) and what it printed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=ROOT,
            env=environment(source),
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout + done.stderr


def shadowed(source: Path) -> str:
    """The package that the tests would import: it must be the copy."""
    code = "import sparsebounds; print(sparsebounds.__file__)"
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, cwd=ROOT, env=environment(source), text=True).strip()


def tried(base: Path, mutant: Mutant) -> Outcome:
    """Apply a mutant to a copy, run its tests there, and throw the copy away."""
    began = time.perf_counter()

    def outcome(verdict: str, detail: str) -> Outcome:
        return Outcome(mutant, verdict, detail, time.perf_counter() - began)

    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        source = mutated(base, mutant, Path(folder) / "src")
        try:
            ast.parse((source / "sparsebounds" / mutant.file).read_text(encoding="utf-8"))
        except SyntaxError as error:
            return outcome("INVALID", f"it is no Python: {error}")
        code, printed = run_tests(source, mutant.tests, SECONDS)
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", printed, re.MULTILINE)
    if code == 0:
        return outcome("SURVIVED", "")
    if code == -1:
        return outcome("INVALID", f"its tests took more than {SECONDS} s")
    if code != 1 or found is None:
        last = printed.strip().splitlines()[-1:] or ["no output"]
        return outcome("INVALID", f"its tests did not run: {last[0]}")
    error = (found[2] or "").partition(":")[0].split(".")[-1].strip()
    if error in PROGRAMMING:
        return outcome("INVALID", f"{found[1]} ends in {found[2]}")
    return outcome("caught", found[1].removeprefix("tests/"))


def main() -> int:
    """The exit code: 0 where every mutant is caught, 1 where one is not, 2 for a wrong table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="a mutant, or the start of some names; may be repeated",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="mutants at a time")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    options = parser.parse_args()
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options.only or any(mutant.name.startswith(name) for name in options.only)
    ]
    names = [mutant.name for mutant in MUTANTS]
    try:
        if len(set(names)) < len(names):
            raise TableError("two mutants have the same name")
        if not chosen:
            raise TableError(f"no mutant's name starts with {' or '.join(options.only)}")
        places = [place(mutant) for mutant in chosen]
    except TableError as error:
        print(f"The table of mutants is wrong: {error}.", file=sys.stderr)
        return 2
    if options.list:
        for mutant, (file, line) in zip(chosen, places, strict=True):
            print(f"{mutant.name:38s} {file}:{line + 1}\n    - {mutant.old}\n    + {mutant.new}")
        return 0

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        base = Path(folder) / "src"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, base / "sparsebounds", ignore=ignored)
        compileall.compile_dir(base, quiet=2)
        if not Path(shadowed(base)).is_relative_to(base):
            print("Another sparsebounds is imported before the copy.", file=sys.stderr)
            return 2
        began = time.perf_counter()
        tests = sorted({test for mutant in chosen for test in mutant.tests})
        print(f"The unchanged code: {len(tests)} tests and files of tests ... ", end="", flush=True)
        code, printed = run_tests(base, tests, 4 * SECONDS)
        if code != 0:
            print(f"not all pass (pytest's exit code is {code}).\n{printed[-2000:]}")
            return 2
        print(f"all pass, {time.perf_counter() - began:.0f} s.")
        outcomes = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for one in pool.map(lambda mutant: tried(base, mutant), chosen):
                file, line = place(one.mutant)
                where = f"{file}:{line + 1}"
                name, seconds = one.mutant.name, one.seconds
                shown = one.detail if one.caught else f"{one.verdict} {one.detail}"
                print(f"{name:38s} {where:34s} {seconds:5.1f} s  {shown}", flush=True)
                outcomes.append(one)
    missed = [one.mutant.name for one in outcomes if not one.caught]
    spent = time.perf_counter() - began
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} caught in {spent:.0f} s.")
    if missed:
        print(f"Not caught: {', '.join(missed)}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
