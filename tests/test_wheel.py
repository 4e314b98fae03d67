"""What users get: the wheel, installed with its dependencies alone, away from the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import sparsebounds

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "sparsebounds"

# One worker builds and installs for all of these.
pytestmark = pytest.mark.xdist_group("wheel")


def run(*command: str | Path, cwd: Path, timeout: float = 600.0) -> str:
    """The output of a command run as if there were no source tree; its failure is the test's."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment, "PYTHONNOUSERSITE": "1", "PYTHONIOENCODING": "utf-8"},
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    shown = " ".join(str(part) for part in command)
    assert done.returncode == 0, f"{shown}\nends with status {done.returncode}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the tree (without isolation: the test extra brings the backend)."""
    out = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    run(*build, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts directory of a fresh environment that holds the wheel and what it asks for."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    scripts = Path(sysconfig.get_path("scripts", "venv", vars={"base": str(home)}))
    # Our pip, into that environment; what is not imported need not be compiled.
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-compile")
    run(*pip, "--quiet", "--disable-pip-version-check", wheel, cwd=home, timeout=1800.0)
    return scripts


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    metadata = f"sparsebounds-{sparsebounds.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"sparsebounds", metadata}
    assert "sparsebounds/py.typed" in names
    assert f"{metadata}/licenses/LICENSE" in names
    # Data files and templates too: one that git ignores would be left out without a word.
    source = {
        f"sparsebounds/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {name for name in names if name.startswith("sparsebounds/")} == source


def test_installed_package_imports(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sparsebounds as sb\n"
        "for name in sb.__all__:\n"
        "    getattr(sb, name)\n"
        "print(sb.__version__, sb.__file__)"
    )
    version, place = run(installed / "python", "-c", code, cwd=tmp_path).split(maxsplit=1)
    assert version == sparsebounds.__version__
    assert not Path(place.strip()).is_relative_to(ROOT)


def test_installed_command_tells_its_version(installed: Path, tmp_path: Path) -> None:
    assert sparsebounds.__version__ in run(installed / "sparsebounds", "--version", cwd=tmp_path)


def test_installed_demo_runs(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "sparsebounds", "demo", cwd=tmp_path, timeout=1200.0).strip()
