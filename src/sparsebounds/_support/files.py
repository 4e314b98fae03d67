"""Files are written whole or not at all, and nothing but the file that was named is replaced.

link               its target is written, and the link stays; so for one that leads nowhere yet
device, pipe       written to, never replaced; so for /proc, where open files have names
existing file      keeps its mode and, where possible, its owner; one that is read-only is refused
temporary file     beside the target, under a short name of its own; gone whatever happens
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path

from sparsebounds._support.errors import InputError

LONGEST_CHAIN = 40
"""Links to links, as many as Linux follows."""

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write text or bytes to a temporary file beside `path`, then rename it into place.

    Another hard link to an existing file keeps the old content.
    """
    data = content.encode() if isinstance(content, str) else content
    target, before = resolved(path)
    if before is not None:
        if not _replaceable(target, before):
            _write_into(target, data, before)
            return
        _refuse_read_only(target, before)
    temporary = _beside(target)
    # The mask of the process applies to a new file; what may be private starts private.
    mode = 0o666 if before is None else 0o600
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if before is not None:
            _keep_owner(temporary, before)
            os.chmod(temporary, stat.S_IMODE(before.st_mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_output(path: str | os.PathLike[str], said: str | None = None) -> None:
    """InputError where `path` cannot be written, before the work rather than after it.

    `said` is how the sentence names the file: with its option or argument.
    """
    said = said or str(path)
    try:
        target, before = resolved(path)
        if before is not None and stat.S_ISDIR(before.st_mode):
            raise InputError(f"{said} is a folder; name a file.")
        if before is not None:
            _refuse_read_only(target, before)
            if not _replaceable(target, before):
                return
            _refuse_strangers_file(target, before)
        for folder in (Path(path).parent, target.parent):
            if not folder.is_dir():
                raise InputError(
                    f"{said} cannot be written: the folder {folder} does not exist; name a file in "
                    "a folder that does."
                )
        probe = _beside(target)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"{said} cannot be written: {error.strerror}; name a file that you may write, in a "
            "folder that you may write to."
        ) from error


def resolved(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file that a path, or the last of a chain of links, names; and its state, if it exists."""
    target = Path(path)
    for _ in range(LONGEST_CHAIN):
        target = Path(os.path.realpath(target.parent)) / target.name
        if _is_open_file(target) or not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    try:
        return target, target.stat()
    except FileNotFoundError:
        return target, None


def same_file(first: Path, second: Path) -> bool:
    """Whether two paths name one file, by whatever links and spelling.

    Of two files that do not both exist, names that differ in case alone count as the same: on
    some systems they are.
    """
    (one, before), (two, after) = resolved(first), resolved(second)
    if before is not None and after is not None:
        return os.path.samestat(before, after)
    if before is not None or after is not None:
        return False
    return os.path.normcase(one.parent) == os.path.normcase(two.parent) and (
        one.name.casefold() == two.name.casefold()
    )


def _is_open_file(target: Path) -> bool:
    """Whether this is a name of an open file, as /proc/self/fd/1, to which /dev/stdout leads."""
    return target.parts[:2] == ("/", "proc") or target.parts[:3] == ("/", "dev", "fd")


def _replaceable(target: Path, state: os.stat_result) -> bool:
    """Whether another file may take its place: of a device, a pipe or an open file, none."""
    return stat.S_ISREG(state.st_mode) and not _is_open_file(target)


def _beside(target: Path) -> Path:
    """A name in the same folder that nothing else has, short however long the target's is."""
    return target.parent / f".{secrets.token_hex(8)}.tmp"


def _write_into(target: Path, data: bytes, state: os.stat_result) -> None:
    """Write to a device, a pipe or a socket; at the end of a file that is open already."""
    if stat.S_ISSOCK(state.st_mode) and not _is_open_file(target):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(target))
            connection.sendall(data)
        return
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_APPEND), "wb") as stream:
        stream.write(data)


def _refuse_read_only(target: Path, state: os.stat_result) -> None:
    """PermissionError; the system's own question is no help to an administrator, who may all."""
    locked = _replaceable(target, state) and not state.st_mode & WRITABLE
    if locked or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", str(target))


def _refuse_strangers_file(target: Path, state: os.stat_result) -> None:
    """PermissionError in a folder such as /tmp, where only its owner may replace a file."""
    folder = target.parent.stat()
    if not folder.st_mode & stat.S_ISVTX or not hasattr(os, "geteuid"):
        return
    if os.geteuid() not in (0, state.st_uid, folder.st_uid):
        raise PermissionError(errno.EPERM, "it belongs to somebody else", str(target))


def _keep_owner(temporary: Path, before: os.stat_result) -> None:
    """Give the new file the owner and group of the old one, where this user may."""
    now = temporary.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) and hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(temporary, before.st_uid, before.st_gid)
