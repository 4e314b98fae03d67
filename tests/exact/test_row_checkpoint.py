"""Searches over rows stopped, killed and taken up again; files that are not theirs, or forged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exact.test_rows import struck_at
from tests.presses import Presser
from tests.test_damaged_checkpoints import arrays_of, broken, forged, refused
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.exact import RowCheckpoint, SearchProgress, row_bounding, row_models, rows
from sparsebounds.losses import Truncated
from sparsebounds.solving.solve import solve_program

LOSS = Truncated(c=0.5)
PROBLEMS: dict[str, dict[str, Any]] = {
    "price": {"l0": 0.01, "ridge": 0.02},
    "intercept": {"k": 2, "ridge": 0.05, "fit_intercept": True},
}


def posed(name: str, n: int = 8) -> sb.Program:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 3)), 1.5 * rng.normal(size=n)
    return sb.Program(X, y, loss=LOSS, **PROBLEMS[name])


@pytest.fixture(scope="module", params=PROBLEMS)
def program(request: pytest.FixtureRequest) -> sb.Program:
    return posed(request.param)


@pytest.fixture(scope="module")
def whole(program: sb.Program) -> sb.Solution:
    return solve_program(program, exact=True)


def assert_same(found: sb.Solution, whole: sb.Solution) -> None:
    """Bounds, nodes, model, lists of rows, and every number of the tree."""
    assert (found.lower, found.upper) == (whole.lower, whole.upper)
    assert (found.stats.nodes, found.status) == (whole.stats.nodes, whole.status)
    np.testing.assert_array_equal(found.coef, whole.coef)
    assert str(found.outliers) == str(whole.outliers)
    tree, other = found.certificate.rows, whole.certificate.rows
    assert tree is not None
    assert other is not None
    for name in set(vars(tree)) & set(type(tree).__dataclass_fields__) - {"spans"}:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
    assert len(tree.spans) == len(other.spans)


def test_a_search_in_pieces_is_the_search_in_one(
    program: sb.Program, whole: sb.Solution, tmp_path: Path
) -> None:
    file, rng, nodes = tmp_path / "search.npz", np.random.default_rng(3), [0]
    while True:
        press = Presser(int(rng.integers(1, 7)), SearchProgress)
        piece = solve_program(program, exact=True, checkpoint=file, callback=press)
        assert piece.lower <= whole.upper
        nodes.append(piece.stats.nodes)
        if not piece.stats.interrupted:
            break
    assert len(nodes) > 3
    assert nodes == sorted(nodes)
    assert_same(piece, whole)
    assert piece.certificate.verify(program.data.matrix.columns(np.arange(3)), program.y).ok
    # The file stays; with it there is nothing left to do, even in no time.
    for limit in (None, 1e-9):
        assert_same(solve_program(program, exact=True, checkpoint=file, time_limit=limit), whole)


def test_ctrl_c_within_a_step(
    program: sb.Program, whole: sb.Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the step did is forgotten: in the file it is as it was before."""
    places = [
        (row_bounding, "best_shares"),
        (rows, "relaxed_node"),
        (row_models, "local_refit"),
        (rows.Record, "chain"),
    ]
    rng, struck = np.random.default_rng(5), 0
    for number, (owner, name) in enumerate(places):
        file = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patched:
            plain, at = getattr(owner, name), int(rng.integers(1, 6))
            patched.setattr(owner, name, struck_at(plain, count(1), at))
            piece = solve_program(program, exact=True, checkpoint=file)
        struck += piece.stats.interrupted
        assert_same(solve_program(program, exact=True, checkpoint=file), whole)
    assert struck >= 2


def test_limits_of_nodes(program: sb.Program, whole: sb.Solution, tmp_path: Path) -> None:
    """A step that a limit cuts short counts for the answer, and is done again from the file."""
    file = tmp_path / "search.npz"
    for limit in (whole.stats.nodes // 2, whole.stats.nodes - 1):
        pieces = solve_program(program, exact=True, node_limit=limit, checkpoint=file)
        one = solve_program(program, exact=True, node_limit=limit)
        assert_same(pieces, one)
    assert_same(solve_program(program, exact=True, checkpoint=file), whole)


SCRIPT = """
import sys, time
from tests.exact.test_row_checkpoint import posed
from sparsebounds._support import checkpoint as _checkpoint
from sparsebounds.exact import SearchProgress, checkpoint
from sparsebounds.solving.solve import solve_program
checkpoint.INTERVAL, _checkpoint.SHARE = 0.01, 1.0
def slowly(now):
    if isinstance(now, SearchProgress):
        time.sleep(0.1)
solve_program(posed("price"), exact=True, checkpoint=sys.argv[1], callback=slowly)
print("finished")
"""


def test_a_killed_search_goes_on(
    tmp_path: Path, killed: Callable[[str, Path, float], None]
) -> None:
    program, file = posed("price"), tmp_path / "search.npz"
    whole = solve_program(program, exact=True)
    for seconds in (0.0, 0.25):
        killed(SCRIPT, file, seconds)
        saved = RowCheckpoint(file, program, 1e-4).saved
        assert saved is not None
        assert 0 < saved.nodes < whole.stats.nodes
    assert_same(solve_program(program, exact=True, checkpoint=file), whole)
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".npz"] == ["search.npz"]


