"""Certificates as JSON: one versioned document, arrays in base64, nothing executable.

Reading trusts nothing: every field is checked for type, size and range before it is used,
and every failure is a CertificateError that names the field. What is read takes memory in
proportion to the file.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.documents import no_constant
from sparsebounds._support.errors import CertificateError
from sparsebounds.bounds import Node
from sparsebounds.certificates._reader import Reader, Room
from sparsebounds.certificates.certificate import Certificate, Leaf
from sparsebounds.certificates.row_codec import decode_row_tree, encode_row_tree
from sparsebounds.certificates.tree_codec import decode_tree, encode_tree
from sparsebounds.matrices import Recoding
from sparsebounds.penalties import Groups
from sparsebounds.problem import Problem

FORMAT = "sparsebounds-certificate"
VERSION = 1

SCALING = ("center", "scale", "recoding")
"""The parts of `Problem.standardize`; the last one only where groups are whitened."""

MOST_PARTS = 600_000
"""Objects and lists in a document at most; a leaf has three."""


def encode(certificate: Certificate) -> str:
    """The certificate as a JSON document with a checksum of its content."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "lower": certificate.lower,
        "upper": certificate.upper,
        "problem": _stated(certificate.problem),
        "data": {"shape": list(certificate.shape), "fingerprint": certificate.fingerprint},
        "model": {
            "support": certificate.support.tolist(),
            "coef": certificate.coef.tolist(),
            "intercept": certificate.intercept,
        },
        "duals": [_packed(dual) for dual in certificate.duals],
        "leaves": [
            {
                "inside": leaf.node.inside.tolist(),
                "outside": leaf.node.outside.tolist(),
                "low": leaf.node.low,
                "high": leaf.node.high,
                "dual": leaf.dual,
            }
            for leaf in certificate.leaves
        ],
        "tree": None if certificate.tree is None else encode_tree(certificate.tree),
        "made_by": dict(certificate.made_by),
    }
    if certificate.rows is not None:
        document["rows"] = encode_row_tree(certificate.rows)
    if certificate.boxes:
        document["boxes"] = [_packed(dual) for dual in certificate.boxes]
    if certificate.table is not None:
        document["table"] = dict(certificate.table)
    document["sha256"] = _checksum(document)
    try:
        return json.dumps(document, indent=1, allow_nan=False)
    except ValueError as error:
        raise CertificateError(
            "The certificate holds a bound that is not finite, which proves nothing; "
            "it was not written."
        ) from error


def decode(data: bytes, name: str = "certificate") -> Certificate:
    """The certificate in a document; CertificateError, naming the field, on anything wrong."""
    if data.count(b"{") + data.count(b"[") > MOST_PARTS:
        raise CertificateError(f"{name} is not a certificate: it has more than {MOST_PARTS} parts.")
    try:
        document = json.loads(
            data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=_no_duplicates
        )
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CertificateError(f"{name} is not a certificate: it is not JSON ({error}).") from error
    try:
        return _certificate(Reader(document, "", Room(len(data))))
    except (CertificateError, RecursionError) as error:
        raise CertificateError(f"{name} is not a valid certificate: {error}") from error


