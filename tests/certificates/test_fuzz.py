"""Random forgery: only CertificateError from load, and no verdict that is not true."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsebounds.certificates import Certificate, CertificateError, Verdict
from sparsebounds.certificates.codec import _checksum, decode, encode
from sparsebounds.losses import REGISTRY
from sparsebounds.testing import brute_force

MANY = settings(max_examples=10 * settings().max_examples)
CASES = st.sampled_from(["plain", "priced"])


def load(content: bytes) -> Certificate | None:
    """The certificate in these bytes; None where they are refused as they should be."""
    try:
        return decode(content)
    except CertificateError:
        return None


def assert_true(case: Any, certificate: Certificate, verdict: Verdict) -> None:
    """What the verdict says holds for the problem that the certificate states."""
    problem = certificate.problem
    loss = REGISTRY[problem.loss](**problem.loss_parameters)
    data = {"sample_weight": None, "offset": None} | case.data
    program = problem.program(**data, m=4, loss=loss)
    optimum = brute_force(program)
    assert certificate.lower <= verdict.lower <= optimum.value <= verdict.upper
    assert verdict.upper <= certificate.upper


@MANY
@given(CASES, st.data())
def test_random_bytes_in_a_valid_file(
    plain: Any, priced: Any, name: str, data: st.DataObject
) -> None:
    case = {"plain": plain, "priced": priced}[name]
    content = bytearray(encode(case.certificate).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["replace", "digit", "delete", "insert", "cut", "copy"]))
        if kind == "replace":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "digit":
            content[at] = data.draw(st.sampled_from(b'0123456789-.eE[]{},:" '))
        elif kind == "delete":
            del content[at : at + data.draw(st.integers(1, 5))]
        elif kind == "insert":
            content[at:at] = data.draw(st.binary(min_size=1, max_size=5))
        elif kind == "cut":
            del content[at + 1 :]
        else:
            content[at:at] = content[at : at + data.draw(st.integers(1, 200))]
        content = content or bytearray(b" ")
    certificate = load(bytes(content))
    # The checksum leaves white space and the spelling of numbers and letters to change.
    if certificate is not None:
        assert encode(certificate) == encode(case.certificate)


@MANY
@given(st.binary(max_size=200))
def test_random_files(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        path.write_bytes(content)
        try:
            Certificate.load(path)
        except CertificateError as error:
            message = str(error)
    assert message.startswith(str(path))


def fields(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        items: Any = value.items()
    else:
        items = enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        found += fields(child, (*path, key))
    return found


numbers = (
    st.integers(-2, 6)
    | st.integers()
    | st.floats(-2, 2)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e-300, 1e150, 1e300, 2**62, -1.0, 0.0])
)
packed = st.lists(numbers, min_size=4, max_size=9).map(
    lambda values: base64.b64encode(np.array(values, dtype="<f8").tobytes()).decode()
)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=8) | packed
plausible = st.sampled_from([*REGISTRY, "delta", [0], [0, 1], [1, 2, 3], {"delta": 1.0}, {}, []])
values = (
    scalars
    | plausible
    | st.lists(scalars, max_size=4)
    | st.dictionaries(st.sampled_from(["k", "delta", "inside", "low"]), scalars, max_size=3)
)


@MANY
@given(CASES, st.data())
def test_random_values_in_a_sealed_file(
    plain: Any, priced: Any, name: str, data: st.DataObject
) -> None:
    case = {"plain": plain, "priced": priced}[name]
    document = copy.deepcopy(case.document())
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(fields(document)))
        place = document
        for key in path[:-1]:
            place = place[key]
        if data.draw(st.integers(0, 9)) == 0:
            del place[path[-1]]
        else:
            place[path[-1]] = copy.deepcopy(data.draw(values))
    document["sha256"] = _checksum(document)
    certificate = load(json.dumps(document).encode())
    if certificate is None:
        return
    verdict = case.verify(certificate)
    if verdict.ok:
        assert_true(case, certificate, verdict)
    else:
        assert verdict.message.startswith("Refused: ")


def plausible_problem(draw: st.DrawFn | Any, document: dict[str, Any]) -> None:
    """Changes that stay legal: another problem, another model, other leaves."""
    problem, model = document["problem"], document["model"]
    if problem["k"] is not None:
        problem["k"] = draw(st.integers(0, 5))
    else:
        problem["l0"] = draw(st.floats(1e-3, 1.0))
    size = "ridge" if problem["ball"] is None else "ball"
    problem[size] = draw(st.floats(1e-3, 10.0))
    subset = st.lists(st.integers(0, 3), unique=True, max_size=2)
    problem["positive"] = draw(subset)
    problem["never"] = draw(subset)
    problem["always"] = [j for j in draw(subset) if j not in problem["never"]]
    model["coef"] = [draw(st.floats(-1, 1)) for _ in model["support"]]
    model["intercept"] = draw(st.sampled_from([0.0, 0.3]))
    for leaf in document["leaves"]:
        leaf["dual"] = draw(st.integers(0, len(document["duals"]) - 1))
        leaf["inside"] = draw(st.sampled_from([[], [], [0], [1]]))
        leaf["outside"] = draw(st.sampled_from([[], [], [2], [3]]))


@MANY
@given(CASES, st.data())
def test_a_forger_who_writes_the_bounds_that_verification_finds(
    plain: Any, priced: Any, name: str, data: st.DataObject
) -> None:
    """Refused certificates tell what they do prove; claiming just that must be true."""
    case = {"plain": plain, "priced": priced}[name]
    document = copy.deepcopy(case.document())
    plausible_problem(data.draw, document)

    def sealed() -> Certificate:
        document["sha256"] = _checksum(document)
        return decode(json.dumps(document).encode())

    verdict = case.verify(sealed())
    for _ in range(2):
        if not np.isfinite([verdict.lower, verdict.upper]).all():
            assert not verdict.ok
            return
        document |= {"lower": verdict.lower, "upper": verdict.upper}
        verdict = case.verify(sealed())
    assert verdict.ok, verdict.message
    assert_true(case, sealed(), verdict)
