"""Paths stopped, killed and taken up again; files that are no checkpoint, or a forged one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds._support.checkpoint import CHECKSUM
from sparsebounds._support.errors import InputError
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import SearchProgress
from sparsebounds.paths import PathProgress
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import Progress
from sparsebounds.testing import brute_force, random_program

DATA = make_correlated(60, 25, nonzeros=5, random_state=0)
KS: dict[str, Any] = {"ks": range(7)}
L0S: dict[str, Any] = {"l0s": np.geomspace(2.0, 0.01, 5)}
PATHS: dict[str, dict[str, Any]] = {
    "k+ridge": KS | {"ridge": 0.05},
    "k+ball": KS | {"ball": 3.0, "standardize": True, "fit_intercept": True},
    "l0+ridge": L0S | {"ridge": 0.05, "fit_intercept": True, "standardize": True},
    "l0+ball": L0S | {"ball": 3.0},
    "logistic": KS | {"ridge": 0.05, "loss": "logistic", "fit_intercept": True},
    "prices, logistic": L0S | {"ridge": 0.05, "loss": "logistic", "standardize": True},
    "stop": KS | {"ridge": 0.05, "stop": 0.05, "standardize": True, "fit_intercept": True},
    "prices, stop": L0S | {"ridge": 0.05, "stop": 0.2},
    "exact": {"ks": range(4), "ridge": 0.05, "exact": True, "node_limit": 200, "positive": True},
    "fixed": KS | {"ridge": 0.05, "always": [3], "never": [0, 7]},
}

# Their pieces differ in nothing from those of "fixed", "prices, stop" and "prices, logistic".
ALIKE = ("k+ridge", "l0+ball", "logistic")


def response(options: dict[str, Any]) -> Any:
    return DATA.y > 0 if "loss" in options else DATA.y


def walked(options: dict[str, Any], **more: Any) -> sb.Path:
    return sb.path(DATA.X, response(options), **options, **more)


def or_refusal(work: Callable[[], sb.Path]) -> sb.Path | str:
    """A path, or the sentence that refuses its file."""
    try:
        return work()
    except InputError as error:
        return str(error)


def assert_same(one: sb.Path, other: sb.Path) -> None:
    """Every number, bit for bit: models, bounds, proofs."""
    assert one.to_frame().equals(other.to_frame())
    assert (one.message, one.complete) == (other.message, other.complete)
    assert one.newton_steps == other.newton_steps
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine.fixed_in, theirs.fixed_in)
        assert mine.nodes == theirs.nodes
        a, b = mine.certificate, theirs.certificate
        assert repr(a.leaves) == repr(b.leaves)
        assert (a.tree is None) == (b.tree is None)
        for t, s in zip(a.duals, b.duals, strict=True):
            np.testing.assert_array_equal(t, s)


# Stopped anywhere, taken up, and the same.


@pytest.mark.parametrize("name", [name for name in PATHS if name not in ALIKE])
def test_a_path_in_pieces_is_the_path_in_one(name: str, tmp_path: Path) -> None:
    options, file = PATHS[name], tmp_path / "path.npz"
    whole = walked(options)

    def one_point(now: Any) -> None:
        if isinstance(now, PathProgress):
            raise KeyboardInterrupt

    for done in range(1, len(whole) + 1):
        piece = walked(options, checkpoint=file, callback=one_point)
        assert len(piece) == done
        assert np.all(piece.lower <= piece.upper)
    again = walked(options, checkpoint=file)
    assert_same(again, whole)
    assert all(verdict.ok for verdict in again.verify(DATA.X, response(options)))


@pytest.mark.parametrize(
    ("name", "error", "kind"),
    [
        ("k+ridge", RuntimeError, PathProgress),
        ("l0+ridge", KeyboardInterrupt, Progress),
        ("exact", KeyboardInterrupt, SearchProgress),
    ],
)
def test_stopped_at_any_report(
    name: str, error: type[BaseException], kind: type, tmp_path: Path
) -> None:
    """A point that Ctrl-C cut short is not kept: it is done again."""
    options = PATHS[name]
    whole, reports = walked(options), []
    walked(options, callback=reports.append)
    count = sum(isinstance(now, kind) for now in reports)
    assert count > 3
    for place in range(1, count + 1, 1 + count // 4):
        file = tmp_path / f"{place}.npz"
        seen: list[Any] = []

        def press(now: Any, place: int = place, seen: list[Any] = seen) -> None:
            seen.append(now)
            if sum(isinstance(each, kind) for each in seen) == place:
                raise error

        try:
            piece = walked(options, checkpoint=file, callback=press)
            assert len(piece) == len(whole) or not piece.complete
        except (KeyboardInterrupt, RuntimeError):
            pass
        assert_same(walked(options, checkpoint=file), whole)


def test_time_limits_cut_nothing_for_good(tmp_path: Path) -> None:
    options, file = PATHS["k+ridge"], tmp_path / "path.npz"
    whole = walked(options)
    lengths = [len(walked(options, checkpoint=file, time_limit=limit)) for limit in (1e-9, 0.02)]
    assert lengths[0] == 1
    assert_same(walked(options, checkpoint=file), whole)
    # A finished path takes no time to take up, and is no worse for a limit.
    late = walked(options, checkpoint=file, time_limit=1e-9)
    assert late.complete
    np.testing.assert_array_equal(late.lower, whole.lower)


def test_ctrl_c_in_an_exact_search_ends_the_path(tmp_path: Path) -> None:
    def press(now: Any) -> None:
        if isinstance(now, SearchProgress):
            raise KeyboardInterrupt

    found = walked(PATHS["exact"], callback=press)
    assert found.interrupted
    assert len(found) < 4
    assert found.message.startswith("Interrupted")


def test_passes_are_few(tmp_path: Path) -> None:
    """Dual vectors of the past are scored together: where a pass is dear, that is one pass."""
    file, options = tmp_path / "path.npz", {"ks": range(20), "ridge": 0.05}
    data = make_correlated(80, 300, nonzeros=5, random_state=1)
    whole = sb.path(data.X, data.y, **options, checkpoint=file)
    program = Program(data.X, data.y, k=0, ridge=0.05)
    calls: list[str] = []

    class Counted(type(program.matrix)):  # type: ignore[misc]
        def scores(self, a: Any) -> Any:
            calls.append("one")
            return super().scores(a)

        def scores_many(self, a: Any) -> Any:
            calls.append("many")
            return super().scores_many(a)

    program.matrix.__class__ = Counted
    again = sb.path(program, ks=range(20), checkpoint=file)
    assert_same(again, whole)
    assert calls.count("many") == 1
    assert calls.count("one") <= 3  # the last relaxed point's, and few bounds made better


SCRIPT = """
import sys, time
import numpy as np
import sparsebounds as sb
from sparsebounds.paths import PathProgress
from sparsebounds.datasets import make_correlated
data = make_correlated(60, 25, nonzeros=5, random_state=0)
def slowly(now):
    if isinstance(now, PathProgress):
        time.sleep(0.2)