def _certificate(top: Reader) -> Certificate:
    if top.text("format") != FORMAT:
        raise CertificateError(f"format must be {FORMAT!r}.")
    if top.integer("version", 0) != VERSION:
        raise CertificateError(
            f"version {top.integer('version', 0)} is not known here (this reads {VERSION}); "
            "update sparsebounds."
        )
    if top.text("sha256") != _checksum(top.content):
        raise CertificateError("the checksum does not match: it was changed after it was written.")
    data, model, problem = top.record("data"), top.record("model"), top.record("problem")
    shape = data.integers("shape", 1, None)
    if len(shape) != 2:
        raise CertificateError("data.shape must hold two integers.")
    n, m = int(shape[0]), int(shape[1])
    duals = tuple(reader.vector("", n) for reader in top.items("duals"))
    leaves = tuple(_leaf(reader, m, len(duals)) for reader in top.items("leaves"))
    tree = None if top.get("tree") is None else decode_tree(top.record("tree"), n, m)
    rows = decode_row_tree(top.record("rows"), n, m) if "rows" in top.content else None
    if not leaves and tree is None and rows is None:
        raise CertificateError("leaves must not be empty where there is no tree.")
    support = model.features("support", m)
    coef = model.numbers("coef")
    if len(coef) != len(support):
        raise CertificateError("model.coef must have one number for each feature of the support.")
    made_by = top.record("made_by")
    cuts = top.items("boxes") if "boxes" in top.content else ()
    certificate = Certificate(
        lower=top.number("lower"),
        upper=top.number("upper"),
        problem=_problem(problem, m),
        shape=(n, m),
        fingerprint=data.text("fingerprint"),
        duals=duals,
        leaves=leaves,
        support=support,
        coef=coef,
        intercept=model.number("intercept"),
        tree=tree,
        made_by={key: made_by.text(key) for key in made_by.content},
        boxes=tuple(reader.vector("", n) for reader in cuts),
        rows=rows,
        table=top.record("table").content if "table" in top.content else None,
    )
    for name in top.room.unread():
        raise CertificateError(f"{name} is a field that is not known here; update sparsebounds.")
    return certificate


def _stated(problem: Problem) -> dict[str, Any]:
    """The fields of a problem, but for those at their defaults; `standardize` as its parts."""
    document: dict[str, Any] = {}
    for field in fields(Problem):
        value = getattr(problem, field.name)
        if field.name == "standardize":
            document |= zip(SCALING, map(_packed, value or (None, None)), strict=False)
        elif field.name in ("groups", "group_names"):
            document |= {field.name: list(map(_plain, value))} if len(value) else {}
        elif field.default is MISSING or value != field.default:
            document[field.name] = _packed(value)
    return document


def _or_none(read: Callable[[Reader, str, int], Any]) -> Callable[[Reader, str, int], Any]:
    return lambda reader, key, m: None if reader.get(key) is None else read(reader, key, m)


KINDS = get_type_hints(Problem)
READ: dict[Any, Callable[[Reader, str, int], Any]] = {
    str: lambda reader, key, _: reader.text(key),
    bool: lambda reader, key, _: reader.truth(key),
    float: lambda reader, key, _: reader.number(key),
    float | None: _or_none(lambda reader, key, _: reader.number(key)),
    int | None: _or_none(lambda reader, key, _: reader.integer(key, 0)),
    float | Vector | None: lambda reader, key, m: reader.number_or_vector(key, m),
    Index: lambda reader, key, m: reader.features(key, m),
}
"""How a field of a problem is read, by its type."""

BY_HAND = {"loss_parameters", "standardize", "groups", "group_names"}
"""The others, which `_problem` reads itself."""

if unknown := {name for name, kind in KINDS.items() if kind not in READ} - BY_HAND:
    raise TypeError(f"Problem has fields that certificates cannot read: {sorted(unknown)}.")


def _problem(reader: Reader, m: int) -> Problem:
    parameters = reader.record("loss_parameters")
    groups = _groups(reader, m)
    found: dict[str, Any] = {
        "loss_parameters": {key: parameters.number(key) for key in parameters.content},
        "standardize": _scaling(reader, groups, m),
        "groups": groups,
        "group_names": (),
    }
    if "group_names" in reader.content:
        found["group_names"] = tuple(one.text("") for one in reader.items("group_names"))
        if len(found["group_names"]) != len(np.unique(found["groups"])):
            raise CertificateError("problem.group_names must have one name per group.")
    for field in fields(Problem):
        absent = field.default is not MISSING and field.name not in reader.content
        if field.name not in found and not absent:
            found[field.name] = READ[KINDS[field.name]](reader, field.name, m)
    problem = Problem(**found)
    _check_problem(problem)
    return problem


