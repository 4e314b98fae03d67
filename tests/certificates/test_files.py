"""Certificate files: whatever the bytes, loading raises CertificateError; writing is atomic."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebounds._support.files import write_atomically
from sparsebounds.certificates import Certificate, CertificateError
from sparsebounds.certificates.codec import FORMAT, VERSION, _checksum, encode


def sentence(path: Path, content: bytes | str, **options: Any) -> str:
    """What loading these bytes says; it must be a CertificateError that names the file."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CertificateError) as caught:
        Certificate.load(path, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "certificate.json"


# Not JSON.


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"certificate",
        b"{",
        b'{"format": }',
        b"\x00" * 100,
        b"\xff\xfe\x00garbage\x80",
        b"\xef\xbb\xbf{}",
        bytes(range(256)),
        b"PK\x03\x04" + b"\x00" * 50,
        b"\x89PNG\r\n",
        b'{"a": 1} {"b": 2}',
        b"[1, 2",
        b"'single quotes'",
        b"{'format': 1}",
    ],
)
def test_not_json(content: bytes, file: Path) -> None:
    assert "is not a certificate: it is not JSON (" in sentence(file, content)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_does_not_have(constant: str, file: Path, plain: Any) -> None:
    text = json.dumps(plain.document())
    for field in ("lower", "upper"):
        changed = re.sub(rf'"{field}": [-0-9.e]+', f'"{field}": {constant}', text)
        assert changed != text
        assert f"it is not JSON ({constant} is not allowed)" in sentence(file, changed)


def test_a_key_that_appears_twice(file: Path, plain: Any) -> None:
    text = json.dumps(plain.document())
    for old, new in (
        ('{"format"', '{"lower": 0.0, "format"'),
        ('{"loss"', '{"loss": "huber", "loss"'),
        ('{"inside"', '{"dual": 0, "inside"'),
    ):
        assert text.count(old) == 1
        assert "it is not JSON (a key appears twice)" in sentence(file, text.replace(old, new))


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"format":['])
def test_a_hundred_thousand_brackets(opening: str, file: Path) -> None:
    assert "is not a certificate: it is not JSON" in sentence(file, opening * 100_000)


def test_nesting_near_the_recursion_limit(file: Path) -> None:
    """Python may read a depth that it can then not write, for the checksum."""
    for depth in [*range(100, 1100, 50), *range(850, 1010)]:
        nested = "[" * depth + "]" * depth
        text = f'{{"format": "{FORMAT}", "version": {VERSION}, "sha256": "", "x": {nested}}}'
        assert re.search("not JSON|checksum|recursion", sentence(file, text))


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_huge_integers(digits: int, file: Path, plain: Any) -> None:
    number = "9" * digits
    paths = [("problem", "k"), ("data", "shape", 0), ("leaves", 0, "low")]
    # As a lower bound, 10^30 would do.
    for path in paths if digits == 30 else [*paths, ("lower",)]:
        place = document = plain.document()
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = "HERE"
        document.pop("sha256")
        text = json.dumps(document)
        if digits < 4300:  # what Python reads
            place[path[-1]] = int(number)
            text = text[:-1] + f', "sha256": "{_checksum(document)}"}}'
        said = sentence(file, text.replace('"HERE"', number))
        assert ("not JSON" if digits > 4300 else path[0]) in said


def test_numbers_beyond_the_floats(file: Path, plain: Any) -> None:
    """1e400 is legal JSON, and infinity to Python."""
    document = plain.document() | {"lower": math.inf}
    document["sha256"] = _checksum(document)
    text = json.dumps(document).replace("Infinity", "1e400")
    assert "lower must be a finite number" in sentence(file, text)


@pytest.mark.parametrize("name", ["plain", "priced"])
def test_truncated(name: str, request: pytest.FixtureRequest, file: Path) -> None:
    content = encode(request.getfixturevalue(name).certificate).encode()
    assert len(content) > 900
    for length in range(0, len(content) - 1, 97):
        assert "is not a certificate: it is not JSON" in sentence(file, content[:length])


# JSON, but no certificate.


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("null", "the document must be an object"),
        ("[]", "the document must be an object"),
        ("3", "the document must be an object"),
        ('"text"', "the document must be an object"),
        ("{}", "format is missing"),
        ('{"format": "other"}', f"format must be '{FORMAT}'"),
        ('{"format": 3}', "format must be a short text"),
        (f'{{"format": "{FORMAT}"}}', "version is missing"),
        (f'{{"format": "{FORMAT}", "version": 2}}',
         "version 2 is not known here (this reads 1); update sparsebounds."),
        (f'{{"format": "{FORMAT}", "version": "1"}}', "version must be an integer"),
        (f'{{"format": "{FORMAT}", "version": true}}', "version must be an integer"),
        (f'{{"format": "{FORMAT}", "version": 1}}', "sha256 is missing"),
        (f'{{"format": "{FORMAT}", "version": 1, "sha256": "0"}}',
         "the checksum does not match: it was changed after it was written."),
    ],
)  # fmt: skip
def test_other_documents(content: str, text: str, file: Path) -> None:
    said = sentence(file, content)
    assert "is not a valid certificate: " in said
    assert text in said


