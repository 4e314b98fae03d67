"""Results never take the place of an input, of another result, or of somebody else's file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebounds.cli._outputs import _may_go, check_outputs

Invoke = Callable[..., Any]
Refused = Callable[..., str]

TARGET = ("--target", "score", "-k", 2)
OUTPUTS = {
    "solve": ("--certificate", "--out", "--report"),
    "path": ("--plot", "--report"),
    "rank": ("--certificate",),
    "certify": ("--certificate",),
    "predict": ("--out",),
}
EACH = [(command, option) for command, options in OUTPUTS.items() for option in options]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file in the place of a model; nobody gets to read it."""
    path = tmp_path / "model.json"
    path.write_text("{}")
    return path


def command(name: str, data: Path, model: Path) -> tuple[Any, ...]:
    """A command that works, without outputs."""
    first = (name, model, data) if name in ("certify", "predict") else (name, data)
    quick = ("--ks", "1:2") if name == "path" else ("--ranks", "1", "-k", 2)
    options = {"solve": TARGET, "certify": TARGET, "predict": ()}
    return (*first, *options.get(name, ("--target", "score", *quick)))


@pytest.mark.parametrize(("name", "option"), EACH)
def test_an_output_is_never_an_input(
    refused: Refused, numbers: Path, model: Path, tmp_path: Path, name: str, option: str
) -> None:
    """By its own name, a relative one, links of both kinds; whatever the end of the name says."""
    (tmp_path / "hard.png").hardlink_to(numbers)
    (tmp_path / "soft.png").symlink_to(numbers)
    (tmp_path / "folder").symlink_to(tmp_path)
    names = (
        numbers,
        Path(os.path.relpath(numbers)),
        tmp_path / "folder" / numbers.name,
        tmp_path / "hard.png",
        tmp_path / "soft.png",
    )
    before = numbers.read_bytes()
    for spelled in names:
        for force in ((), ("--force",)):
            said = refused(*command(name, numbers, model), option, spelled, *force)
            assert f"{option} {spelled} is the same file as DATA {numbers}" in said
    if name in ("certify", "predict"):
        said = refused(*command(name, numbers, model), option, model)
        assert f"{option} {model} is the same file as MODEL {model}" in said
    assert numbers.read_bytes() == before
    assert (tmp_path / "soft.png").is_symlink()


def test_outputs_are_different_files(refused: Refused, numbers: Path, tmp_path: Path) -> None:
    solve = ("solve", numbers, *TARGET, "--exact")
    one = tmp_path / "one"
    (tmp_path / "link").symlink_to(one)
    options = ("--certificate", "--out", "--report", "--checkpoint")
    for first, second in combinations(options, 2):
        for other in (one, tmp_path / "link", tmp_path / "ONE"):
            said = refused(*solve, first, one, second, other, "--force")
            assert "are the same file; name two of them." in said
            assert first in said
            assert second in said
    assert not one.exists()


def test_points_of_a_path_are_outputs(refused: Refused, numbers: Path, tmp_path: Path) -> None:
    proofs = tmp_path / "proofs"
    proofs.mkdir()
    data = proofs / "k=2.json"
    data.write_bytes(numbers.read_bytes())
    path = ("path", data, "--target", "score", "--ks", "1:3", "--certificates", proofs)
    assert "--certificates" in refused(*path)
    (proofs / "k=3.json").write_text("mine")
    said = refused("path", numbers, *path[2:])
    assert "k=2.json exists, and sparsebounds did not write it" in said
    said = refused("path", numbers, *path[2:], "--report", proofs / "k=1.json")
    assert "are the same file" in said


@pytest.mark.parametrize(("name", "option"), EACH)
def test_somebody_elses_file_stays(
    refused: Refused, numbers: Path, model: Path, tmp_path: Path, name: str, option: str
) -> None:
    file = tmp_path / ("out.svg" if option == "--plot" else "out")
    file.write_text("feature,coef\nage,1\n")
    run = (*command(name, numbers, model), option, file)
    assert f"{option} {file} exists, and sparsebounds did not write it" in refused(*run)
    file.chmod(0o440)
    assert f"{option} {file} cannot be written: it is read-only" in refused(*run, "--force")
    assert file.read_text() == "feature,coef\nage,1\n"


