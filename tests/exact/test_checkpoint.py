"""Searches stopped, killed and taken up again; files that are no checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.checkpoint import CHECKSUM, _checksum
from sparsebounds._support.errors import InputError
from sparsebounds.certificates.tree import tree_bound
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import Checkpoint, ExactSearch, Proof, SearchProgress
from sparsebounds.models import refit
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import relax
from sparsebounds.solving.solve import solve_program
from sparsebounds.testing import brute_force, random_program

DATA = make_correlated(60, 40, 0.9, nonzeros=8, random_state=0)
TERMS: dict[str, dict[str, Any]] = {
    "k+ridge": {"k": 8, "ridge": 0.01},
    "l0+ridge": {"l0": 0.05, "ridge": 0.02},
    "k+ball": {"k": 4, "ball": 4.0},
    "logistic": {"k": 3, "ridge": 0.02, "loss": "logistic"},
}


def posed(name: str) -> Program:
    y = np.sign(DATA.y) if name == "logistic" else DATA.y
    return Program(DATA.X[:, :20] if "ball" in name else DATA.X, y, **TERMS[name])


def cold(program: Program, file: Checkpoint | None, node_limit: float = np.inf) -> Proof:
    """A search from no model at all, so that it meets better ones on its way."""
    saved = None if file is None else file.saved
    start = refit(program, np.zeros(0, dtype=np.int64))
    search = ExactSearch(program, relax(program), start, 1e-4, saved)
    return search.run(lambda: False, node_limit, None, file)


@pytest.mark.parametrize("name", TERMS)
def test_a_search_in_pieces_is_the_search_in_one(name: str, tmp_path: Path) -> None:
    program = posed(name)
    whole = cold(program, None)
    assert whole.open == 0
    for limit in (1, whole.nodes // 3, 2 * whole.nodes // 3, np.inf):
        proof = cold(program, Checkpoint(tmp_path / "search.npz", program, 1e-4), limit)
        assert proof.lower == tree_bound(program, proof.tree, claim=True)
        assert proof.lower <= tree_bound(program, proof.tree) <= whole.model.value
    assert (proof.nodes, proof.open) == (whole.nodes, 0)
    assert proof.newton_steps == whole.newton_steps
    assert (proof.lower, proof.model.value) == (whole.lower, whole.model.value)
    np.testing.assert_array_equal(proof.model.w, whole.model.w)
    for part in ("parent", "feature", "counts", "support", "values", "fixed_counts", "fixed"):
        np.testing.assert_array_equal(getattr(proof.tree, part), getattr(whole.tree, part))
    assert proof.tree.shifts.keys() == whole.tree.shifts.keys()
    np.testing.assert_array_equal(proof.tree.exhausted, whole.tree.exhausted)
    assert (len(whole.tree.exhausted) > 0) == (name == "k+ridge")
    assert (whole.tree.minorant is not None) == (name in ("k+ridge", "l0+ridge"))
    if whole.tree.minorant is not None:
        for part, value in vars(whole.tree.minorant).items():
            np.testing.assert_array_equal(getattr(proof.tree.minorant, part), value)


@pytest.mark.parametrize("form", get_args(Form))
def test_pieces_prove_the_optimum(form: Form, tmp_path: Path) -> None:
    for seed in range(3):
        program = random_program(seed, form=form, fit_intercept=bool(seed % 2))
        path = tmp_path / f"{seed}.npz"
        nodes, proof = 0, cold(program, Checkpoint(path, program, 1e-4), 1)
        while proof.open:
            assert proof.nodes > nodes
            nodes = proof.nodes
            proof = cold(program, Checkpoint(path, program, 1e-4), nodes + 1)
        optimum = brute_force(program).value
        assert proof.lower <= optimum
        assert proof.model.value == pytest.approx(optimum, rel=1e-4)
        assert program.relative(proof.model.value - proof.lower, proof.model.value) <= 1e-4


def test_solve_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    program, path = posed("k+ridge"), tmp_path / "search.npz"
    whole = solve_program(program, exact=True)
    first = solve_program(program, exact=True, node_limit=50, checkpoint=path)
    assert (first.status, path.exists()) == ("bounded", True)
    assert " open of " in first.message
    assert "rule of thumb" in first.message
    second = solve_program(program, exact=True, checkpoint=path)
    assert (second.upper, second.lower) == (whole.upper, whole.lower)
    assert second.stats.nodes == whole.stats.nodes > first.stats.nodes
    assert second.status == "optimal"
    assert second.certificate.verify(DATA.X, DATA.y).ok
    assert "rule of thumb" not in second.message
    # The file stays; with it there is nothing left to do, even in no time.
    seen: list[Any] = []
    third = solve_program(program, exact=True, checkpoint=path, callback=seen.append)
    assert not any(isinstance(now, SearchProgress) for now in seen)
    late = solve_program(program, exact=True, checkpoint=path, time_limit=1e-9)
    assert (third.lower, third.upper) == (whole.lower, whole.upper)
    # In no time the model is that of the file, which was fitted in the smaller program.
    assert (late.lower, late.support.tolist()) == (whole.lower, whole.support.tolist())
    assert late.upper == pytest.approx(whole.upper, rel=1e-15)


def test_ctrl_c_is_saved(tmp_path: Path) -> None:
    program, path = posed("k+ridge"), tmp_path / "search.npz"
    whole = solve_program(program, exact=True)
    seen: list[int] = []

    def press(now: Any) -> None:
        if isinstance(now, SearchProgress):
            seen.append(now.nodes)
            if len(seen) % 5 == 0:
                raise KeyboardInterrupt

    solutions = [
        solve_program(program, exact=True, checkpoint=path, callback=press) for _ in range(3)
    ]
    assert [solution.status for solution in solutions] == ["bounded"] * 3
    assert seen == sorted(set(seen))
    assert solutions[-1].stats.nodes == seen[-1]
    done = solve_program(program, exact=True, checkpoint=path)
    assert (done.upper, done.lower, done.stats.nodes) == (
        whole.upper,
        whole.lower,
        whole.stats.nodes,
    )


SCRIPT = """
import sys, time
import sparsebounds as sb
from sparsebounds.datasets import make_correlated
from sparsebounds._support import checkpoint as _checkpoint
from sparsebounds.exact import SearchProgress, checkpoint
checkpoint.INTERVAL, _checkpoint.SHARE = 0.05, 1.0
data = make_correlated(60, 40, 0.9, nonzeros=8, random_state=0)
def slowly(now):
    if isinstance(now, SearchProgress):
        time.sleep(0.04)
