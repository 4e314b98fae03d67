"""Outputs: files that are also inputs, each other, links, devices, pipes: nothing is lost."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attack import Attack, Finding
from tests.hostile.console import command, table, write_csv
from tests.hostile.draw import chance, pick

Rng = np.random.Generator
ROOT = os.geteuid() == 0


class Outputs(Attack):
    """Outputs in unsuitable places: refused before the work, or written without harm."""

    name, weight = "outputs", 2.0

    def case(self, rng: Rng) -> Finding | None:
        with tempfile.TemporaryDirectory(prefix="hostile") as name:
            folder = Path(name)
            data = folder / "d.csv"
            write_csv(data, table(rng, ["a", "b", "c", "y"]))
            watch = Watch(folder)
            places = [pick(rng, *PLACES) for _ in range(3)]
            if chance(rng, 0.3):
                places[1] = places[0]
            chosen = [PLACES[place](folder) for place in places]
            watch.look()
            options = ("--certificate", "--out", "--report")
            count = pick(rng, 1, 1, 2, 3)
            order = rng.permutation(3)[:count]
            words: list[Any] = ["solve", data, "--target", "y", "-k", 2]
            for i in order:
                words += [options[i], chosen[i]]
            result, found = command(*words, codes=(0, 2, 3))
            if found is not None:
                return found
            outputs = {options[i]: Path(chosen[i]) for i in order}
            what = f"{' '.join(map(str, words))}: exit {result.exit_code}"
            return watch.harm(what) or missing(result, outputs, what)


class Watch:
    """The files of a folder as they were before the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before: dict[Path, tuple[int, int, bytes | str | None]] = {}

    def look(self) -> None:
        self.before = {path: _seen(path) for path in self._paths()}

    def harm(self, what: str) -> Finding | None:
        """What was there and is not what it was; new files are welcome."""
        now = {path: _seen(path) for path in self._paths()}
        for path, (kind, mode, content) in self.before.items():
            if path not in now:
                return Finding("a file is gone", f"{what}; {path.name}")
            if now[path][0] != kind:
                return Finding(f"a {_word(kind)} was replaced", f"{what}; {path.name}")
            if now[path][1] != mode:
                return Finding("the mode of a file was changed", f"{what}; {path.name}")
            if now[path][2] != content and path.name != "ours.json":
                name = "the data" if path.name in ("d.csv", "hard.csv") else "somebody's file"
                return Finding(f"{name} was overwritten", f"{what}; {path.name}")
        left = [path.name for path in now if path not in self.before and path.name.startswith(".")]
        return Finding("a temporary file is left", f"{what}; {left}") if left else None

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*"))


def _seen(path: Path) -> tuple[int, int, bytes | str | None]:
    mode = path.lstat().st_mode
    content: bytes | str | None = None
    if stat.S_ISREG(mode):
        content = path.read_bytes()
    elif stat.S_ISLNK(mode):
        content = os.readlink(path)
    return stat.S_IFMT(mode), stat.S_IMODE(mode), content


def _word(kind: int) -> str:
    names = {stat.S_IFLNK: "link", stat.S_IFIFO: "pipe", stat.S_IFCHR: "device"}
    return names.get(kind, "file")


def missing(result: Any, outputs: dict[str, Path], what: str) -> Finding | None:
    """After a success every output is there, whole, and what it should be."""
    if result.exit_code == 2:
        return None
    for option, path in outputs.items():
        if not path.is_file():
            continue  # a pipe or a device
        text = path.read_text("utf-8", "replace")
        if option == "--report":
            right = "<html" in text[:2000].lower()
        else:
            try:
                kind = "sparsebounds-certificate"
                right = (json.loads(text).get("format") == kind) == (option == "--certificate")
            except (ValueError, AttributeError):
                right = False
        if not right:
            return Finding("an output holds something else", f"{what}; {option} {path.name}")
    return None


def _foreign(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("not to be lost\n")
    return path


def _linked(target: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / f"link-{target}"
        if not path.is_symlink():
            path.symlink_to(folder / target)
        return path

    return make


def _hard(folder: Path) -> Path:
    path = folder / "hard.csv"
    if not path.exists():
        os.link(folder / "d.csv", path)
    return path


def _pipe(folder: Path) -> Path:
    path = folder / "pipe"
    if not path.exists():
        os.mkfifo(path)
        threading.Thread(target=_drain, args=(path,), daemon=True).start()
    return path


def _drain(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(200):
        try:
            if not os.read(handle, 1 << 20):
                threading.Event().wait(0.02)
        except BlockingIOError:
            threading.Event().wait(0.02)
        except OSError:
            break
    os.close(handle)


def _device(folder: Path) -> Path:
    """A device like /dev/null, of our own: the real one is not to be risked."""
    path = folder / "null"
    try:
        if not path.exists():
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        return folder / "new.json"
    return path


def _read_only(folder: Path) -> Path:
    path = _foreign(folder)
    path.chmod(0o444)
    return path


def _ours(folder: Path) -> Path:
    """A certificate from an earlier run, private to its owner."""
    path = folder / "ours.json"
    if not path.exists():
        command("solve", folder / "d.csv", "--target", "y", "-k", 1, "--certificate", path)
        path.chmod(0o600)
    return path


PLACES: dict[str, Callable[[Path], Path]] = {
    "new": lambda folder: folder / "new.json",
    "other": lambda folder: folder / "other.json",
    "data": lambda folder: folder / "d.csv",
    "data by another name": lambda folder: folder / "." / ".." / folder.name / "d.csv",
    "link to data": _linked("d.csv"),
    "link to nothing": _linked("new.json"),
    "hard link": _hard,
    "foreign": _foreign,
    "read-only": _read_only,
    "ours": _ours,
    "pipe": _pipe,
    "device": _device,
    "folder": lambda folder: folder,
    "no folder": lambda folder: folder / "no" / "x.json",
    "long name": lambda folder: folder / ("n" * 250 + ".json"),
    "too long": lambda folder: folder / ("n" * 300),
}
