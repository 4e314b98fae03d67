"""Every forgery that tests try on `verify` goes to the checker too: refused, or true.

The tests of `test_tampering` that forge files run here once more, with fixtures that show each file
to the checker before they hand it on.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import test_tampering
from tests.certificates.conftest import Case, make_case, make_data, write_sealed
from tests.certificates.test_tampering import changes
from tests.checker.judges import Check, verdicts

from sparsebounds.certificates import Certificate, CertificateError
from sparsebounds.certificates.codec import _checksum, decode

STRIDE = 1 if os.environ.get("SPARSEBOUNDS_LONG") else 5

for _name, _test in vars(test_tampering).items():
    if _name.startswith("test_") and "forge" in inspect.signature(_test).parameters:
        globals()[_name] = _test


@cache
def known(name: str) -> Case:
    if name == "plain":
        return make_case(make_data("squared"), k=2, ridge=0.2)
    options = {"l0": 0.05, "ball": 2.0, "fit_intercept": True, "standardize": True}
    return make_case(make_data("logistic"), loss="logistic", **options)


@pytest.fixture
def shown() -> list[Case]:
    """The cases that a test forges."""
    return []


@pytest.fixture
def plain(shown: list[Case]) -> Case:
    shown.append(known("plain"))
    return shown[-1]


@pytest.fixture
def priced(shown: list[Case]) -> Case:
    shown.append(known("priced"))
    return shown[-1]


@pytest.fixture
def data_of() -> Callable[..., dict[str, Any]]:
    return make_data


@pytest.fixture
def certified(shown: list[Case]) -> Callable[..., Case]:
    def made(*arguments: Any, **options: Any) -> Case:
        shown.append(make_case(*arguments, **options))
        return shown[-1]

    return made


@pytest.fixture
def judged(check: Check) -> Callable[[dict[str, Any], Case], None]:
    """Whoever accepts a forgery accepts what is true, and both say the same or are known not to."""

    def run(document: dict[str, Any], case: Case) -> None:
        theirs, ours = verdicts(document | {"sha256": _checksum(document)}, case.data, check)
        if theirs.startswith("file: ") and not ours:
            # The checker does not look at what says nothing about the proof.
            beside = {"made_by", "sha256"}
            kept = [
                {k: x for k, x in one.items() if k not in beside}
                for one in (document, case.document())
            ]
            assert kept[0] == kept[1], theirs
        elif "claims the" in theirs and not ours:
            # True by less than the roundings that `verify` allows for.
            claims = case.certificate.verify(**case.data)
            assert document["lower"] <= claims.lower * (1.0 + 1e-13)
            assert document["upper"] >= claims.upper * (1.0 - 1e-13)
        else:
            assert bool(theirs) == bool(ours), (theirs, ours)

    return run


@pytest.fixture
def forge(
    tmp_path: Path, judged: Callable[[dict[str, Any], Case], None], shown: list[Case]
) -> Callable[[dict[str, Any]], Certificate]:
    def run(document: dict[str, Any]) -> Certificate:
        for case in shown:
            judged(document, case)
        return Certificate.load(write_sealed(tmp_path / "forged.json", document))

    return run


@pytest.mark.parametrize("name", ["plain", "priced"])
def test_forgeries_of_every_field(
    name: str, judged: Callable[[dict[str, Any], Case], None]
) -> None:
    """Every fifth, and all of them in long runs."""
    case = known(name)
    for i, (_, path, document) in enumerate(changes(case.document())):
        if path[0] != "sha256" and i % STRIDE == 0:
            judged(document, case)


@pytest.mark.parametrize(
    "place",
    [("cuts",), ("problem", "cost"), ("leaves", 0, "weight"), ("model", "scale"), ("data", "rows")],
)
def test_fields_that_nobody_knows(place: tuple[Any, ...], check: Check) -> None:
    """They may ask for another problem, or add to it: neither reader passes over them."""
    case = known("plain")
    document = holder = case.document()
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = 1.0
    theirs, ours = verdicts(document | {"sha256": _checksum(document)}, case.data, check)
    assert "a field that is not known here" in theirs
    assert f"does not know the field {place[-1]}" in ours


def test_texts_that_are_no_certificates(checker: Any, tmp_path: Path) -> None:
    """A key that appears twice, numbers without end, nothing but brackets, a stream too long."""
    case = known("plain")
    text = json.dumps(sealed := case.document() | {"sha256": _checksum(case.document())})
    for forged, words in (
        (text[:-1] + ', "lower": 9.0}', "twice"),
        ('{"lower": 9.0,' + text[1:], "twice"),
        (text.replace(repr(sealed["lower"]), "NaN"), "no number"),
        (text.replace(repr(sealed["lower"]), "1e999"), "checksum"),
        ("[" * 100_000, "RecursionError"),
        (text + "{}", "Extra data"),
        ("[]", "not well formed"),
    ):
        (tmp_path / "c.json").write_text(forged, encoding="utf-8")
        code, sentence = checker.judged(str(tmp_path / "c.json"), case.data)
        assert code == 1
        assert words in sentence
        with pytest.raises(CertificateError):
            decode(forged.encode())
