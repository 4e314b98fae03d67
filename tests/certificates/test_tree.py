"""Search trees as proofs: files, verification, and forgeries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds.bounds import Minorant
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.tree import Tree
from sparsebounds.datasets import make_correlated

DATA = make_correlated(60, 30, 0.9, nonzeros=8, random_state=0)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    found = sb.solve(DATA.X, DATA.y, k=8, ridge=0.01, exact=True).certificate
    assert found.tree is not None
    assert found.tree.size > 20
    assert found.tree.minorant is not None
    assert len(found.tree.exhausted) > 0
    return found


def test_saved_trees_are_verified(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    certificate.save(path)
    loaded = Certificate.load(path)
    verdict = loaded.verify(DATA.X, DATA.y)
    assert verdict.ok
    # Rounding is relative to the terms of the loss, w.Q w and that without features, not their sum.
    lengths = np.mean(DATA.X**2, axis=0)[certificate.support]
    terms = np.mean(DATA.y**2) / 2 + np.sum(lengths * certificate.coef**2)
    assert verdict.lower - 1e-11 * terms <= certificate.lower <= verdict.lower
    assert verdict.upper <= certificate.upper == pytest.approx(verdict.upper, rel=1e-12)
    assert loaded.tree is not None
    assert certificate.tree is not None
    for name in Tree.__dataclass_fields__.keys() - {"minorant", "shifts"}:
        assert np.array_equal(getattr(loaded.tree, name), getattr(certificate.tree, name)), name
    assert loaded.tree.shifts.keys() == certificate.tree.shifts.keys()
    for name in Minorant.__dataclass_fields__:
        stored, made = (getattr(tree.minorant, name) for tree in (loaded.tree, certificate.tree))
        assert np.array_equal(stored, made), name


def test_other_data_are_refused(certificate: Certificate) -> None:
    y = DATA.y.copy()
    y[0] += 1.0
    assert not certificate.verify(DATA.X, y).ok


def changed(certificate: Certificate, **fields: Any) -> Certificate:
    assert certificate.tree is not None
    return replace(certificate, tree=replace(certificate.tree, **fields))


def refused(certificate: Certificate, reason: str) -> None:
    verdict = certificate.verify(DATA.X, DATA.y)
    assert not verdict.ok
    assert reason in verdict.message, verdict.message


def test_forged_trees_are_refused(certificate: Certificate) -> None:
    tree = certificate.tree
    assert tree is not None
    refused(changed(certificate, parent=tree.parent[:-1]), "do not match")
    twice = tree.parent.copy()
    twice[-1] = twice[0]
    refused(changed(certificate, parent=twice), "split twice")
    early = tree.parent.copy()
    early[0] = 1
    refused(changed(certificate, parent=np.sort(early)), "is no proof")
    decided = tree.feature.copy()
    decided[1:] = decided[0]
    refused(changed(certificate, feature=decided), "decided already")
    blank = tree.counts.copy()
    blank[-1] = -1
    kept = tree.support[: len(tree.support) - tree.counts[-1]]
    refused(
        changed(certificate, counts=blank, support=kept, values=tree.values[: len(kept)]),
        "no dual vector",
    )
    fewer = tree.kept[:-1]
    refused(changed(certificate, kept=fewer), "does not decide about")
    refused(changed(certificate, values=0.5 * tree.values), "claims the lower bound")
    refused(replace(certificate, lower=certificate.lower + 1e-3), "claims the lower bound")


def test_a_feature_may_not_be_removed_without_proof(certificate: Certificate) -> None:
    """Leaving out a feature of the model from the start would make every bound too high."""
    data = make_correlated(60, 8, 0.5, nonzeros=3, random_state=0)
    found = sb.solve(data.X, data.y, k=3, ridge=0.05)
    without = np.setdiff1d(np.arange(8), found.support[:1])
    cheat = sb.solve(data.X, data.y, k=3, ridge=0.05, never=found.support[:1].tolist(), tol=1e-9)
    n = len(data.y)
    w = cheat.relaxation.w[without]
    support = np.flatnonzero(w).astype(np.int32)
    tree = Tree(
        kept=without,
        removal=cheat.relaxation.point.t,
        parent=np.zeros(0, dtype=np.int64),
        feature=np.zeros(0, dtype=np.int64),
        counts=np.array([len(support)]),
        support=support,
        values=w[support],
        intercept=np.zeros(1),
        fixed_counts=np.zeros(1, dtype=np.int64),
        fixed=np.zeros(0, dtype=np.int64),
    )
    program = sb.Program(data.X, data.y, k=3, ridge=0.05)
    forged = Certificate.build(program, (), (), cheat.coef, tree=tree)
    assert len(tree.removal) == n
    assert forged.lower <= found.upper < cheat.upper
    assert forged.verify(data.X, data.y).ok  # valid, and honest: it proves less than it hoped
    hoped = replace(forged, lower=forged.lower + 1e-6 * abs(forged.upper))
    assert not hoped.verify(data.X, data.y).ok


def test_trees_that_are_not_arrays_are_refused_by_name(
    certificate: Certificate, tmp_path: Path
) -> None:
    import json

    from sparsebounds.certificates.codec import _checksum, encode

    document = json.loads(encode(certificate))
    for field, value, reason in [
        ("splits", -1, "tree.splits must be an integer"),
        ("splits", document["tree"]["splits"] + 1, "tree.counts must be"),
        ("parent", "%%%", "tree.parent must be compressed base64"),
        ("kept_count", 31, "tree.kept_count must be an integer from 1 to 30"),
        ("values", document["tree"]["support"], "tree.values must be"),
    ]:
        forged = document | {"tree": document["tree"] | {field: value}}
        path = tmp_path / "forged.json"
        path.write_text(json.dumps(forged | {"sha256": _checksum(forged)}))
        with pytest.raises(ValueError, match=reason):
            Certificate.load(path)
