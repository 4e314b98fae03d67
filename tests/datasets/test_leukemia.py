"""load_leukemia: its sources in their order, its checksum, its errors; on made-up data."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebounds._support.errors import InputError
from sparsebounds.datasets import leukemia, load_leukemia
from sparsebounds.datasets._rdata import read_rdata

N, M = 6, 4


def made_up() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, M)), np.where(np.arange(N) % 2, 1.0, -1.0)


# R's own format, written by hand.


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def string(text: str) -> bytes:
    return integer(0x40009) + integer(len(text)) + text.encode()


def vector(kind: int, values: Any, attributes: bytes = b"") -> bytes:
    code = {10: ">i4", 13: ">i4", 14: ">f8"}[kind]
    body = integer(len(values)) + np.asarray(values).astype(code).tobytes()
    return integer(kind | (0x200 if attributes else 0)) + body + attributes


def strings(*texts: str) -> bytes:
    return integer(16) + integer(len(texts)) + b"".join(map(string, texts))


def pairs(*items: tuple[bytes, bytes]) -> bytes:
    """Tagged values, and the end of the list."""
    return b"".join(integer(0x402) + tag + value for tag, value in items) + integer(254)


def symbol(name: str) -> bytes:
    return integer(1) + string(name)


def packed(data: bytes) -> bytes:
    """Without the time of day, which would give tests another name in each process."""
    return gzip.compress(data, mtime=0)


def rdata(X: np.ndarray, y: np.ndarray, version: int = 2) -> bytes:
    """save(leukemia, file = ...) for leukemia = list(x = X, y = y)."""
    # A symbol is written once: the second `dim` is a reference to symbol 2, after `leukemia`.
    x = vector(14, X.ravel(order="F"), pairs((symbol("dim"), vector(13, X.shape))))
    column = vector(13, y, pairs((integer(0x2FF), vector(13, (len(y), 1)))))
    names = pairs((symbol("names"), strings("x", "y")))
    held = integer(19 | 0x200) + integer(2) + x + column + names
    body = pairs((symbol("leukemia"), held))
    header = f"RDX{version}\nX\n".encode() + integer(version) + integer(0x30402) + integer(0x20300)
    encoding = integer(5) + b"UTF-8" if version == 3 else b""
    return packed(header + encoding + body)


@pytest.mark.parametrize("version", [2, 3])
def test_the_reader_of_r_files(version: int) -> None:
    X, y = made_up()
    held = read_rdata(rdata(X, (y > 0).astype(int), version))["leukemia"]
    np.testing.assert_array_equal(held["x"], X)
    np.testing.assert_array_equal(held["y"].ravel(), y > 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        packed(b"RDA2\nA\n"),
        packed(b"RDX2\nX\n"),
        rdata(*made_up())[:-30],
        packed(gzip.decompress(rdata(*made_up()))[:200]),
        packed(b"RDX2\nX\n" + integer(2) * 3 + integer(99)),
        packed(b"RDX2\nX\n" + integer(2) * 3 + integer(14) + integer(-1)),
        packed(b"RDX2\nX\n" + integer(2) * 3 + integer(0x7FF)),
    ],
)
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="file of plain lists"):
        read_rdata(data)


# The sources.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, and the made-up data as the true ones."""
    X, y = made_up()
    digest = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    monkeypatch.setattr(leukemia, "SHA256", digest)
    monkeypatch.setattr(leukemia, "URL", "http://127.0.0.1:9/none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("SPARSEBOUNDS_DATA", raising=False)
    return tmp_path


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A web server with the .RData file; the list holds what was asked of it."""
    (home / "www").mkdir()
    X, y = made_up()
    (home / "www" / "leukemia.RData").write_bytes(rdata(X, (y > 0).astype(int)))
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            asked.append(self.path)

    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(home / "www")))
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setattr(leukemia, "URL", f"http://127.0.0.1:{running.server_port}/leukemia.RData")
    yield asked
    running.shutdown()
    running.server_close()
    thread.join()


def test_downloaded_once_and_cached(server: list[str]) -> None:
    X, y = made_up()
    first = load_leukemia()
    assert first.source == leukemia.URL
    second = load_leukemia(download=False)
    assert second.source.endswith("leukemia.npz")
    for found in (first, second):
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.y, y)
        assert found.class_names == ("ALL", "AML")
        assert found.feature_names is None
    assert server == ["/leukemia.RData"]


def test_a_download_of_other_numbers_is_refused_and_not_kept(server: list[str], home: Path) -> None:
    X, y = made_up()
    X[0, 0] += 1e-9
    (home / "www" / "leukemia.RData").write_bytes(rdata(X, (y > 0).astype(int)))
    for _ in range(2):
        with pytest.raises(ValueError, match="checksum of its X and y differs"):
            load_leukemia()
    assert server == ["/leukemia.RData"] * 2


def test_the_folder_of_data_comes_before_the_cache(
    server: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = made_up()
    names = np.array([f"probe {j}" for j in range(M)])
    np.savez(home / "leukemia.npz", X=X, y=y, feature_names=names)
    monkeypatch.setenv("SPARSEBOUNDS_DATA", str(home))
    found = load_leukemia()
    assert found.source == str(home / "leukemia.npz")
    assert found.feature_names == tuple(names)
    # A folder without the file is passed over.
    monkeypatch.setenv("SPARSEBOUNDS_DATA", str(home / "www"))
    assert load_leukemia().source == leukemia.URL
    assert len(server) == 1


def test_a_path_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = made_up()
    np.savez(home / "mine.npz", X=X, y=y)
    (home / "mine.RData").write_bytes(rdata(X, (y > 0).astype(int), version=3))
    monkeypatch.setenv("SPARSEBOUNDS_DATA", "nowhere")
    for name in ("mine.npz", "mine.RData"):
        found = load_leukemia(home / name)
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.y, y)
    np.savez(home / "float32.npz", X=X.astype(np.float32), y=y)
    with pytest.raises(ValueError, match="checksum of its X and y differs"):
        load_leukemia(home / "float32.npz")


def test_errors_name_the_remedy(home: Path) -> None:
    with pytest.raises(ValueError, match=r"could not be downloaded.*SPARSEBOUNDS_DATA"):
        load_leukemia()
    with pytest.raises(ValueError, match=r"not on this machine.*SPARSEBOUNDS_DATA"):
        load_leukemia(download=False)
    with pytest.raises(ValueError, match=r"is not a file.*pass its path"):
        load_leukemia(home / "none.npz")
    np.savez(home / "other.npz", data=np.ones(3))
    with pytest.raises(ValueError, match="does not hold the arrays X and y"):
        load_leukemia(home / "other.npz")
    (home / "broken.npz").write_bytes(b"PK but not a zip file")
    with pytest.raises(ValueError, match="does not hold the arrays X and y"):
        load_leukemia(home / "broken.npz")
    empty = b"RDX2\nX\n" + integer(2) * 3 + pairs((symbol("other"), vector(14, [1.0])))
    (home / "other.RData").write_bytes(packed(empty))
    with pytest.raises(ValueError, match="no list `leukemia`"):
        load_leukemia(home / "other.RData")


def one_sentence(source: Path | str, remedy: str = "Save a copy yourself") -> str:
    """What load_leukemia says of a file: its name first, one reason, one remedy."""
    with pytest.raises(InputError) as caught:
        load_leukemia(None if remedy.startswith("Delete") else source)
    message = str(caught.value)
    assert message.startswith(f"{source} ")
    assert message.count("Save a copy yourself") + message.count("Delete ") == 1
    assert message.count(str(source)) == (2 if remedy.startswith("Delete") else 1)
    assert f". {remedy}" in message
    return message


def test_each_bad_file_has_one_reason_and_one_remedy(home: Path) -> None:
    X, y = made_up()
    path = home / "mine"
    np.savez(home / "mine.npz", X=X + 1.0, y=y)
    assert "holds other numbers" in one_sentence(home / "mine.npz")
    np.savez(home / "mine.npz", X=np.full((N, M), "text"), y=y)
    assert "could not convert string" in one_sentence(home / "mine.npz")
    np.savez(home / "mine.npz", X=X)
    assert "y is not a file in the archive" in one_sentence(home / "mine.npz")
    # The same of R's files: strings in the place of numbers, no list at all, a part of a file.
    names = pairs((symbol("names"), strings("x", "y")))
    head = b"RDX2\nX\n" + integer(2) * 3
    for x, classes in ((strings("a"), vector(13, y)), (vector(14, [1.0]), strings("a", "b"))):
        held = integer(19 | 0x200) + integer(2) + x + classes + names
        path.write_bytes(packed(head + pairs((symbol("leukemia"), held))))
        assert "could not convert string" in one_sentence(path)
    path.write_bytes(packed(head + pairs((symbol("leukemia"), strings("a")))))
    assert "no list `leukemia`" in one_sentence(path)
    dim = pairs((symbol("dim"), vector(13, (1, 1))))
    shaped = integer(16 | 0x200) + integer(1) + string("a") + dim
    path.write_bytes(packed(head + pairs((symbol("leukemia"), shaped))))
    assert "not an .RData file" in one_sentence(path)
    for data in (b"", b"text", rdata(X, (y > 0).astype(int))[:-30]):
        path.write_bytes(data)
        assert "not an .RData file" in one_sentence(path)


def test_a_damaged_cache_is_to_be_deleted(home: Path) -> None:
    X, y = made_up()
    cached = home / "cache" / "sparsebounds" / "leukemia.npz"
    cached.parent.mkdir(parents=True)
    np.savez_compressed(cached, X=X, y=y)
    whole = cached.read_bytes()
    remedy = f"Delete {cached}, so that the data are downloaded again."
    for length in range(0, len(whole) - 1, 7):
        cached.write_bytes(whole[:length])
        one_sentence(cached, remedy)
    for place in range(0, len(whole), 3):
        cached.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        # Either a byte that nothing depends on, or a sentence.
        with suppress(InputError):
            np.testing.assert_array_equal(load_leukemia().X, X)


def test_a_download_that_breaks_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answer(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise http.client.IncompleteRead(b"half", 100)

    monkeypatch.setattr(leukemia.urllib.request, "urlopen", lambda *_, **__: Answer())
    with pytest.raises(InputError, match=r"could not be downloaded.*IncompleteRead.*Save a copy"):
        load_leukemia()


@pytest.mark.skipif(
    not (Path(os.environ.get("SPARSEBOUNDS_DATA", "")) / "leukemia.npz").is_file(),
    reason="the leukemia data are not here: name their folder in SPARSEBOUNDS_DATA",
)
def test_the_data_themselves() -> None:
    found = load_leukemia(download=False)
    assert found.X.shape == (72, 3571)
    assert (np.count_nonzero(found.y < 0), np.count_nonzero(found.y > 0)) == (47, 25)
    np.testing.assert_allclose(found.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.X.std(axis=0, ddof=1), 1.0, rtol=1e-12)
