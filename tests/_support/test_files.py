"""Files: whole or not at all, and nothing but the file that was named is replaced."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sparsebounds._support.errors import InputError
from sparsebounds._support.files import check_output, same_file, write_atomically

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NEEDS_USER = pytest.mark.skipif(ROOT, reason="an administrator may write into every folder")
NEEDS_ROOT = pytest.mark.skipif(not ROOT, reason="only an administrator gives files away")


def write(path: Path, content: str | bytes = "new") -> None:
    """As every caller does: look first, then write. Leaves no other file behind."""
    check_output(path)
    write_atomically(path, content)


def listed(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nowhere yet"])
def test_links_are_followed_and_stay(tmp_path: Path, there: bool) -> None:
    folder, elsewhere = tmp_path / "links", tmp_path / "files"
    folder.mkdir()
    elsewhere.mkdir()
    target = elsewhere / "target"
    if there:
        target.write_text("old")
    (folder / "second").symlink_to(Path("..") / "files" / "target")
    (folder / "first").symlink_to("second")
    (tmp_path / "folder").symlink_to(folder)
    write(tmp_path / "folder" / "first")
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert all(link.is_symlink() for link in folder.iterdir())
    assert (listed(folder), listed(elsewhere)) == ({"first", "second"}, {"target"})


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("back")
    (tmp_path / "back").symlink_to("loop")
    (tmp_path / "lost").symlink_to(tmp_path / "missing" / "file")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name, reason in (
        ("loop", "cannot be written: Too many levels"),
        ("lost", "the folder .*missing does not exist"),
        ("folder", "is a folder"),
    ):
        with pytest.raises(InputError, match=reason):
            check_output(tmp_path / name)
        with pytest.raises(OSError, match=rf"({name}|{tmp_path.name})'$"):
            write_atomically(tmp_path / name, "new")
    assert listed(tmp_path) == {"loop", "back", "lost", "folder"}
    assert all(entry.is_symlink() for entry in tmp_path.iterdir())


def test_pipes_sockets_and_devices_are_written_to(tmp_path: Path) -> None:
    pipe, link, plug = tmp_path / "pipe", tmp_path / "link", tmp_path / "s"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    read: list[bytes] = []
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        write(name, "through")
        reader.join(10)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(plug))
        listener.listen()
        write(plug, "through")
        with listener.accept()[0] as connection:
            read.append(connection.recv(100))
        assert stat.S_ISSOCK(plug.stat().st_mode)
    assert read == [b"through"] * 3
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()


@NEEDS_ROOT
def test_devices_are_written_to(tmp_path: Path) -> None:
    """Devices of the test's own: were they replaced, the system's would be gone."""
    null, full = tmp_path / "null", tmp_path / "full"
    try:
        for device, minor in ((null, 3), (full, 7)):
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            device.open("wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    write(null)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write(full)
    assert null.is_char_device()
    assert full.is_char_device()
    assert listed(tmp_path) == {"null", "full"}


@pytest.mark.parametrize("name", ["/proc/self/fd/1", "stdout", "link"])
@pytest.mark.parametrize("redirected", [True, False], ids=["file", "pipe"])
def test_standard_output_has_a_name(tmp_path: Path, name: str, redirected: bool) -> None:
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")  # as /dev/stdout is
    (tmp_path / "link").symlink_to("stdout")
    code = (
        "import sys; from sparsebounds._support.files import check_output, write_atomically\n"
        "print('before', flush=True)\n"
        "check_output(sys.argv[1]); write_atomically(sys.argv[1], 'new\\n')\n"
    )
    kept = tmp_path / "kept"
    with kept.open("ab") as stream:
        out: Any = stream if redirected else subprocess.PIPE
        done = subprocess.run(
            [sys.executable, "-c", code, name], stdout=out, cwd=tmp_path, text=True, check=True
        )
    assert (kept.read_text() if redirected else done.stdout) == "before\nnew\n"
    assert listed(tmp_path) == {"stdout", "link", "kept"}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(mode)
    write(file)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)


def test_a_new_file_obeys_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@NEEDS_ROOT
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    os.chown(file, 1234, 2345)
    write(file)
    state = file.stat()
    assert (state.st_uid, state.st_gid, file.read_text()) == (1234, 2345, "new")


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(InputError, match="cannot be written: it is read-only; name a file"):
        check_output(file)
    with pytest.raises(PermissionError, match="it is read-only"):
        write_atomically(file, "new")
    assert (file.read_text(), listed(tmp_path)) == ("old", {"file"})


@NEEDS_USER
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="cannot be written"):
        check_output(tmp_path / "file")
    tmp_path.chmod(0o755)


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127, "x" * 250 + ".json"])
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, "old")
    write(tmp_path / name)
    assert listed(tmp_path) == {name}
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        check_output(tmp_path / f"{name}xx")


def test_a_full_disk_leaves_all_as_it_was(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the system itself says no."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    code = (
        "import resource, signal, sys; from sparsebounds._support.files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "for name in sys.argv[1:]:\n"
        "    try: write_atomically(name, b'x' * 100_000)\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, target, link, tmp_path / "fresh"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [os.strerror(errno.EFBIG)] * 3
    assert (target.read_text(), listed(tmp_path)) == ("old", {"target", "link"})


def test_writers_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write(file, "0" * 100_000)
    writers = [
        threading.Thread(
            target=lambda digit=digit: [write(file, digit * 100_000) for _ in range(10)]
        )
        for digit in "1234"
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = file.read_text()
        assert len(content) == 100_000
        assert len(set(content)) == 1
    assert listed(tmp_path) == {"file"}


def test_another_hard_link_keeps_the_old_content(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("old")
    other.hardlink_to(file)
    assert same_file(file, other)
    write(file)
    assert (file.read_text(), other.read_text()) == ("new", "old")


def test_one_file_by_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("")
    (tmp_path / "hard").hardlink_to(file)
    (tmp_path / "soft").symlink_to(file)
    (tmp_path / "folder").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("file", "./file", "hard", "soft", "folder/file", "folder/folder/soft"):
        assert same_file(file, Path(name))
        assert not same_file(other, Path(name))
    # Neither exists yet: by folder and name, and on some systems the case does not count.
    (tmp_path / "dangling").symlink_to("other")
    for name in ("other", "folder/other", "dangling", "OTHER"):
        assert same_file(other, Path(name))
    assert not same_file(other, tmp_path / "another")