def _scaling(reader: Reader, groups: Index, m: int) -> tuple[Vector, ...] | None:
    """(center, scale), and the entries of T where the file has them."""
    if (reader.get("center") is None) != (reader.get("scale") is None):
        raise CertificateError("problem.center and problem.scale go together.")
    if reader.get("center") is None:
        return None
    found = [reader.vector(key, m) for key in SCALING[:2]]
    if "recoding" in reader.content:
        if len(groups) == 0:
            raise CertificateError("problem.recoding must be left out where there are no groups.")
        found.append(reader.vector("recoding", Recoding.length(Groups(groups))))
    return tuple(found)


def _groups(reader: Reader, m: int) -> Index:
    """The first column of each column's group; empty where the file says nothing of groups."""
    if "groups" not in reader.content:
        return np.zeros(0, dtype=np.int64)
    groups = reader.integers("groups", 0, m - 1)
    places = np.arange(len(groups))
    if len(groups) != m or np.any(groups > places) or np.any(groups[groups] != groups):
        raise CertificateError("problem.groups must name the first column of each column's group.")
    if np.all(groups == places):
        raise CertificateError("problem.groups must be left out where every column stands alone.")
    return groups


def _check_problem(problem: Problem) -> None:
    if (problem.k is None) == (problem.l0 is None):
        raise CertificateError("problem must hold exactly one of k and l0.")
    if (problem.ridge is None) == (problem.ball is None):
        raise CertificateError("problem must hold exactly one of ridge and ball.")
    for name, value in (("ridge", problem.ridge), ("ball", problem.ball)):
        if value is not None and not np.all(np.asarray(value) > 0):
            raise CertificateError(f"problem.{name} must be greater than 0.")
    l0 = problem.l0
    if l0 is not None and not (l0 > 0 if isinstance(l0, float) else np.all(l0 >= 0)):
        raise CertificateError("problem.l0 must be greater than 0 (a vector: 0 or more).")
    if problem.standardize is not None and not np.all(problem.standardize[1] > 0):
        raise CertificateError("problem.scale must be greater than 0.")
    if problem.standardize is not None and len(problem.standardize) == 3:
        apart = ~np.asarray(problem.partition.alone)[problem.positive]
        if apart.any() or np.any(problem.ridge != problem.partition.spread(problem.ridge)):
            raise CertificateError("problem asks of single columns of a group that is recoded.")
    if np.intersect1d(problem.always, problem.never).size:
        raise CertificateError("problem.always and problem.never must not overlap.")
    if len(problem.groups):
        for name in ("always", "never"):
            held = getattr(problem, name)
            if len(problem.partition.whole(held)) > len(held):
                raise CertificateError(f"problem.{name} must hold whole groups.")


def _leaf(reader: Reader, m: int, duals: int) -> Leaf:
    inside, outside = reader.features("inside", m), reader.features("outside", m)
    if np.intersect1d(inside, outside).size:
        raise CertificateError(f"{reader.path} has a feature both inside and outside.")
    high = None if reader.get("high") is None else reader.integer("high", 0)
    node = Node(inside, outside, reader.integer("low", 0), high)
    return Leaf(node, reader.integer("dual", 0, duals - 1))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else int(value)


def _packed(value: Any) -> Any:
    """What JSON holds: a vector is base64 of little-endian float64, features are a list."""
    if isinstance(value, Mapping):
        return dict(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if not isinstance(value, np.ndarray):
        raise TypeError(f"A certificate cannot hold a {type(value).__name__}.")
    if value.dtype.kind == "i":
        return value.tolist()
    return base64.b64encode(np.ascontiguousarray(value, dtype="<f8").tobytes()).decode("ascii")


def _checksum(document: dict[str, Any]) -> str:
    content = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key appears twice")
    return content
