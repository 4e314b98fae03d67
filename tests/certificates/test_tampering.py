"""Forged certificates: each field changed, with the checksum left stale and with it renewed."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebounds.bounds import Node, objective_up
from sparsebounds.certificates import Certificate, CertificateError, Leaf, leaf_bound
from sparsebounds.losses import get_loss
from sparsebounds.program import Program
from sparsebounds.testing import brute_force

Path_ = tuple[Any, ...]


def pack(values: Any) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


def unpack(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


def fields(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every value of a document with its path, inner ones too."""
    if path:
        yield path, value
    if isinstance(value, (dict, list)):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from fields(child, (*path, key))


def replaced(document: Any, path: Path_, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def removed(document: Any, path: Path_) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


def other_values(path: Path_, value: Any) -> Iterator[Any]:
    """Changes of a value that a forger would try, of its own type first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (value + 0.01, value - 0.01, -value - 1.0, 0.0)
    elif isinstance(value, str) and (path[0] == "duals" or path[-1] in ("center", "scale")):
        numbers = unpack(value)
        yield from (pack(numbers * 1.01), pack(-numbers), pack(numbers[:-1]), value[:-4] + "####")
    elif isinstance(value, str):
        yield from (value + "x", "squared" if value != "squared" else "poisson")
    elif isinstance(value, list):
        yield from (value[:-1], value[::-1], [*value, *value[:1]], [*value, 3])
    elif value is None:
        yield 1
    # And of another type.
    yield from (None, "text", 1.5, True, {}, [])


def changes(document: dict[str, Any]) -> Iterator[tuple[str, Path_, dict[str, Any]]]:
    for path, value in fields(document):
        name = ".".join(map(str, path))
        yield f"{name} removed", path, removed(document, path)
        for other in other_values(path, value):
            if other != value or type(other) is not type(value):
                yield f"{name} = {other!r}"[:80], path, replaced(document, path, other)


def load_error(path: Path) -> str:
    """The sentence of the CertificateError that loading raises; "" where it raises none."""
    try:
        Certificate.load(path)
    except CertificateError as error:
        return str(error)
    return ""


# What the checksum catches: everything.


def test_a_change_of_any_field_breaks_the_checksum(priced: Any, tmp_path: Path) -> None:
    document, path = priced.document(), tmp_path / "c.json"
    count = 0
    for what, field, changed in changes(document):
        path.write_text(json.dumps(changed), encoding="utf-8")
        # The format and its version are looked at first, so that they can change.
        expected = "checksum" if field not in {("format",), ("version",), ("sha256",)} else field[0]
        error = load_error(path)
        assert re.search(f"{expected}|checksum", error), (what, error)
        count += 1
    assert count > 300


# What is left when the checksum is renewed: fields that the reader refuses by name, bounds that
# the contents do not give, or another true certificate.

SENTENCES = {
    "lower": "claims the lower bound",
    "upper": "claims the upper bound",
    "problem.loss": "is not known here|cannot be posed on these data|claims the upper bound",
    "problem.k|problem.l0|problem.ridge|problem.ball": "claims the|does not obey the constraints",
    "problem.fit_intercept": "claims the|does not obey the constraints|column means and scales",
    "problem.center|problem.scale": "stored column means and scales are not those of the data",
    "problem.positive|problem.always|problem.never": "claims the|does not obey the constraints",
    "data.shape": "the data have 4 columns, but the certificate is about",
    "data.fingerprint": "the data .* are not those of the certificate",
    "model": "claims the upper bound|does not obey the constraints",
    "duals": "claims the lower bound|outside the domain of the conjugate loss",
    "leaves": "leaves do not cover every support|claims the lower bound",
}
# A change of the shape or of the list of dual vectors shows where it no longer fits.
MISFITS = {"data.shape": "duals|center|support|positive|never", "duals": "duals|leaves"}
# Fields of which some other value makes another true certificate: a claim may be weaker, a dual
# vector may be added, leaves reordered, and of several leaves only the one with the smallest bound
# is tight.
MAY_DIFFER = {
    "plain": r"lower|upper|duals$|leaves|made_by",
    "priced": r"lower|upper|problem\.(ball|l0|positive|never)|duals|leaves|made_by",
}


def first(table: dict[str, str], field: str) -> str:
    """The entry of the table whose key begins the field."""
    return next(text for names, text in table.items() if re.match(names, field))


@pytest.mark.parametrize("name", ["plain", "priced"])
def test_a_change_of_any_field_with_the_checksum_renewed(
    name: str, request: pytest.FixtureRequest, sealed: Callable[[dict[str, Any]], Path]
) -> None:
    case = request.getfixturevalue(name)
    outcomes = {"error": 0, "refused": 0, "true": 0}
    for what, path, changed in changes(case.document()):
        field = ".".join(map(str, path))
        if field == "sha256":
            continue
        error = load_error(sealed(changed))
        if error:
            own = next(str(key) for key in reversed(path) if isinstance(key, str))
            misfit = next((names for key, names in MISFITS.items() if field.startswith(key)), own)
            assert re.search(f"{own}|{misfit}", error), (what, error)
            outcomes["error"] += 1
            continue
        certificate = Certificate.load(sealed(changed))
        verdict = case.verify(certificate)
        if verdict.ok:
            assert re.match(MAY_DIFFER[name], field), what
            assert_true(case, certificate)
            outcomes["true"] += 1
        else:
            assert re.search(first(SENTENCES, field), verdict.message), (what, verdict.message)
            outcomes["refused"] += 1
    assert outcomes["error"] > 200
    assert outcomes["refused"] > 40
    assert outcomes["true"] < 50


def assert_true(case: Any, certificate: Certificate) -> None:
    """Its bounds hold for the problem it states, by exhaustive search."""
    problem = certificate.problem
    data = {"sample_weight": None, "offset": None} | case.data
    program = problem.program(**data, m=4, loss=get_loss(problem.loss))
    verdict, optimum = case.verify(certificate), brute_force(program)
    assert certificate.lower <= verdict.lower <= optimum.value
    assert optimum.value <= verdict.upper <= certificate.upper


# One by one, with their sentences.


def refusal(case: Any, certificate: Certificate) -> str:
    verdict = case.verify(certificate)
    assert not verdict.ok
    assert not bool(verdict)
    assert verdict.message.startswith("Refused: ")
    return str(verdict.message)


@pytest.mark.parametrize("step", [1e-15, 1e-10, 1e-8, 1e-3, 1.0, 1e6])
def test_a_raised_lower_bound(step: float, plain: Any, forge: Any) -> None:
    found = plain.verify(plain.certificate).lower
    above = max(found + step * plain.program.null, math.nextafter(found, math.inf))
    text = refusal(plain, forge(plain.document() | {"lower": above}))
    assert re.search("claims the lower bound .*, but its own contents give 0.177187", text)


@pytest.mark.parametrize("step", [1e-15, 1e-10, 1e-8, 1e-3, 0.5])
def test_a_lowered_upper_bound(step: float, plain: Any, forge: Any) -> None:
    found = plain.verify(plain.certificate).upper
    below = min(found - step * plain.program.null, math.nextafter(found, 0.0))
    text = refusal(plain, forge(plain.document() | {"upper": below}))
    assert re.search("claims the upper bound .*, but its own contents give 0.285197", text)


def test_claims_that_are_weaker_are_true(plain: Any, forge: Any) -> None:
    document = plain.document()
    for claims in ({"lower": -1e300}, {"upper": 1e300}, {"lower": 0.0, "upper": 2.0}):
        verdict = plain.verify(forge(document | claims))
        assert verdict.ok
        assert verdict == plain.verify(plain.certificate)
    for side in ("lower", "upper"):
        for number in (math.nan, math.inf, -math.inf):
            text = refusal(plain, dataclasses.replace(plain.certificate, **{side: number}))
            assert f"claims the {side} bound" in text
    # A lower bound above both uppers, and above the one that is claimed too low.
    for claims in ({"lower": 0.3, "upper": 0.29}, {"lower": 0.28, "upper": 0.27}):
        assert "claims the" in refusal(plain, forge(document | claims))


def test_a_refusal_reports_what_the_contents_do_prove(plain: Any, forge: Any) -> None:
    verdict = plain.verify(forge(plain.document() | {"lower": 0.2}))
    genuine = plain.verify(plain.certificate)
    assert (verdict.lower, verdict.upper) == (genuine.lower, genuine.upper)
    early = plain.verify(forge(plain.document() | {"leaves": [leaf(low=1)]}))
    assert math.isnan(early.lower)
    assert math.isnan(early.upper)


def leaf(**changed: Any) -> dict[str, Any]:
    return {"inside": [], "outside": [], "low": 0, "high": None, "dual": 0} | changed


def test_a_dropped_leaf(priced: Any, forge: Any) -> None:
    document = priced.document()
    for i in range(len(document["leaves"])):
        text = refusal(priced, forge(removed(document, ("leaves", i))))
        missing = document["leaves"][i]["low"]
        assert f"the leaves do not cover every support: supports of {missing} features" in text


def test_a_leaf_with_a_shrunken_range(plain: Any, forge: Any) -> None:
    for leaves, missing in (
        ([leaf(low=1)], "supports of 0 features are in no leaf"),
        ([leaf(high=1)], "supports of 2 features are in no leaf"),
        ([leaf(high=0), leaf(low=2)], "supports of 1 features are in no leaf"),
        ([leaf(low=5)], "supports of 0 features are in no leaf"),
        ([leaf(inside=[1])], "supports of 0 features are in no leaf"),
        ([leaf(outside=[1])], "supports of 1 features that hold [1] are in no leaf"),
        ([leaf(inside=[1]), leaf(outside=[1], low=1)], "supports of 0 features are in no leaf"),
        (
            [leaf(inside=[1, 3]), leaf(outside=[1]), leaf(inside=[3], outside=[1])],
            "supports of 1 features that hold [1] are in no leaf",
        ),
    ):
        text = refusal(plain, forge(plain.document() | {"leaves": leaves}))
        assert text == f"Refused: the leaves do not cover every support: {missing}."


def test_leaves_that_split_on_a_fixed_feature(data_of: Any, certified: Any, forge: Any) -> None:
    case = certified(data_of("squared"), k=2, ridge=0.2, always=[1], never=[3])
    for fixed in ({"inside": [1]}, {"outside": [1]}, {"inside": [3]}, {"outside": [3]}):
        text = refusal(case, forge(case.document() | {"leaves": [leaf(), leaf(**fixed)]}))
        assert text == "Refused: a leaf fixes a feature that the problem does not leave free."


def binding_dual(case: Any) -> int:
    """The dual vector of the leaf with the smallest bound."""
    certificate = case.certificate
    bounds = [leaf_bound(case.program, certificate.duals, [leaf]) for leaf in certificate.leaves]
    assert min(bounds) == pytest.approx(certificate.lower, rel=1e-12)
    return int(certificate.leaves[int(np.argmin(bounds))].dual)


def test_a_swapped_dual_index(priced: Any, forge: Any) -> None:
    document = priced.document()
    assert len(document["duals"]) >= 2
    for item in document["leaves"]:
        item["dual"] = (item["dual"] + 1) % len(document["duals"])
    assert "claims the lower bound" in refusal(priced, forge(document))


def test_another_dual_vector(priced: Any, forge: Any) -> None:
    document = priced.document()
    i = binding_dual(priced)
    half = pack(0.5 * unpack(document["duals"][i]))
    text = refusal(priced, forge(replaced(document, ("duals", i), half)))
    assert "claims the lower bound" in text
    outside = unpack(document["duals"][0])
    outside[0] = -1.001 * priced.data["y"][0]
    for bad in (outside, -outside, np.full(9, 1e308), np.where(outside > 0, 1e308, -1e308)):
        text = refusal(priced, forge(replaced(document, ("duals", 0), pack(bad))))
        assert text == "Refused: a dual vector is outside the domain of the conjugate loss."


@pytest.mark.parametrize("intercept", [False, True])
def test_dual_vectors_too_large_to_sum(
    intercept: bool, data_of: Any, certified: Any, forge: Any
) -> None:
    case = certified(data_of("squared", extra=True), k=2, ridge=0.2, fit_intercept=intercept)
    alternating = np.where(np.arange(9) % 2, 1.0, -1.0)
    for size in (1e151, 1e300, 1.7e308):
        for dual in (size * alternating, np.full(9, size)):
            text = refusal(case, forge(replaced(case.document(), ("duals", 0), pack(dual))))
            assert "outside the domain" in text
    for size in (1e100, 1e150):
        document = replaced(case.document(), ("duals", 0), pack(size * alternating))
        assert "claims the lower bound" in refusal(case, forge(document))


@pytest.mark.parametrize(
    ("name", "field", "value", "sentence"),
    [
        ("plain", "k", 1, "the stored model does not obey the constraints of the problem"),
        ("plain", "k", 3, "claims the lower bound"),
        ("plain", "k", 0, "the stored model does not obey the constraints of the problem"),
        ("plain", "ridge", 0.21, "claims the upper bound"),
        ("plain", "ridge", 1e-300, "claims the lower bound"),
        ("plain", "ridge", pack([0.2, 0.2, 0.2, 0.1]), "claims the"),
        ("priced", "l0", 0.06, "claims the upper bound"),
        ("priced", "l0", pack([0.05, 0.05, 0.05, 1e200]), "cannot be posed .*: l0 holds values"),
        ("priced", "ball", 1.0, "the stored model does not obey the constraints of the problem"),
        ("priced", "ball", 3.0, "claims the lower bound"),
        ("plain", "loss", "huber", "the loss 'huber' with parameters {} is not known here"),
        ("plain", "loss", "logistic", "cannot be posed on these data: y holds 9 classes"),
        ("plain", "loss", "poisson", "cannot be posed on these data: y holds negative values"),
        ("plain", "loss", "hinge", "the loss 'hinge' with parameters {} is not known here"),
        ("priced", "loss", "squared_hinge", "claims the|outside the domain"),
        ("plain", "loss_parameters", {"delta": 1.0}, "with parameters {'delta': 1.0} is not known"),
        ("plain", "fit_intercept", True, "claims the"),
        ("priced", "fit_intercept", False, "column means and scales|does not obey"),
        ("priced", "center", pack([0.0] * 4), "the stored column means and scales are not"),
        ("priced", "scale", pack([1.0] * 4), "the stored column means and scales are not those of"),
        ("plain", "positive", [0, 1, 2, 3], "does not obey the constraints"),
        ("plain", "never", [0], "does not obey the constraints"),
        ("plain", "always", [0], "claims the lower bound"),
    ],
)  # fmt: skip
def test_another_problem(
    name: str, field: str, value: Any, sentence: str, request: Any, forge: Any
) -> None:
    case = request.getfixturevalue(name)
    document = replaced(case.document(), ("problem", field), value)
    assert re.search(sentence, refusal(case, forge(document)))


def test_centers_and_scales_a_little_off(priced: Any, forge: Any) -> None:
    document = priced.document()
    for field in ("center", "scale"):
        numbers = unpack(document["problem"][field])
        for factor in (1 + 1e-5, 1 - 1e-5):
            off = replaced(
                document, ("problem", field), pack(numbers * factor + (field == "center") * 1e-4)
            )
            assert "column means and scales" in refusal(priced, forge(off))
    both = replaced(document, ("problem", "center"), None)
    both = replaced(both, ("problem", "scale"), None)
    assert "claims the" in refusal(priced, forge(both))


def test_another_data_set_in_the_file(plain: Any, forge: Any) -> None:
    document = plain.document()
    mark = document["data"]["fingerprint"]
    for other in (
        mark.replace("9x4", "9x5"),
        mark[::-1],
        "",
        mark[:-1] + "0123456789abcdef"[mark[-1] == "0"],
    ):
        text = refusal(plain, forge(replaced(document, ("data", "fingerprint"), other)))
        assert "the data (X, y, weights or offset) are not those of the certificate" in text
    text = refusal(plain, forge(replaced(document, ("data", "shape"), [9, 5])))
    assert text == "Refused: the data have 4 columns, but the certificate is about 5."
    longer = replaced(document, ("data", "shape"), [10, 4])
    longer["duals"] = [pack(np.append(unpack(dual), 0.0)) for dual in longer["duals"]]
    assert refusal(plain, forge(longer)) == (
        "Refused: the data are 9 x 4 (rows of weight 0 left out), but the certificate is about "
        "10 x 4."
    )


# Forgers who change two fields at once.


def test_an_intercept_the_problem_does_not_have(data_of: Any, certified: Any, forge: Any) -> None:
    """A model with an intercept fits better: claimed without one, its value is no upper bound."""
    data = data_of("squared")
    data["y"] = data["y"] + 5.0
    case = certified(data, k=2, ridge=0.2)
    w = case.optimum.w
    free = certified(data, k=2, ridge=0.2, fit_intercept=True)
    below = objective_up(free.program, w, 5.0)
    assert below < case.optimum.value
    document = replaced(case.document(), ("model", "intercept"), 5.0) | {"upper": below}
    assert refusal(case, forge(document)) == (
        "Refused: the stored model does not obey the constraints of the problem."
    )


def test_a_terrible_model_does_not_loosen_the_lower_bound(plain: Any, forge: Any) -> None:
    """A tolerance relative to the upper bound would let any lower bound pass beside it."""
    w = np.array([1e100, 0.0, 0.0, 0.0])
    document = plain.document() | {"upper": objective_up(plain.program, w)}
    document["model"] = {"support": [0], "coef": [1e100], "intercept": 0.0}
    assert plain.verify(forge(document)).ok
    for claimed in (1e50, 1.0, plain.optimum.value + 1e-3):
        text = refusal(plain, forge(document | {"lower": claimed}))
        assert "claims the lower bound" in text


def test_a_dual_vector_beyond_all_measure_proves_the_least_loss(
    data_of: Any, certified: Any, forge: Any
) -> None:
    data = data_of("squared")
    data["X"] = data["X"] * 1e20
    case = certified(data, k=2, ridge=0.2)
    document = replaced(case.document(), ("duals", 0), pack(np.full(9, 1e150)))
    assert case.verify(forge(document | {"lower": 0.0})).lower == 0.0
    above = document | {"lower": 5e-324}
    assert "its own contents give 0" in refusal(case, forge(above))


def test_an_infinite_null_model_does_not_loosen_anything(data_of: Any) -> None:
    data = data_of("poisson") | {"offset": np.full(9, 800.0)}
    data["X"] = np.ones((9, 1))
    program = Program(**data, k=1, ridge=1e-3, loss="poisson")
    assert math.isinf(program.null)
    certificate = Certificate.build(program, [np.zeros(9)], [Leaf(Node(), 0)], np.array([-801.0]))
    verdict = certificate.verify(**data)
    assert verdict.ok
    for claims, side in (({"lower": 2.0}, "lower"), ({"upper": 1.0}, "upper")):
        forged = dataclasses.replace(certificate, **claims).verify(**data)
        assert not forged.ok
        assert f"claims the {side} bound" in forged.message


def test_stored_zeros_are_not_counted_as_coefficients(plain: Any, forge: Any) -> None:
    document = plain.document()
    spare = next(j for j in range(4) if j not in document["model"]["support"])
    document["model"]["support"].append(spare)
    document["model"]["coef"].append(0.0)
    verdict = plain.verify(forge(document))
    assert verdict.ok
    assert "with 2 nonzero coefficients attains" in verdict.message


# The right certificate, the wrong data.


def test_other_data(data_of: Any, certified: Any) -> None:
    case = certified(data_of("squared", extra=True), k=2, ridge=0.2, fit_intercept=True)
    certificate, data = case.certificate, case.data
    assert certificate.verify(**data).ok

    def message(**changed: Any) -> str:
        verdict = certificate.verify(**(data | changed))
        assert not verdict.ok
        return str(verdict.message)

    not_those = "Refused: the data (X, y, weights or offset) are not those of the certificate."
    for name in ("X", "y", "sample_weight", "offset"):
        nudged = data[name].copy()
        nudged.flat[3] = np.nextafter(nudged.flat[3], np.inf)
        assert message(**{name: nudged}) == not_those
        assert message(**{name: data[name][::-1]}) == not_those
    assert message(sample_weight=None) == not_those
    assert message(offset=None) == not_those
    assert message(X=data["X"][:, ::-1]) == not_those
    assert message(X=-data["X"]) == not_those
    assert message(X=data["X"][:, :3]) == (
        "Refused: the data have 3 columns, but the certificate is about 4."
    )
    assert message(X=data["X"][:, 0]) == (
        "Refused: the data have 0 columns, but the certificate is about 4."
    )
    assert message(**{name: values[:8] for name, values in data.items()}) == (
        "Refused: the data are 8 x 4 (rows of weight 0 left out), but the certificate is about "
        "9 x 4."
    )
    dropped = data["sample_weight"].copy()
    dropped[0] = 0.0
    assert "the data are 8 x 4 (rows of weight 0 left out)" in message(sample_weight=dropped)


def test_data_that_cannot_be_read(plain: Any) -> None:
    X, y = plain.data["X"], plain.data["y"]
    holes = X.copy()
    holes[2, 1] = np.nan
    for data, text in (
        ((holes, y), "X holds NaN in column 1; drop or impute such rows or columns."),
        ((X, y[:5]), "y has 5 entries, but X has 9 rows; pass one per row."),
        ((X, y + 1j), "y is complex; it must hold real numbers or class labels."),
        ((X, y, -np.ones(9)), "sample_weight holds -1; weights must be 0 or more (0 drops a row)."),
        (([[1.0, 2.0], [3.0]], y), "inhomogeneous shape"),
    ):
        verdict = plain.certificate.verify(*data)
        assert not verdict.ok
        assert verdict.message.startswith("Refused: the problem cannot be posed on these data: ")
        assert text in verdict.message