def pack(values: Any) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


GOOD = pack(np.zeros(9))


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("duals", 0), GOOD[:-1] + "!", "duals[0] must be base64."),
        (("duals", 0), GOOD[:-3] + "é==", "duals[0] must be base64."),
        (("duals", 0), "=" * len(GOOD), "duals[0] must be"),
        (("duals", 0), GOOD + "AAAA", "duals[0] must be 9 packed numbers."),
        (("duals", 0), GOOD[4:], "duals[0] must be 9 packed numbers."),
        (("duals", 0), pack(np.zeros(8)), "duals[0] must be 9 packed numbers."),
        (("duals", 0), pack(np.full(9, np.nan)), "duals[0] must be finite numbers."),
        (("duals", 0), pack(np.full(9, np.inf)), "duals[0] must be finite numbers."),
        (("duals", 0), [0.0] * 9, "duals[0] must be 9 packed numbers."),
        (("duals",), {}, "duals must be a list."),
        (("leaves",), [], "leaves must not be empty where there is no tree."),
        (("leaves",), {}, "leaves must be a list."),
        (("leaves", 0), [], "leaves[0] must be an object."),
        (("leaves", 0, "dual"), 1, "leaves[0].dual must be an integer from 0 to 0."),
        (("leaves", 0, "dual"), -1, "leaves[0].dual must be an integer from 0 to 0."),
        (("leaves", 0, "low"), -1, "leaves[0].low must be an integer from 0"),
        (("leaves", 0, "low"), 0.5, "leaves[0].low must be an integer from 0"),
        (("leaves", 0, "high"), "2", "leaves[0].high must be an integer from 0"),
        (("leaves", 0, "inside"), [4], "leaves[0].inside[0] must be an integer from 0 to 3."),
        (("leaves", 0, "inside"), [-1], "leaves[0].inside[0] must be an integer from 0 to 3."),
        (("leaves", 0, "inside"), [1, 1], "leaves[0].inside lists a feature twice."),
        (("leaves", 0, "inside"), 1, "leaves[0].inside must be a list."),
        (("data", "shape"), [9], "data.shape must hold two integers."),
        (("data", "shape"), [9, 4, 1], "data.shape must hold two integers."),
        (("data", "shape"), [9, 0], "data.shape[1] must be an integer from 1"),
        (("data", "shape"), [9.0, 4], "data.shape[0] must be an integer from 1"),
        (("data", "fingerprint"), "x" * 1001, "data.fingerprint must be a short text."),
        (("model", "support"), [0, 0], "model.support lists a feature twice."),
        (("model", "support"), [0, 9], "model.support[1] must be an integer from 0 to 3."),
        (("model", "coef"), [1.0], "model.coef must have one number for each feature of the "
         "support."),
        (("model", "coef"), [1.0, "1"], "model.coef[1] must be a number."),
        (("model", "coef"), [1.0, True], "model.coef[1] must be a number."),
        (("model", "coef"), [1.0, 1e301], "model.coef[1] must be a finite number."),
        (("model", "intercept"), None, "model.intercept must be a number."),
        (("problem",), [], "problem must be an object."),
        (("problem", "k"), -1, "problem.k must be an integer from 0"),
        (("problem", "k"), 2.0, "problem.k must be an integer from 0"),
        (("problem", "k"), None, "problem must hold exactly one of k and l0."),
        (("problem", "l0"), 0.1, "problem must hold exactly one of k and l0."),
        (("problem", "ridge"), None, "problem must hold exactly one of ridge and ball."),
        (("problem", "ball"), 1.0, "problem must hold exactly one of ridge and ball."),
        (("problem", "ridge"), 0.0, "problem.ridge must be greater than 0."),
        (("problem", "ridge"), -1, "problem.ridge must be greater than 0."),
        (("problem", "ridge"), pack([1.0, 0.0, 1.0, 1.0]), "problem.ridge must be greater than 0."),
        (("problem", "ridge"), pack([1.0, 1.0]), "problem.ridge must be 4 packed numbers."),
        (("problem", "ridge"), False, "problem.ridge must be a number."),
        (("problem", "fit_intercept"), 0, "problem.fit_intercept must be true or false."),
        (("problem", "center"), pack(np.zeros(4)), "problem.center and problem.scale go together."),
        (("problem", "loss"), 7, "problem.loss must be a short text."),
        (("problem", "loss_parameters"), {"delta": "1"}, "problem.loss_parameters.delta must be a "
         "number."),
        (("problem", "positive"), [7], "problem.positive[0] must be an integer from 0 to 3."),
        (("problem", "always"), [1, 1], "problem.always lists a feature twice."),
        (("made_by",), [], "made_by must be an object."),
        (("made_by", "numpy"), 2, "made_by.numpy must be a short text."),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be(
    path: tuple[Any, ...], value: Any, text: str, plain: Any, sealed: Any, tmp_path: Path
) -> None:
    place = document = plain.document()
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(CertificateError, match=re.escape(text)) as caught:
        Certificate.load(sealed(document))
    assert str(caught.value).startswith(f"{tmp_path / 'forged.json'} is not a valid certificate: ")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"always": [1], "never": [1]}, "problem.always and problem.never must not overlap."),
        ({"k": None, "l0": 0.0}, "problem.l0 must be greater than 0 (a vector: 0 or more)."),
        ({"k": None, "l0": -1.0}, "problem.l0 must be greater than 0 (a vector: 0 or more)."),
        ({"k": None, "l0": pack([0.0, 1.0, -1.0, 0.0])}, "problem.l0 must be greater than 0"),
        ({"ridge": None, "ball": 0.0}, "problem.ball must be greater than 0."),
        (
            {"center": pack(np.zeros(4)), "scale": pack([1.0, 0.0, 1.0, 1.0])},
            "problem.scale must be greater than 0.",
        ),
    ],
)
def test_fields_that_do_not_go_together(
    changes: dict[str, Any], text: str, plain: Any, sealed: Any
) -> None:
    document = plain.document()
    document["problem"] |= changes
    with pytest.raises(CertificateError, match=re.escape(text)):
        Certificate.load(sealed(document))


