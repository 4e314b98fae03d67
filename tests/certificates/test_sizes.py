"""Files that state more than they hold: refused in a sentence, soon, and within little memory."""

from __future__ import annotations

import base64
import json
import re
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sparsebounds as sb
from sparsebounds.certificates import Certificate, CertificateError
from sparsebounds.certificates.codec import _checksum, decode, encode
from sparsebounds.certificates.tree import Tree
from sparsebounds.certificates.tree_codec import encode_tree
from sparsebounds.cli import app

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 12))
Y = X[:, :5].sum(axis=1) + RNG.normal(size=60)


@pytest.fixture(scope="module")
def searched() -> dict[str, Any]:
    """The document of a certificate with a search tree."""
    certificate = sb.solve(X, Y, k=4, ridge=1e-3, exact=True, tol=1e-9).certificate
    assert certificate.tree is not None
    document: dict[str, Any] = json.loads(encode(certificate))
    return document


def packed(size: int, byte: bytes = b"\x00") -> str:
    """A compressed array of so many bytes, all alike."""
    stream = zlib.compressobj(9)
    block = byte * (1 << 20)
    parts = [stream.compress(block) for _ in range(size >> 20)]
    parts += [stream.compress(byte * (size % (1 << 20))), stream.flush()]
    return base64.b64encode(b"".join(parts)).decode()


def refusal(path: Path, document: dict[str, Any]) -> str:
    """The sentence that loading ends in, within a second and 200 MB."""
    path.write_text(json.dumps(document | {"sha256": _checksum(document)}))
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(CertificateError) as error:
            Certificate.load(path)
        assert time.process_time() - started < 3.0  # tracing is slow
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    text = str(error.value)
    assert text.startswith(f"{path} is not a")
    assert text.endswith(".")
    return text


def inflated_counts(document: dict[str, Any]) -> dict[str, Any]:
    many = 1 << 23
    fields = {"splits": many, "counts": packed(8 * many + 4), "fixed_counts": packed(8 * many + 4)}
    return document | {"tree": document["tree"] | fields}


def wide_tree(document: dict[str, Any]) -> dict[str, Any]:
    tree = document["tree"] | {"kept_count": 1 << 24, "kept": packed(1 << 27)}
    data = document["data"] | {"shape": [60, 1 << 40]}
    return document | {"tree": tree, "data": data}


def tall(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"data": document["data"] | {"shape": [1 << 62, 12]}}


def long_kept(document: dict[str, Any]) -> dict[str, Any]:
    data = document["data"] | {"shape": [60, 1 << 62]}
    return document | {"data": data, "tree": document["tree"] | {"kept_count": 1 << 61}}


def long_shift(document: dict[str, Any]) -> dict[str, Any]:
    shift = {"node": 0, "coefs": 12, "support": packed(48), "values": packed(96)}
    shift |= {"open": 12, "shifted": packed(48), "diagonal": packed(96 << 16)}
    return document | {"tree": document["tree"] | {"shifts": [shift]}}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (inflated_counts, "tree.counts states 16777217 numbers, more than a file of this size"),
        (wide_tree, "tree.kept states 16777216 numbers, more than a file of this size may hold"),
        (tall, "tree.removal states 4611686018427387904 numbers, more than a file"),
        (long_kept, "tree.kept states 2305843009213693952 numbers, more than a file"),
        (long_shift, r"tree.shifts\[0\].diagonal must be 12 compressed numbers"),
    ],
)
def test_stated_sizes(
    change: Callable[[dict[str, Any]], dict[str, Any]],
    sentence: str,
    searched: dict[str, Any],
    tmp_path: Path,
) -> None:
    text = refusal(tmp_path / "c.json", change(searched))
    assert re.search(sentence, text), text


@pytest.mark.parametrize("shape", [[1 << 62, 12], [60, 1 << 62], [1 << 62, 1 << 62]])
def test_a_stated_shape_that_is_not_the_data_s(
    shape: list[int], searched: dict[str, Any], tmp_path: Path
) -> None:
    """Whatever the file holds of the tree is refused at once, or does not fit the data."""
    document = searched | {"data": searched["data"] | {"shape": shape}}
    if shape[0] > 60:
        assert "states" in refusal(tmp_path / "c.json", document)
        return
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document | {"sha256": _checksum(document)}))
    assert not Certificate.load(path).verify(X, Y).ok


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"format": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a": ' + b"9" * 100_000 + b"}",
        b'{"format": 1, "format": 2}',
        b"[" + b"[]," * 1_300_000 + b"[]]",
        b"[" + b'{"a":0},' * 500_000 + b"0]",
        b'{"lower": NaN}',
    ],
    ids=["deep", "deep within", "digits", "twice", "lists", "objects", "no number"],
)
def test_documents(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    started = time.process_time()
    with pytest.raises(CertificateError) as error:
        Certificate.load(path)
    assert time.process_time() - started < 2.0
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("key", ["support", "coef"])
def test_long_lists_of_numbers(key: str, searched: dict[str, Any], tmp_path: Path) -> None:
    values = [0 if key == "support" else 0.5] * 100_000
    document = searched | {"model": searched["model"] | {key: values}}
    assert "model." in refusal(tmp_path / "c.json", document)


def test_the_command_line_ends_in_an_error(searched: dict[str, Any], tmp_path: Path) -> None:
    path, data = tmp_path / "c.json", tmp_path / "d.npz"
    document = wide_tree(searched)
    path.write_text(json.dumps(document | {"sha256": _checksum(document)}))
    np.savez(data, X=X, y=Y)
    result = CliRunner().invoke(app, ["verify", str(path), str(data)])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert isinstance(result.exception, SystemExit)


def test_large_certificates_that_are_genuine() -> None:
    """A long tree on many features, and dual vectors as long as they are many."""
    rng = np.random.default_rng(0)
    splits, m = 20_000, 5000
    size, held = 2 * splits + 1, 8
    tree = Tree(
        kept=np.arange(m),
        removal=rng.normal(size=60),
        parent=np.arange(splits),
        feature=rng.integers(0, m, splits),
        counts=np.full(size, held),
        support=np.sort(rng.integers(0, m, (size, held)), axis=1).ravel().astype(np.int32),
        values=rng.normal(size=size * held),
        intercept=np.zeros(size),
        fixed_counts=np.full(size, 20),
        fixed=np.tile(np.arange(20), size),
    )
    program = sb.Program(np.ones((60, 1)), Y, k=1, ridge=1.0)
    certificate = Certificate.build(program, (), (), np.zeros(1), lower=0.0, tree=tree)
    document = json.loads(encode(certificate))
    document["data"]["shape"] = [60, m]
    document["tree"] = encode_tree(tree)
    text = json.dumps(document | {"sha256": _checksum(document)})
    loaded = decode(text.encode())
    assert loaded.tree is not None
    assert np.array_equal(loaded.tree.values, tree.values)
    assert np.array_equal(loaded.tree.fixed, tree.fixed)
