"""docs/transcript.py shows what commands print; the made table is the one in the repository.

That the page is up to date is tested in test_docs.py, which runs its commands too.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import sparsebounds

DOCS = Path(__file__).resolve().parents[1] / "docs"


def loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_made_by_its_script() -> None:
    script = loaded(DOCS / "data" / "patients.py")
    assert (DOCS / "data" / "patients.csv").read_text() == script.patients().write_csv()


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("age   0.235718  \n\n", "age   0.235..."),
        ("lower bound 24.72728; this one", "lower bound 24.72...; this one"),
        ("25.353908999504707", "25.3539..."),
        ("7.0 passes over the data, 0.02 s", "... passes over the data, ... s"),
        ("so it is at\nmost 7.02e-13 from the\nbest.", "so it is at\nmost ... from the\nbest."),
        ("has 4.05: at most 5.0e-9 from\nit, 0.1%.", "has 4.05: at most ... from\nit, 0.1%."),
        ("RMSE  2.702  48 rows 0.52% 1e-4", "RMSE  2.702  48 rows 0.52% 1e-4"),
    ],
)
def test_what_differs_between_machines_is_masked(printed: str, shown: str) -> None:
    assert loaded(DOCS / "transcript.py").masked(printed) == shown


def test_long_json_is_cut() -> None:
    line = loaded(DOCS / "transcript.py").masked('{"a": "b", ' + '"c": "d", ' * 20 + "}")
    assert len(line) <= 80
    assert line.endswith(" ...}")


def test_outputs_are_replaced(tmp_path: Path) -> None:
    page = (
        "Text.\n\n```console\n$ sparsebounds \\\n    --version\nold\nolder\n"
        "$ head -n 1 made.txt\n```\n"
        "\n```python\nopen('made.txt', 'w').write('one\\ntwo\\n')\n```\n"
        "\n```console\n$ head -n 2 made.txt\n$ echo $?\n0\n```\n"
    )
    before = Path.cwd()
    now = loaded(DOCS / "transcript.py").rendered(page, tmp_path)
    assert Path.cwd() == before
    version = f"sparsebounds {sparsebounds.__version__}"
    assert f"    --version\n{version}\n$ head -n 1 made.txt\nhead: " in now
    assert now.endswith("$ head -n 2 made.txt\none\ntwo\n$ echo $?\n0\n```\n")
