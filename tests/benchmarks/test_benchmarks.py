"""The benchmarks can be started and are listed; a slower row is noticed. None of them runs here."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNABLE = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text()
)
HELP = """
import contextlib, importlib, importlib.util, io, json, sys
found = {}
for name in sys.argv[1:]:
    package = importlib.util.find_spec(name).submodule_search_locations is not None
    try:
        module = importlib.import_module(f"{name}.__main__" if package else name)
    except ModuleNotFoundError as error:
        found[name] = {"missing": error.name}
        continue
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            module.main(["--help"])
    except SystemExit as status:
        found[name] = {"status": status.code, "help": text.getvalue()}
print(json.dumps(found))
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: importing the benchmarks sets the number of threads."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_benchmark_is_listed():
    listed = python("-m", "benchmarks")
    assert listed.returncode == 0
    entries = re.findall(r"^([a-z_.]+)  +\S.*\n +Peers: .*\n +(.*);", listed.stdout, re.MULTILINE)
    assert {f"benchmarks.{name}" for name, _ in entries} == {*RUNNABLE} - {"benchmarks"}
    assert all("minute" in cost or cost == "No time" for _, cost in entries)


def test_every_benchmark_says_what_it_does():
    found = json.loads(python("-c", HELP, *RUNNABLE).stdout)
    assert sorted(found) == RUNNABLE
    optional = {"dask", "psutil", "polars", "sklearn", "zarr"}
    assert {one["missing"] for one in found.values() if "missing" in one} <= optional
    for name, one in found.items():
        if "missing" not in one:
            assert one["status"] == 0, name
            assert f"usage: python -m {name} [-h]" in one["help"], name


def test_every_file_opens_with_a_docstring_and_is_short():
    for path in (ROOT / "benchmarks").rglob("*.py"):
        text = path.read_text()
        assert ast.get_docstring(ast.parse(text)), path
        assert text.count("\n") <= 250, path


@pytest.mark.parametrize(("after", "slower"), [(1.04, 0), (1.06, 1)])
def test_a_slower_row_is_flagged(tmp_path, after, slower):
    def times(first: float, value: float) -> dict:
        rows = [{"row": "a", "seconds": first, "value": value}, {"row": "b", "seconds": 2.0}]
        return {"benchmark": "relaxation", "times": rows}

    (tmp_path / "before.json").write_text(json.dumps(times(1.0, 0.5)))
    (tmp_path / "after.json").write_text(json.dumps(times(after, 0.5 + 1e-12)))
    files = [str(tmp_path / name) for name in ("before.json", "after.json")]
    done = python("-m", "benchmarks.compare", *files)
    assert done.returncode == slower, done.stderr
    flagged = [line for line in done.stdout.splitlines() if "SLOWER" in line]
    assert [line.split()[0] for line in flagged] == ["a"] * slower
    assert "value" not in done.stdout


def test_a_row_that_did_other_work_is_noticed(tmp_path):
    for name, value in (("before", 0.5), ("after", 0.6)):
        rows = [{"row": "a", "seconds": 1.0, "value": value}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"benchmark": "exact", "times": rows}))
    files = [str(tmp_path / name) for name in ("before.json", "after.json")]
    assert "value 0.5 -> 0.6" in python("-m", "benchmarks.compare", *files).stdout