def test_a_file_of_another_search_is_refused(tmp_path: Path) -> None:
    program, file = posed("price"), tmp_path / "search.npz"
    solve_program(program, exact=True, node_limit=4, checkpoint=file)
    content, X, y = file.read_bytes(), program.matrix.columns(np.arange(3)), program.y
    other = X.copy()
    other[3, 1] += 1.0
    terms = PROBLEMS["price"]
    for one, tol, reason in (
        (sb.Program(other, y, loss=LOSS, **terms), 1e-4, "on other data"),
        (sb.Program(X, y, loss=Truncated(c=0.6), **terms), 1e-4, "another problem"),
        (sb.Program(X, y, **terms), 1e-4, "another problem"),
        (program, 1e-5, "with tol=0.0001, not 1e-05"),
    ):
        with pytest.raises(InputError, match=f"search.npz' belongs.*{reason}.*; name another"):
            solve_program(one, tol, exact=True, checkpoint=file)
    assert file.read_bytes() == content
    convex = tmp_path / "convex.npz"
    solve_program(sb.Program(X, y, k=1, ridge=1e-3), 1e-9, exact=True, checkpoint=convex)
    if convex.exists():
        with pytest.raises(InputError, match="belongs to a search"):
            solve_program(program, exact=True, checkpoint=convex)


def test_a_full_disk_does_not_end_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparsebounds._support.checkpoint.write_atomically", full)
    with pytest.warns(UserWarning, match=r"search.npz was not written: .*No space left"):
        found = solve_program(posed("price"), exact=True, checkpoint=tmp_path / "search.npz")
    assert found.status == "optimal"


def test_damaged_files(program: sb.Program, whole: sb.Solution, tmp_path: Path) -> None:
    """A sentence, or a result that is valid, whatever was changed."""
    file, known = tmp_path / "search.npz", candidates(program)
    solve_program(program, exact=True, checkpoint=file, callback=Presser(7, SearchProgress))
    content, arrays = file.read_bytes(), arrays_of(file)
    best, rng, taken = known.best(), np.random.default_rng(7), 0
    sizes = np.abs(known.residuals[known.values <= best * (1.0 + 1e-10)])

    def check(limit: int = 20) -> bool:
        found = refused(
            lambda: solve_program(program, exact=True, node_limit=limit, checkpoint=file)
        )
        if found is None:
            return False
        assert found.lower <= best <= found.upper * (1.0 + 1e-12)
        assert program.objective(found.coef, found.intercept) <= found.upper
        assert found.certificate.verify(program.matrix.columns(np.arange(3)), program.y).ok
        outliers = found.outliers
        assert np.all(sizes[:, outliers.proved_out] >= LOSS.c * (1.0 - 1e-9))
        assert np.all(sizes[:, outliers.proved_in] <= LOSS.c * (1.0 + 1e-9))
        return True

    for _ in range(8):
        file.write_bytes(broken(content, rng))
        taken += check()
    assert taken <= 4  # a time stamp of the archive, say
    for _ in range(15):
        np.savez(file, **forged(arrays, rng, {"format", "data", "problem", "tol"}))
        taken += check()
    # Bounds and values that are too good, which nothing but a proof tells from true ones.
    held = {name: arrays[name] for name in arrays if name != "checksum"}
    b, eta, value = held["b_eta_value"]
    for lie in (
        {"lower": held["lower"] + 1.0},
        {"lower": np.full_like(held["lower"], np.inf)},
        {"b_eta_value": np.array([b, eta, 0.5 * value])},
        {"b_eta_value": np.array([b, eta, -1.0]), "lower": held["lower"] + 1.0},
    ):
        np.savez(file, **held | lie)
        assert check()
    for leaf in range(len(held["lower"])):
        # As if only this leaf could hold a best model.
        lower = np.where(np.arange(len(held["lower"])) == leaf, 0.0, 1e3)
        np.savez(file, **held | {"lower": lower})
        assert check(1)
    assert taken >= 2
