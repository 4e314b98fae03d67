"""Search trees over rows as proofs: files, verification, and forgeries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds.bounds import INSIDE
from sparsebounds.certificates import Certificate, CertificateError, RowTree
from sparsebounds.certificates.codec import encode
from sparsebounds.certificates.row_tree import row_tree_bound
from sparsebounds.certificates.tree import TreeError
from sparsebounds.exact import RowSearch
from sparsebounds.fitting.refit import evaluated
from sparsebounds.losses import Truncated

RNG = np.random.default_rng(7)
X = RNG.normal(size=(9, 3))
Y = X @ [1.0, 0.0, -1.0] + 1.2 * RNG.normal(size=9)
PROBLEMS: dict[str, dict[str, Any]] = {
    "price": {"l0": 0.02, "ridge": 0.05, "never": [1]},
    "intercept": {"k": 1, "ridge": 0.1, "fit_intercept": True},
    "ball": {"k": 2, "ball": 0.05},
}


@pytest.fixture(scope="module", params=PROBLEMS)
def program(request: pytest.FixtureRequest) -> sb.Program:
    return sb.Program(X, Y, loss=Truncated(c=0.8), **PROBLEMS[request.param])


@pytest.fixture(scope="module")
def best(program: sb.Program) -> float:
    return candidates(program).best()


@pytest.fixture(scope="module")
def certificate(program: sb.Program) -> Certificate:
    found = candidates(program)
    i = int(np.argmin(found.values))
    w, b = found.w[i], float(found.b[i])
    search = RowSearch(program, evaluated(program, w, b), 1e-4, 0.5)
    search.start()
    search.run(lambda: search.nodes >= 12)
    tree, lower = search.tree(), search.lower
    assert tree.leaves > 3
    assert lower > 0.0
    return Certificate.build(program, (), (), w, b, lower=lower, rows=tree)


def changed(certificate: Certificate, **fields: Any) -> Certificate:
    assert certificate.rows is not None
    return replace(certificate, rows=replace(certificate.rows, **fields))


def test_saved_trees_are_verified(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    certificate.save(path)
    loaded = Certificate.load(path)
    verdict = loaded.verify(np.asfortranarray(X), Y)
    assert verdict.ok
    assert certificate.lower <= verdict.lower <= certificate.lower * (1.0 + 1e-9)
    assert loaded.rows is not None
    assert certificate.rows is not None
    for name in set(RowTree.__dataclass_fields__) - {"spans"}:
        assert np.array_equal(getattr(loaded.rows, name), getattr(certificate.rows, name)), name
    for part, other in zip(loaded.rows.spans, certificate.rows.spans, strict=True):
        assert np.array_equal(part.scope, other.scope)
        for (lent, one), (place, two) in zip(part.rounds, other.rounds, strict=True):
            assert lent == place
            for name in set(vars(one)) - {"lent"}:
                assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert "The lower bound is that of a search tree." in certificate._repr_html_()
    moved = Y.copy()
    moved[0] += 1.0
    assert not loaded.verify(X, moved).ok
    # A file without such a tree has no field for it.
    other = sb.solve(X, Y, k=1, ridge=0.1).certificate
    assert "rows" not in json.loads(encode(other))


def put(array: Any, place: Any, value: Any) -> Any:
    changed = np.array(array)
    changed[place] = value
    return changed


def wrong(tree: RowTree) -> Iterator[tuple[str, dict[str, Any]]]:
    """Trees that are no proof of what they claim, and how each differs."""
    splits, (leaf, *_, last) = len(tree.parent), np.flatnonzero(tree.points >= 0).tolist()
    low = np.full_like(tree.theta, 0.9)
    yield "shares that are not convex", {"theta": low}
    yield "a share of 1", {"theta": np.ones_like(tree.theta)}
    yield "a share below 0", {"theta": -0.5 - tree.theta}
    yield "no share", {"theta": np.full_like(tree.theta, np.nan)}
    yield "ridges lent twice", {"shares": np.full_like(tree.shares, 2.0 * INSIDE)}
    yield "a whole ridge lent", {"shares": np.full_like(tree.shares, 1.0)}
    yield "no ridge", {"shares": np.full_like(tree.shares, np.nan)}
    yield "curvature that the intercept has not", {"etas": -1.0 - tree.etas}
    yield "an infinite middle", {"middles": np.full_like(tree.middles, np.inf)}
    yield "a leaf without a point", {"points": put(tree.points, leaf, -1)}
    yield "a point that is not there", {"points": put(tree.points, leaf, len(tree.counts))}
    yield "a leaf too few", {"points": tree.points[:-1], "scope": tree.scope[:-1]}
    yield "a split too few", {"parent": tree.parent[:-1], "switch": tree.switch[:-1]}
    yield "a node split twice", {"parent": np.full_like(tree.parent, 0)}
    yield "a node split before it is made", {"parent": put(tree.parent, 0, 2 * splits)}
    yield "a switch that is not there", {"switch": put(tree.switch, 0, 10_000)}
    yield "a switch below 0", {"switch": put(tree.switch, 0, -1)}
    yield "a switch set twice", {"switch": np.full_like(tree.switch, tree.switch[0])}
    yield "the bound of a later node", {"scope": put(tree.scope, leaf, tree.size - 1)}
    other = {"points": put(tree.points, last, tree.points[leaf])}
    yield "the bound of another branch", other | {"scope": put(tree.scope, last, leaf)}
    yield "features left out", {"kept": tree.kept[1:]}
    yield "a feature that is not there", {"kept": put(tree.kept, -1, 17)}
    yield "another multiplier", {"eta": -tree.eta if tree.eta else 1.0}
    yield "no multiplier", {"eta": np.nan if tree.eta else -1.0}
    if len(tree.cuts) > 1:
        yield "cuts that descend", {"cuts": tree.cuts[::-1]}
        yield "a cut that is no number", {"cuts": put(tree.cuts, 0, np.nan)}
    else:
        yield "an intercept where there is none", {"intercept": tree.intercept + 1.0}


def test_forged_trees_are_refused(
    program: sb.Program, best: float, certificate: Certificate
) -> None:
    assert certificate.verify(X, Y).ok
    assert certificate.lower <= best
    assert certificate.rows is not None
    for what, fields in wrong(certificate.rows):
        assert not changed(certificate, **fields).verify(X, Y).ok, what
    for more in (1e-6, 1.0):
        higher = replace(certificate, lower=certificate.lower + more * abs(certificate.upper))
        assert not higher.verify(X, Y).ok
    assert not replace(certificate, upper=certificate.upper * 0.999).verify(X, Y).ok
    assert certificate.problem.loss == "truncated"
    other = sb.Program(X, Y, k=1, ridge=0.1)
    with pytest.raises(TreeError, match="for robust losses"):
        row_tree_bound(other, certificate.rows, 1.0)
    tree = certificate.rows
    again = replace(tree, switch=np.full_like(tree.switch, tree.switch[0]))
    with pytest.raises(TreeError, match="decided already"):
        row_tree_bound(program, again, certificate.upper)


def test_other_numbers_are_true_or_prove_less(
    program: sb.Program, best: float, certificate: Certificate
) -> None:
    """Whatever stands in a tree, what it proves is below the optimum."""
    tree = certificate.rows
    assert tree is not None
    rng, proved = np.random.default_rng(4), 0
    leaves = np.flatnonzero(tree.points >= 0)
    fields = ("theta", "shares", "etas", "middles", "values", "intercept", "cuts")
    for _ in range(40):
        name = str(rng.choice(fields))
        array = np.array(getattr(tree, name), dtype=np.float64)
        if array.size:
            at = rng.random(array.shape) < rng.choice([0.1, 1.0])
            array[at] *= 1.0 + rng.choice([2.0**-52, 1e-9, 1e-3, 0.3, -0.3, 3.0])
        forged: dict[str, Any] = {name: np.sort(array) if name == "cuts" else array}
        kind = rng.integers(8)
        if kind == 0:
            forged["points"] = put(tree.points, leaves, rng.permutation(tree.points[leaves]))
        if kind == 1:
            forged["scope"] = put(tree.scope, leaves, rng.permutation(tree.scope[leaves]))
        if kind == 2:
            forged["support"] = rng.integers(0, len(tree.kept), len(tree.support)).astype(np.int32)
        if kind == 3:
            forged["switch"] = rng.permutation(tree.switch)
        if kind == 4:
            forged["sparse"] = 1 - tree.sparse
        level = certificate.upper * (1.0 + rng.choice([0.0, 0.5]))
        try:
            lower = row_tree_bound(program, replace(tree, **forged), level, certificate.boxes)
        except TreeError:
            continue
        assert lower <= best
        proved += lower > 0.5 * certificate.lower
    assert proved >= 2


def test_sizes_in_files(certificate: Certificate, forge: Any) -> None:
    for field in ("kept_count", "cut_count", "splits", "point_count", "lent_count"):
        document = json.loads(encode(certificate))
        for value in (document["rows"][field] + 1, 10**9, 1.5):
            document["rows"][field] = value
            with pytest.raises(CertificateError):
                forge(document)


def test_files_without_flags_lend_by_shares(certificate: Certificate, forge: Any) -> None:
    document = json.loads(encode(certificate))
    del document["rows"]["sparse"]
    rows = forge(document).rows
    assert rows is not None
    assert not np.any(rows.sparse)


def test_arrays_in_files(certificate: Certificate, forge: Any) -> None:
    for field, value in json.loads(encode(certificate))["rows"].items():
        document = json.loads(encode(certificate))
        for other in (None, "####", [], -3, *(["", value[4:]] if isinstance(value, str) else [])):
            document["rows"][field] = other
            with pytest.raises(CertificateError):
                forge(document)
    document = json.loads(encode(certificate))
    document["rows"] = None
    with pytest.raises(CertificateError):
        forge(document)


def test_points_have_no_intercept_where_the_problem_has_none(
    program: sb.Program, certificate: Certificate
) -> None:
    """The tangent at another intercept is not below the loss at this one: a bound above it."""
    assert certificate.rows is not None
    moved = changed(certificate, intercept=certificate.rows.intercept + 0.25)
    verdict = replace(moved, lower=0.0).verify(X, Y)
    assert verdict.ok == program.fit_intercept
    if not program.fit_intercept:
        assert "a point has an intercept that the problem does not have" in verdict.message
