"""Minorants and leaves whose supports are all tried: in files, and forged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import Minorant
from sparsebounds.certificates import Certificate
from sparsebounds.datasets import make_correlated

DATA = make_correlated(60, 20, 0.9, nonzeros=8, random_state=0)
PROBLEMS: dict[str, dict[str, Any]] = {
    "searched": {"k": 8, "ridge": 0.002, "exact": True},
    "root": {"l0": 0.05, "ridge": 0.02, "exact": False, "fit_intercept": True},
    "ball": {"k": 5, "ball": 4.0, "exact": False},
}
COEF = 10.0
"""No coefficient of a relaxed solution is larger."""


@pytest.fixture(scope="module", params=PROBLEMS)
def certificate(request: pytest.FixtureRequest) -> Certificate:
    return _certificate(request.param)


@pytest.fixture(scope="module")
def searched() -> Certificate:
    return _certificate("searched")


def _certificate(name: str) -> Certificate:
    found = sb.solve(DATA.X, DATA.y, **PROBLEMS[name]).certificate
    assert found.tree is not None
    assert found.tree.minorant is not None
    assert (found.tree.size > 5) == (len(found.tree.exhausted) > 2) == (name == "searched")
    assert (found.tree.minorant.eta > 0.0) == (name == "ball")
    return found


def minorant_of(certificate: Certificate) -> Minorant:
    assert certificate.tree is not None
    assert certificate.tree.minorant is not None
    return certificate.tree.minorant


def with_minorant(certificate: Certificate, **fields: Any) -> Certificate:
    minorant = replace(minorant_of(certificate), **fields)
    assert certificate.tree is not None
    return replace(certificate, tree=replace(certificate.tree, minorant=minorant))


def test_files(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    for name, value in vars(minorant_of(certificate)).items():
        np.testing.assert_array_equal(getattr(minorant_of(loaded), name), value)
    assert loaded.tree is not None
    assert certificate.tree is not None
    assert np.array_equal(loaded.tree.exhausted, certificate.tree.exhausted)
    verdict = loaded.verify(DATA.X, DATA.y)
    assert verdict.ok
    assert verdict.lower == certificate.verify(DATA.X, DATA.y).lower >= certificate.lower


def forgeries(minorant: Minorant) -> Iterator[tuple[str, dict[str, Any]]]:
    """Too much of everything; and what is no number."""
    rng, count = np.random.default_rng(0), len(minorant.ridge)
    for feature in range(0, count, 3):
        for value in (1.0 + 1e-6, 2.0, -1.0, 0.0, math.nan, math.inf):
            ridge = minorant.ridge.copy()
            ridge[feature] *= value
            yield f"ridge[{feature}] * {value}", {"ridge": ridge}
    swapped = np.arange(count)
    swapped[[1, 2]] = 2, 1
    yield "columns swapped", {"factor": minorant.factor[:, swapped]}
    yield "rows and columns", {"factor": minorant.factor.T.copy()}
    for value in (1.0 + 1e-6, 1.01, 0.99, math.nan, 1e200):
        yield f"factor * {value}", {"factor": minorant.factor * value}
        yield f"target * {value}", {"target": minorant.target * value}
    yield "another target", {"target": -minorant.target}
    yield "any target", {"target": rng.normal(size=count)}
    yield "no target", {"target": np.zeros(count)}
    yield "another shape", {"factor": minorant.factor[:, :-1]}
    for eta in (-1.0, math.nan):
        yield f"eta {eta}", {"eta": eta}
    if minorant.eta > 0.0:
        for part in (0.0, 0.5, 1.0 - 1e-9, 1.001, 2.0):
            yield f"eta * {part}", {"eta": part * minorant.eta}


def test_forged_minorants_are_refused(certificate: Certificate) -> None:
    assert certificate.verify(DATA.X, DATA.y).ok
    for what, fields in forgeries(minorant_of(certificate)):
        verdict = with_minorant(certificate, **fields).verify(DATA.X, DATA.y)
        assert not verdict.ok, what
        assert "minorant" in verdict.message or "claims the lower bound" in verdict.message, what


def test_a_little_more_proves_nothing_more(certificate: Certificate) -> None:
    """It may pass, as the factorisation has room for it; but bounds rise by no more than that."""
    minorant, before = minorant_of(certificate), certificate.verify(DATA.X, DATA.y)
    optimum = certificate.upper
    for feature in range(0, len(minorant.ridge), 3):
        for value in (2.0**-52, 1e-12, 1e-9):
            ridge = minorant.ridge.copy()
            ridge[feature] *= 1.0 + value
            verdict = with_minorant(certificate, ridge=ridge).verify(DATA.X, DATA.y)
            if verdict.ok:
                most = before.lower + (value + 1e-12) * minorant.ridge[feature] * COEF**2
                assert verdict.lower <= min(most, optimum)


def test_files_with_forged_minorants(certificate: Certificate, forge: Any) -> None:
    import json

    from sparsebounds.certificates.codec import encode
    from sparsebounds.certificates.tree_codec import MINORANT, _flat, texts

    document, minorant = json.loads(encode(certificate)), minorant_of(certificate)
    for name, value, reason in (
        ("ridge", math.nan, "ridge must be finite"),
        ("ridge", -1.0, "ridge must be above 0"),
        ("ridge", 0.0, "ridge must be above 0"),
        ("factor", math.inf, "factor must be finite"),
        ("target", math.nan, "target must be finite"),
        ("eta", -1.0, "eta 0 or more"),
        ("eta", math.nan, "eta must be finite"),
    ):
        flat = {key: np.array(array) for key, array in _flat(minorant).items()}
        flat[name].flat[-1] = value
        tree = document["tree"] | {"minorant": texts(flat, MINORANT)}
        with pytest.raises(ValueError, match=reason):
            forge(document | {"tree": tree})
    for name in MINORANT:
        texts = {key: text for key, text in document["tree"]["minorant"].items() if key != name}
        with pytest.raises(ValueError, match=name):
            forge(document | {"tree": document["tree"] | {"minorant": texts}})
    without = {key: value for key, value in document["tree"].items() if key != "minorant"}
    assert not forge(document | {"tree": without}).verify(DATA.X, DATA.y).ok


def test_forged_lists_of_leaves(searched: Certificate, forge: Any) -> None:
    import json

    from sparsebounds.certificates.codec import encode

    tree, lower = searched.tree, searched.verify(DATA.X, DATA.y).lower
    assert tree is not None

    def verified(nodes: list[int], **fields: Any) -> Any:
        exhausted = np.array(nodes, dtype=np.int64)
        forged = replace(searched, tree=replace(tree, exhausted=exhausted, **fields))
        return forged.verify(DATA.X, DATA.y)

    # Without the list its leaves prove less.
    assert "claims the lower bound" in verified([]).message
    for place in range(len(tree.exhausted)):
        fewer = np.delete(tree.exhausted, place).tolist()
        assert verified(fewer).lower <= lower
    # An inner node is bounded by its leaves, whatever is said of it.
    assert verified([*tree.exhausted.tolist(), 0]).lower == lower
    # A root of which 8 features are to be chosen.
    none = np.zeros(0, dtype=np.int64)
    alone = {"parent": none, "feature": none, "counts": np.zeros(1, dtype=np.int64)}
    alone |= {"support": none.astype(np.int32), "values": np.zeros(0), "intercept": np.zeros(1)}
    alone |= {"fixed_counts": np.zeros(1, dtype=np.int64), "fixed": none, "shifts": {}}
    verdict = verified([0], **alone)
    assert not verdict.ok
    assert "too many supports to try them all" in verdict.message
    document = json.loads(encode(searched))
    for nodes in ([tree.size], [-1], [0.5], ["0"], "0", None):
        with pytest.raises(ValueError, match=r"tree\.exhausted"):
            forge(document | {"tree": document["tree"] | {"exhausted": nodes}})


@pytest.mark.parametrize(
    "problem",
    [
        {"l0": 0.05, "ridge": 0.02},
        {"k": 2, "ball": 4.0},
        {"k": 2, "ridge": 0.02, "positive": True},
        {"k": 2, "ridge": 0.02, "loss": "huber"},
    ],
)
def test_problems_of_which_supports_are_not_tried(problem: dict[str, Any]) -> None:
    found = sb.solve(DATA.X[:, :8], DATA.y, **problem, exact=True, tol=1e-12, node_limit=9)
    tree = found.certificate.tree
    if tree is None or tree.size == 1:
        pytest.fail("the problem is too easy for a tree")
    leaf = tree.size - 1
    assert leaf not in tree.parent
    forged = replace(tree, exhausted=np.array([leaf]), shifts={})
    verdict = replace(found.certificate, tree=forged).verify(DATA.X[:, :8], DATA.y)
    assert not verdict.ok
    assert "too many supports to try them all" in verdict.message


def test_a_leaf_that_names_the_wrong_best_support_cannot_be_made() -> None:
    """Whoever verifies tries the supports: with another response, another best, and no proof."""
    found = sb.solve(DATA.X, DATA.y, k=2, ridge=0.002, exact=True)
    tree = found.certificate.tree
    assert tree is not None
    assert tree.exhausted.tolist() == [0]
    other = sb.Program(DATA.X, DATA.y - DATA.X[:, 0], k=2, ridge=0.002)
    moved = sb.solve(other.data.matrix.columns(np.arange(20)), other.y, k=2, ridge=0.002)
    assert moved.upper < found.lower
    forged = replace(found.certificate, fingerprint=other.fingerprint)
    assert not forged.verify(DATA.X, other.y).ok