sb.path(data.X, data.y, ks=range(7), ridge=0.05, checkpoint=sys.argv[1], callback=slowly)
print("finished")
"""


def test_a_killed_path_goes_on(tmp_path: Path, killed: Callable[[str, Path, float], None]) -> None:
    file = tmp_path / "path.npz"
    killed(SCRIPT, file, 0.3)
    with np.load(file) as arrays:
        assert 1 <= len(arrays["lower"]) < 7
    seen: list[Any] = []
    again = walked(PATHS["k+ridge"], checkpoint=file, callback=seen.append)
    assert sum(isinstance(now, PathProgress) for now in seen) < 7
    assert_same(again, walked(PATHS["k+ridge"]))
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".npz"] == ["path.npz"]


# Files of another path, and no files at all.


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    file = tmp_path / "path.npz"

    def press(now: Any) -> None:
        if isinstance(now, PathProgress) and now.done == 4:
            raise KeyboardInterrupt

    walked(PATHS["k+ridge"], checkpoint=file, callback=press)
    return file


def test_a_file_of_another_path_is_refused(saved: Path) -> None:
    other, content = DATA.X.copy(), saved.read_bytes()
    other[3, 5] += 1.0
    ours = PATHS["k+ridge"]
    for X, options, reason in (
        (other, ours, "to a path on other data"),
        (DATA.X, ours | {"ridge": 0.06}, "to a path of another problem on these data"),
        (DATA.X, ours | {"never": [1]}, "to a path of another problem on these data"),
        (DATA.X, ours | {"ks": range(8)}, "along another grid .0 1 2 3 4 5 6."),
        (DATA.X, {"l0s": [1.0], "ridge": 0.05}, "along another grid"),
        (DATA.X, ours | {"tol": 1e-5}, "with tol=0.0001, not 1e-05"),
        (DATA.X, ours | {"stop": 0.1}, "with stop=None, not 0.1"),
        (DATA.X, ours | {"exact": True}, "another exact search .no; asked for: up to inf"),
    ):
        with pytest.raises(InputError, match=f"path.npz' belongs.*{reason}.*; name another file"):
            sb.path(X, DATA.y, **options, checkpoint=saved)
    assert saved.read_bytes() == content


def test_files_that_are_none(saved: Path, tmp_path: Path) -> None:
    search = tmp_path / "search.npz"
    sb.solve(DATA.X, DATA.y, k=5, ridge=0.01, exact=True, node_limit=5, checkpoint=search)
    (tmp_path / "text.npz").write_text("feature,coef\n")
    (tmp_path / "half.npz").write_bytes(saved.read_bytes()[:1000])
    for name, reason in (
        ("search.npz", "is no path's checkpoint"),
        ("text.npz", "is damaged, or not the checkpoint of a path"),
        ("half.npz", "is damaged, or not the checkpoint of a path"),
        ("", "is a folder; name a file"),
        ("missing/path.npz", "cannot be written"),
    ):
        with pytest.raises(InputError, match=reason):
            walked(PATHS["k+ridge"], checkpoint=tmp_path / name)


def test_every_byte_counts_or_does_not_matter(saved: Path) -> None:
    content, whole = saved.read_bytes(), walked(PATHS["k+ridge"])
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(content), 30).tolist():
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        again = or_refusal(lambda: walked(PATHS["k+ridge"], checkpoint=saved))
        if isinstance(again, str):
            refused += 1
            assert again.endswith("name another file, or delete this one to start again.")
            continue
        assert_same(again, whole)  # a time stamp of the archive, say
        saved.write_bytes(content)
    assert refused > 15


def test_a_full_disk_does_not_end_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparsebounds._support.checkpoint.write_atomically", full)
    with pytest.warns(UserWarning, match=r"path.npz was not written: .*No space left"):
        found = walked(PATHS["k+ridge"], checkpoint=tmp_path / "path.npz")
    assert_same(found, walked(PATHS["k+ridge"]))


# Forged: whatever stands in a file, bounds are bounds.

FORMS: list[Form] = ["k+ridge", "l0+ridge", "k+ball", "l0+ball"]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_proved_rests_on_the_file(form: Form, tmp_path: Path) -> None:
    file = tmp_path / "path.npz"
    for seed in range(3) if LONG else [FORMS.index(form) % 3]:
        program = random_program(seed, form=form, fit_intercept=bool(seed % 2))
        grid: dict[str, Any] = {"ks": [1, 2, 3, 4]}
        if form.startswith("l0"):
            grid = {"l0s": [0.3, 0.1, 0.03, 0.01]}
        file.unlink(missing_ok=True)
        sb.path(program, **grid, checkpoint=file)
        with np.load(file) as found:
            arrays = {name: found[name] for name in found if name != CHECKSUM}
        points = [
            program.with_budget(value) if form[0] == "k" else program.with_price(value)
            for value in next(iter(grid.values()))
        ]
        best = [brute_force(point) for point in points]
        optima = np.array([one.value for one in best])
        rng, taken = np.random.default_rng(seed), 0
        high = np.full_like(arrays["lower"], 1e6)
        forgeries: list[dict[str, Any]] = [
            {"lower": high},
            {"curves": arrays["curves"] + 1e6},
            {"lower": high, "curves": arrays["curves"] + 1e6},
            {"duals": 0.5 * arrays["duals"], "lower": high},
            {"duals": rng.permutation(arrays["duals"], axis=1), "lower": high},
            {"duals": rng.permutation(arrays["duals"]), "curves": arrays["curves"] + 1e6},
            {"coefs": arrays["coefs"] * 0.5},
            {"coefs": arrays["coefs"] * 1e3},
            {"row_numbers": arrays["row_numbers"] - 1e6},
            {"fixed_in": np.arange(program.m), "fixed_in_ends": np.array([program.m] * 4)},
            {"leaves": np.where(arrays["leaves"] == -1, 0, arrays["leaves"])},
            {"w": arrays["w"] + 1e3, "numbers": arrays["numbers"] + 7.0, "eta": np.array(-1.0)},
            {"lower": np.full_like(high, np.nan)},
            {"supports": arrays["supports"] + 1},
            {"curves": arrays["curves"][:, :1]},
            {"curves": arrays["curves"].astype(str)},
            {"lower": high[:2]},
            {"leaves": arrays["leaves"][:-1]},
            {"roots": arrays["roots"] + 1000},
            {"batches": np.zeros_like(arrays["batches"])},
        ]
        for forged in forgeries:
            np.savez(file, **arrays | forged)
            path = or_refusal(partial(sb.path, program, **grid, checkpoint=file))
            if isinstance(path, str):
                assert "is damaged; name another file" in path
                continue
            taken += 1
            assert np.all(path.lower <= optima)
            for point, posed, one in zip(path, points, best, strict=True):
                assert point.upper >= one.value - 1e-9 * abs(program.null)
                value = posed.objective(point.coef, point.intercept)
                assert value == pytest.approx(point.upper, rel=1e-9, abs=1e-12)
                assert np.all(one.w[point.fixed_in] != 0.0)
        assert taken >= 8


def test_a_forged_tree_proves_nothing(tmp_path: Path) -> None:
    file, options = tmp_path / "path.npz", PATHS["exact"]
    whole = walked(options, checkpoint=file)
    with np.load(file) as found:
        arrays = {name: found[name] for name in found if name != CHECKSUM}
    trees = [name for name in arrays if name.endswith("_tree_values")]
    assert trees
    for forged in (
        {"lower": arrays["lower"] + 1.0},
        {"lower": arrays["lower"] + 1.0} | {name: 0.0 * arrays[name] for name in trees},
        {name.replace("values", "parent"): arrays[trees[0]][:0].astype(int) for name in trees},
    ):
        np.savez(file, **arrays | forged)
        path = or_refusal(lambda: walked(options, checkpoint=file))
        if isinstance(path, str):
            assert "is damaged" in path
            continue
        assert np.all(path.lower <= whole.upper)
        assert all(verdict.ok for verdict in path.verify(DATA.X, DATA.y))


@pytest.mark.parametrize("name", ["exact", "l0+ball"])
def test_a_weakened_bound_is_true(name: str, tmp_path: Path) -> None:
    """What a path that goes on from it writes is verified, and not below the least loss."""
    file, options = tmp_path / "path.npz", PATHS[name]
    walked(options, checkpoint=file)
    with np.load(file) as found:
        arrays = {key: found[key] for key in found if key != CHECKSUM}
    for lower in (0.5 * arrays["lower"], arrays["lower"] - 1e300, arrays["lower"] - np.inf):
        np.savez(file, **arrays | {"lower": lower, "curves": arrays["curves"] - 1.0})
        path = walked(options, checkpoint=file)
        assert np.all(path.lower >= 0.0)
        assert all(verdict.ok for verdict in path.verify(DATA.X, response(options)))


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    link, target = tmp_path / "link", tmp_path / "scratch" / "path.npz"
    link.symlink_to(target)
    walked({"ks": [1], "ridge": 0.1}, checkpoint=link)
    assert link.is_symlink()
    assert target.exists()
    link.unlink()
    link.symlink_to(tmp_path / "nowhere" / "path.npz")
    with pytest.raises(InputError, match=r"cannot be written: the folder .*nowhere does not exist"):
        walked({"ks": [1], "ridge": 0.1}, checkpoint=link)