sb.solve(data.X, data.y, k=8, ridge=0.01, exact=True, checkpoint=sys.argv[1], callback=slowly)
print("finished")
"""


def test_a_killed_search_goes_on(
    tmp_path: Path, killed: Callable[[str, Path, float], None]
) -> None:
    path = tmp_path / "search.npz"
    killed(SCRIPT, path, 0.1)
    program = posed("k+ridge")
    saved = Checkpoint(path, program, 1e-4).saved
    assert saved is not None
    whole = solve_program(program, exact=True)
    assert 1 < saved.nodes < whole.stats.nodes
    resumed = solve_program(program, exact=True, checkpoint=path)
    assert (resumed.upper, resumed.lower) == (whole.upper, whole.lower)
    assert resumed.stats.nodes == whole.stats.nodes
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".npz"] == ["search.npz"]


# Files that are no checkpoint of the search at hand.


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "search.npz"
    solve_program(posed("k+ridge"), exact=True, node_limit=30, checkpoint=path)
    return path


def test_a_damaged_file_is_refused(saved: Path) -> None:
    content, program = saved.read_bytes(), posed("k+ridge")
    rng = np.random.default_rng(0)
    damaged = [b"PK", content[: len(content) // 2], content[:-1], b"\0" * 1000]
    for place in rng.integers(0, len(content), 200).tolist():
        damaged.append(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
    before = Checkpoint(saved, program, 1e-4).saved
    assert before is not None
    sentences = []
    for bad in damaged:
        saved.write_bytes(bad)
        try:
            found = Checkpoint(saved, program, 1e-4).saved
        except InputError as error:
            sentences.append(str(error))
            continue
        # A time stamp of the archive, say: what is read is what was written.
        assert found is not None
        np.testing.assert_array_equal(found.model.w, before.model.w)
        np.testing.assert_array_equal(found.open.gradient, before.open.gradient)
    assert len(sentences) > 150
    for sentence in sentences:
        assert sentence.startswith(f"checkpoint={str(saved)!r} ")
        assert sentence.endswith("name another file, or delete this one to start again.")


@pytest.mark.parametrize("what", ["text", "other npz", "pickle", "model"])
def test_a_foreign_file_is_refused(what: str, saved: Path) -> None:
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file if name != CHECKSUM}
    if what == "text":
        saved.write_text("feature,coef\n")
    elif what == "other npz":
        np.savez(saved, X=DATA.X, y=DATA.y)
    elif what == "pickle":
        np.savez(saved, **arrays | {"places": np.array([{}], dtype=object)}, allow_pickle=True)
    else:  # more features than k
        np.savez(saved, **arrays | {"w": np.ones_like(arrays["w"])})
    with pytest.raises(InputError, match=r"is damaged.*name another file, or delete this one"):
        solve_program(posed("k+ridge"), exact=True, checkpoint=saved)


@pytest.mark.parametrize("time_limit", [None, 1e-9])
def test_a_minorant_that_is_not_proved_is_refused(saved: Path, time_limit: float | None) -> None:
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file if name != CHECKSUM}
    tried, size = arrays["tree_exhausted"], len(arrays["tree_counts"])
    leaves = np.setdiff1d(np.arange(size), np.concatenate((arrays["tree_parent"], tried)))
    assert len(tried) > 0
    for name, value in (
        ("minorant_ridge", 1.001 * arrays["minorant_ridge"]),
        ("minorant_factor", 1.01 * arrays["minorant_factor"]),
        ("minorant_ridge", -arrays["minorant_ridge"]),
        ("minorant_eta", np.array([np.nan])),
        # A leaf of which too many features are to be chosen; an open node.
        ("tree_exhausted", np.sort(np.append(tried, leaves[:1]))),
        ("tree_exhausted", np.sort(np.append(tried, arrays["places"]))),
        ("tree_exhausted", np.array([size])),
    ):
        forged = arrays | {name: value}
        np.savez(saved, **forged, **{CHECKSUM: _checksum(forged)})
        with pytest.raises(InputError, match=r"is damaged.*name another file, or delete this one"):
            solve_program(posed("k+ridge"), exact=True, checkpoint=saved, time_limit=time_limit)


def test_a_file_of_another_search_is_refused(saved: Path) -> None:
    other = DATA.X.copy()
    other[3, 5] += 1.0
    content = saved.read_bytes()
    for program, tol, reason in (
        (
            Program(other, DATA.y, k=8, ridge=0.01),
            1e-4,
            "on other data",
        ),
        (Program(DATA.X, DATA.y, k=7, ridge=0.01), 1e-4, "another problem"),
        (Program(DATA.X, DATA.y, k=8, ridge=0.03), 1e-4, "another problem"),
        (
            Program(DATA.X, DATA.y, k=8, ridge=0.01, never=[7]),
            1e-4,
            "another problem",
        ),
        (Program(DATA.X, DATA.y, k=8, ridge=0.01), 1e-5, "with tol=0.0001, not 1e-05"),
    ):
        with pytest.raises(InputError, match=f"search.npz' belongs.*{reason}.*; name another"):
            solve_program(program, tol, exact=True, checkpoint=saved)
    assert saved.read_bytes() == content


@pytest.mark.parametrize("place", ["missing/search.npz", "file/search.npz", "."])
def test_a_place_that_cannot_be_written_is_refused_at_once(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    seen: list[Any] = []
    with pytest.raises(InputError, match=r"cannot be written: .*name a file|is a folder"):
        solve_program(
            posed("k+ridge"), exact=True, checkpoint=tmp_path / place, callback=seen.append
        )
    assert not seen


def test_a_full_disk_does_not_end_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparsebounds._support.checkpoint.write_atomically", full)
    with pytest.warns(UserWarning, match=r"search.npz was not written: .*No space left"):
        found = solve_program(posed("k+ridge"), exact=True, checkpoint=tmp_path / "search.npz")
    assert found.status == "optimal"


def test_checkpoints_need_a_search() -> None:
    with pytest.raises(InputError, match="is for the exact search: pass exact=True"):
        sb.solve(DATA.X, DATA.y, k=2, ridge=0.1, checkpoint="search.npz")


def test_limits_do_not_change_the_nodes(tmp_path: Path) -> None:
    # A short search is given a better model for its answer, not for its nodes.
    data = make_correlated(40, 20, 0.9, nonzeros=5, random_state=0)
    problem: dict[str, Any] = {"l0": 0.02, "ridge": 0.03, "exact": True}
    whole = sb.solve(data.X, data.y, node_limit=100, **problem)
    sb.solve(data.X, data.y, node_limit=10, checkpoint=tmp_path / "s.npz", **problem)
    pieces = sb.solve(data.X, data.y, node_limit=100, checkpoint=tmp_path / "s.npz", **problem)
    assert (pieces.stats.nodes, pieces.lower) == (whole.stats.nodes, whole.lower)
    assert pieces.upper == whole.upper
