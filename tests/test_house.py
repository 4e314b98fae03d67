"""The house: who may import whom, what an import loads, how long files are, what is public."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.mutants import __main__ as mutants

import sparsebounds

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "sparsebounds"

# A module may import from its own layer and from the ones above it.
# FACE is the package itself: `import sparsebounds` reaches every public name.
FACE = "sparsebounds"
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "_support"),
    ("losses",),
    ("penalties",),
    ("matrices",),
    ("arguments",),
    ("data",),
    ("groups", "ridge", "yardstick"),
    # One layer: a problem read from a file poses itself.
    ("problem", "program"),
    ("bounds",),
    ("certificates",),
    ("relaxation",),
    ("fitting",),
    ("primalization",),
    ("models",),
    ("exact",),
    # One layer: a solution and a path write their own reports, which are made of both.
    ("solving", "paths", "ranks", "report"),
    ("estimators",),
    ("datasets",),
    ("tables",),
    (FACE,),
    ("experiments",),
    ("cli",),
    ("__main__",),
    ("testing",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

SKLEARN_ALLOWED = {"report", "estimators", "datasets", "tables", "cli", "testing"}
MAX_LINES = 400

MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [path.relative_to(PACKAGE).as_posix() for path in MODULES]


def layer_of(path: Path) -> str:
    """The top-level module or subpackage that `path` belongs to; FACE for the package itself."""
    first = path.relative_to(PACKAGE).parts[0]
    return FACE if first == "__init__.py" else first.removesuffix(".py")


def imported_modules(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import in a file, those inside functions included.

    `from a.b import c` yields "a.b.c", which is right whether c is a module or a name.
    """
    package = ("sparsebounds", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(source, str(path))):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom():
                base = package[: len(package) + 1 - node.level] if node.level else ()
                start = [*base, node.module] if node.module else [*base]
                for alias in node.names:
                    yield node.lineno, ".".join([*start, alias.name])
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def target_layer(dotted: str) -> str | None:
    """The layer that an import reaches into, None for other people's packages."""
    head, *rest = dotted.split(".")
    if head != "sparsebounds":
        return None
    if not rest or rest[0] == "*":
        return FACE
    if rest[0] == "__version__":
        return "_version"
    home = sparsebounds._HOME.get(rest[0])
    return home.split(".")[1] if home else rest[0]


def test_every_module_has_a_layer() -> None:
    homeless = {layer_of(path) for path in MODULES} - RANK.keys()
    assert not homeless, (
        f"no layer is known for {', '.join(sorted(homeless))}: "
        "place each in LAYERS at the head of tests/test_house.py, below all that it imports"
    )


@cache
def every_import() -> list[tuple[str, str, str]]:
    """(place, layer, dotted name) of every import in the package, its face aside."""
    return [
        (f"{name}:{line}", layer_of(path), dotted)
        for path, name in zip(MODULES, NAMES, strict=True)
        if layer_of(path) != FACE  # it names every layer and loads none, see below
        for line, dotted in imported_modules(path.read_text(encoding="utf-8"), path)
    ]


def test_imports_point_upwards() -> None:
    wrong = []
    for place, layer, dotted in every_import():
        target = target_layer(dotted)
        if target is None:
            continue
        assert target in RANK, f"{place} imports {dotted}, for which LAYERS has no place"
        if RANK[target] > RANK[layer]:
            wrong.append(f"{place}: {dotted}")
    assert not wrong, f"a layer may import only from those above it, but: {'; '.join(wrong)}"


def test_packages_are_entered_by_their_front_door() -> None:
    """Another package's names come from its `__init__`; `_support` is a cupboard, not a room."""
    wrong = []
    for place, layer, dotted in every_import():
        head, *rest = dotted.split(".")
        if head == "sparsebounds" and len(rest) > 2 and rest[0] not in (layer, "_support"):
            wrong.append(f"{place}: {dotted}")
    assert not wrong, "\n".join(wrong)


def test_scikit_learn_stays_in_its_layers() -> None:
    wrong = [
        place
        for place, layer, dotted in every_import()
        if dotted.split(".")[0] == "sklearn" and layer not in SKLEARN_ALLOWED
    ]
    assert not wrong, f"sklearn belongs to {sorted(SKLEARN_ALLOWED)}, not to {wrong}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import sparsebounds.exact.node", {"exact"}),
        ("import sparsebounds as sb", {FACE}),
        ("from sparsebounds import Program, losses", {"program", "losses"}),
        ("from sparsebounds import __version__", {"_version"}),
        ("from sparsebounds.bounds import lower_bound", {"bounds"}),
        ("from . import dense", {"matrices"}),
        ("from .dense import Dense", {"matrices"}),
        ("from ..relaxation import relax", {"relaxation"}),
        ("from .. import exact", {"exact"}),
        ("def f():\n    from sparsebounds.cli import app", {"cli"}),
        ("if TYPE_CHECKING:\n    from sparsebounds.exact import Tree", {"exact"}),
        ("importlib.import_module('sparsebounds.report')", {"report"}),
        ("import numpy, sparsebounds_other", set()),
    ],
)
def test_the_reader_of_imports_misses_nothing(source: str, expected: set[str]) -> None:
    path = PACKAGE / "matrices" / "dense.py"
    found = {target_layer(dotted) for _, dotted in imported_modules(source, path)}
    assert found - {None} == expected