def test_a_leaf_inside_and_outside(plain: Any, sealed: Any) -> None:
    document = plain.document()
    document["leaves"][0] |= {"inside": [0, 2], "outside": [2]}
    with pytest.raises(
        CertificateError, match=r"leaves\[0\] has a feature both inside and outside"
    ):
        Certificate.load(sealed(document))


# Size and place.


def test_an_oversized_file_is_refused_unread(file: Path, plain: Any) -> None:
    plain.certificate.save(file)
    size = file.stat().st_size
    assert Certificate.load(file, max_bytes=size).lower == plain.certificate.lower
    with pytest.raises(CertificateError) as caught:
        Certificate.load(file, max_bytes=size - 1)
    assert str(caught.value) == (
        f"{file} has {size} bytes, more than the {size - 1} a certificate may have; pass "
        "max_bytes= if it is genuine."
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(CertificateError, match="has 1001 bytes, more than the 1000"):
        Certificate.load("/dev/zero", max_bytes=1000)


def test_a_sparse_file_of_many_gigabytes(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(CertificateError, match=f"has {1 << 40} bytes, more than the {1 << 28}"):
        Certificate.load(file)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "nowhere.json")


# Writing.


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_a_failure_in_the_middle_leaves_the_old_file(
    call: str, file: Path, plain: Any, priced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.certificate.save(file)
    before = file.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="the disk is full"):
        priced.certificate.save(file)
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    priced.certificate.save(file)
    assert Certificate.load(file).lower == priced.certificate.lower


def test_an_interrupt_leaves_no_temporary_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, "text")
    assert not list(file.parent.iterdir())


def test_text_that_cannot_be_encoded_leaves_nothing(file: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "\ud800")
    assert not list(file.parent.iterdir())


def test_written_files_have_ordinary_permissions(file: Path, plain: Any) -> None:
    plain.certificate.save(file)
    ordinary = file.parent / "ordinary"
    ordinary.write_text("")
    assert file.stat().st_mode == ordinary.stat().st_mode


@pytest.mark.parametrize("field", ["lower", "upper"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_bound_that_is_not_finite_is_not_written(
    field: str, value: float, file: Path, plain: Any
) -> None:
    file.write_text("old")
    certificate = dataclasses.replace(plain.certificate, **{field: value})
    with pytest.raises(
        CertificateError,
        match=r"holds a bound that is not finite, which proves nothing; it was not written.",
    ):
        certificate.save(file)
    assert file.read_text() == "old"
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_the_file_is_plain_json_text(file: Path, priced: Any) -> None:
    priced.certificate.save(file)
    document = json.loads(file.read_text(encoding="ascii"))
    assert document["format"] == FORMAT
    assert document["problem"]["l0"] == 0.05
    assert document["lower"] == priced.certificate.lower
    assert document["data"]["shape"] == [9, 4]