def test_what_we_wrote_is_ours(invoke: Invoke, words: Path, tmp_path: Path) -> None:
    """Every kind of output, with --force over another file; its mode stays."""
    names = ("c.json", "m.json", "r.html", "p.csv", "p.png", "p.pdf", "p.svg", "k=1.json")
    out = {name: tmp_path / name for name in names}
    for file in out.values():
        file.write_text("mine")
        file.chmod(0o640)
    task = (words, "--target", "fate", "--loss", "logistic", "--force")
    solve = ("solve", *task, "-k", 2, "--certificate", out["c.json"], "--out", out["m.json"])
    assert invoke(*solve, "--report", out["r.html"]).exit_code == 0
    path = ("path", *task, "--ks", "1", "--certificates", tmp_path)
    for kind in ("png", "pdf", "svg"):
        assert invoke(*path, "--plot", out[f"p.{kind}"]).exit_code == 0
    predict = ("predict", out["m.json"], words, "--out", out["p.csv"])
    assert invoke(*predict, "--force").exit_code == 0
    for file in out.values():
        assert file.stat().st_size > len("mine")
        assert file.stat().st_mode & 0o777 == 0o640
        assert _may_go(file)
    assert invoke(*predict).exit_code == 0
    assert invoke(*(word for word in solve if word != "--force")).exit_code == 0


@pytest.mark.parametrize(
    ("content", "goes"),
    [
        (b"", True),
        (b"prediction\n1\n", True),
        (b"prediction,score\n1,2\n", True),
        (b'prediction,"probability of ""a"""\n1,2\n', True),
        (b"prediction,age\n1,2\n", False),
        (b"age,prediction\n1,2\n", False),
        (b'{"format": "other", "note": "sparsebounds-model"}', False),
        (b"\x89PNG\r\n\x1a\n made by another program", False),
        (b"%PDF-1.4 about sparsebounds", False),
        (b"<html>sparsebounds </html>", False),
        (bytes(10_000), False),
    ],
)
def test_which_files_are_ours(tmp_path: Path, content: bytes, goes: bool) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert _may_go(file) is goes


def test_nothing_is_done_before_outputs_are_checked(refused: Refused, tmp_path: Path) -> None:
    """The data are not even read: they are no table."""
    data, out = tmp_path / "d.csv", tmp_path / "out"
    data.write_bytes(np.random.default_rng(0).bytes(100))
    out.write_text("mine")
    began = time.perf_counter()
    for run in (("solve", "--certificate"), ("path", "--report"), ("rank", "--certificate")):
        said = refused(run[0], data, "--target", "y", run[1], out)
        assert "sparsebounds did not write it" in said
    assert time.perf_counter() - began < 2.0
    said = refused("path", data, "--target", "y", "--plot", tmp_path / "p.xyz")
    assert "the name must end in .png, .pdf or .svg" in said


def test_links_stay(invoke: Invoke, numbers: Path, tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    saved = ("--certificate", link)
    for _ in range(2):
        assert invoke("solve", numbers, *TARGET, *saved).exit_code == 0
        assert link.is_symlink()
        assert invoke("verify", target, numbers, "--target", "score").exit_code == 0


def test_nothing_may_be_written_twice() -> None:
    check_outputs([("--out", Path(os.devnull)), ("--report", Path(os.devnull))], {}, force=False)


def test_reproduce_keeps_somebody_elses_folder(refused: Refused, tmp_path: Path) -> None:
    folder = tmp_path / "experiment4"
    folder.mkdir()
    (folder / "results.csv").write_text("mine")
    said = refused("reproduce", "4", "--quick", "--out", tmp_path)
    assert f"the folder {folder} holds files, and sparsebounds did not write them" in said
    assert (folder / "results.csv").read_text() == "mine"


def test_points_that_are_near_have_their_own_files(
    invoke: Invoke, numbers: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "points"
    near = ("--l0s", "0.1,0.1000001", "--certificates", folder)
    assert invoke("path", numbers, "--target", "score", *near).exit_code == 0
    assert {file.name for file in folder.iterdir()} == {"l0=0.1.json", "l0=0.1000001.json"}


def test_pictures_of_other_kinds_are_refused(refused: Refused, numbers: Path) -> None:
    said = refused("path", numbers, "--target", "score", "--plot", "p.jpg")
    assert "must end in .png, .pdf or .svg" in said


@pytest.mark.parametrize(
    ("option", "name", "right"),
    [
        ("--report", "page.pdf", ".html"),
        ("--certificate", "proof.txt", ".json"),
        ("--out", "model.csv", ".json"),
        ("--checkpoint", "search.json", ".npz"),
    ],
)
def test_names_that_say_another_kind_are_refused(
    refused: Callable[..., str], numbers: Path, option: str, name: str, right: str
) -> None:
    path = numbers.with_name(name)
    told = refused("solve", numbers, "--target", "score", "--exact", option, path)
    assert told.endswith(f"{name}: the name of such a file must end in {right}.")
    assert not path.exists()