def loaded_by(statement: str) -> set[str]:
    """The names of the modules a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{statement!r} fails in a fresh interpreter:\n{done.stderr}"
    return set(done.stdout.split())


def under(modules: set[str], *prefixes: str) -> list[str]:
    """Those of `modules` that are one of `prefixes`, or inside one."""
    return sorted(m for m in modules if any(m == p or m.startswith(f"{p}.") for p in prefixes))


def test_importing_the_package_loads_nothing_else() -> None:
    loaded = loaded_by("import sparsebounds")
    heavy = ("numpy", "scipy", "sklearn", "polars", "pandas", "typer", "matplotlib")
    assert not under(loaded, *heavy, *EXTRAS)
    assert under(loaded, "sparsebounds") == ["sparsebounds", "sparsebounds._version"]


EXTRAS = ("torch", "cupy", "dask", "distributed", "zarr", "h5py", "array_api_strict")
"""Libraries of arrays that users may bring: loaded by who brings them, and by nobody else."""

WORK = """
import sys
asked = []
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            asked.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import numpy as np
import sparsebounds as sb
from sparsebounds.cli import app
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
program = sb.Program(X, y, k=2, ridge=0.1)
solution = sb.solve(X, y, k=2, ridge=0.1)
assert solution.certificate.verify(X, y).ok
assert len(sb.path(X, y, ks=[1, 2], ridge=0.1)) == 2
assert sb.certify(program, solution.coef).lower <= solution.upper
sb.rank_bounds(program, [2])
sb.SparseRegressorCV(ks=[1, 2], cv=2).fit(X, y).predict(X)
sb.SparseSelector(k=2).fit_transform(X, y)
assert not asked, asked
"""


def test_numpy_users_need_no_other_library() -> None:
    """Never asked for: neither loaded where they are installed, nor missed where they are not."""
    assert not under(loaded_by(WORK.format(hidden=EXTRAS)), *EXTRAS)


def test_verifying_a_certificate_needs_no_solver() -> None:
    loaded = loaded_by("import sparsebounds.certificates")
    foreign = ("scipy.optimize", "sklearn", "typer", "polars", "pandas")
    assert not under(loaded, *foreign, *EXTRAS)
    rank = RANK["certificates"]
    later = [f"sparsebounds.{name}" for name in RANK if RANK[name] > rank and name != FACE]
    assert not under(loaded, *later)


def test_files_are_short() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES]
    long = {name: count for name, count in zip(NAMES, lengths, strict=True) if count > MAX_LINES}
    assert not long, f"one mathematical object per file, split these: {long}"


def test_every_mutant_has_its_place_and_its_tests() -> None:
    """tests/mutants/table.py: its rows move with the code and with the tests."""
    lost = []
    for mutant in mutants.MUTANTS:
        try:
            mutants.place(mutant)
        except mutants.TableError as error:
            lost.append(str(error))
    for test in sorted({test for mutant in mutants.MUTANTS for test in mutant.tests}):
        file, _, name = test.partition("::")
        path = ROOT / file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (f"def {name.partition('[')[0]}(" if name else "def test_") not in source:
            lost.append(f"there is no {test}")
    assert not lost, "\n".join(lost)


def test_the_map_names_what_is_there() -> None:
    """docs/architecture.md: rooms in the order of LAYERS, and files that exist."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = re.search(r"```text\n(.+?)```", text, re.DOTALL)
    assert drawing is not None
    drawn = [word for line in drawing[1].splitlines() for word in re.split(r" {2,}", line)]
    rooms = [word for word in drawn if word in RANK]
    unseen = {FACE, "_version", "__main__"}
    assert sorted(rooms) == sorted(RANK.keys() - unseen)
    assert rooms == sorted(rooms, key=RANK.__getitem__)
    # In capitals: what is to be filled in.
    files = set(re.findall(r"`([a-z0-9_/]+/[a-z0-9_]+\.[a-z.]+)`", text))
    assert len(files) > 50
    assert not [name for name in files if not any((at / name).exists() for at in (ROOT, PACKAGE))]


def test_public_names_resolve() -> None:
    assert dir(sparsebounds) == sorted(sparsebounds.__all__)
    for name in sparsebounds.__all__:
        value = getattr(sparsebounds, name)
        assert getattr(sparsebounds, name) is value


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    declared = {
        (statement.module, alias.asname)
        for block in blocks
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    table = {(home, name) for name, home in sparsebounds._HOME.items()}
    assert declared == table | {("sparsebounds", name) for name in sparsebounds._MODULES}


def test_unknown_names_raise_the_usual_sentence() -> None:
    with pytest.raises(AttributeError, match="module 'sparsebounds' has no attribute 'sovle'"):
        sparsebounds.sovle  # noqa: B018


def test_the_citation_states_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [sparsebounds.__version__]
