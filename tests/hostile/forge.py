"""Genuine certificates as documents, and a forger's tools: change anything, sign it again."""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
import zlib
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.reference import Reference, decimal, precise
from tests.hostile.spec import Spec

import sparsebounds as sb

Document = dict[str, Any]
TREE = {
    "kept": "<i8",
    "removal": "<f8",
    "parent": "<i8",
    "feature": "<i4",
    "counts": "<i4",
    "support": "<i4",
    "values": "<f8",
    "intercept": "<f8",
    "fixed_counts": "<i4",
    "fixed": "<i4",
}


def pack(values: Any) -> str:
    """A vector as certificates store it."""
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


def unpack(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


@cache
def zeros(count: int, dtype: str) -> str:
    """Many zeros in few bytes, as search trees store them."""
    left, packer, part = count * np.dtype(dtype).itemsize, zlib.compressobj(1), bytes(1 << 20)
    packed = [packer.compress(part[: min(len(part), left - at)]) for at in range(0, left, 1 << 20)]
    return base64.b64encode(b"".join([*packed, packer.flush()])).decode()


def squeeze(values: Any, dtype: str) -> str:
    """An array as search trees store it."""
    return base64.b64encode(zlib.compress(np.asarray(values, dtype=dtype).tobytes())).decode()


def unsqueeze(text: str, dtype: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=dtype).copy()


def sign(document: Document) -> bytes:
    """The document as bytes, with a checksum that fits."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps(content | {"sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


@dataclass(frozen=True, eq=False)
class Genuine:
    """A program, its certificate as a document, and what the referee says of it."""

    spec: Spec
    text: str
    kind: str

    @property
    def document(self) -> Document:
        """A copy to forge."""
        document: Document = json.loads(self.text)
        return document

    @cached_property
    def optimum(self) -> float | None:
        """A float at least the optimum of the genuine program."""
        if not self.spec.convex or self.spec.X.shape[1] > 9:
            return float(self.document["upper"])
        return above(stated(self, self.document).best.high)


@precise
def above(value: Any) -> float:
    """The next float above a decimal."""
    found = float(value)
    return found if decimal(found) >= value else float(np.nextafter(found, np.inf))


def stated(source: Genuine, document: Document) -> Reference:
    """The referee on the problem that a document states."""
    return _stated(source, json.dumps(document["problem"]))


@lru_cache(maxsize=200)
def _stated(source: Genuine, text: str) -> Reference:
    spec, problem = source.spec, json.loads(text)
    m = spec.X.shape[1]

    def number(key: str) -> Any:
        return unpack(problem[key]) if isinstance(problem[key], str) else problem[key]

    positive = np.zeros(m, dtype=bool)
    positive[problem["positive"]] = True
    groups = tuple(problem["groups"]) if "groups" in problem else None
    l0 = number("l0")
    if groups is not None and np.ndim(l0):
        l0 = l0[sorted(set(groups))]
    other = spec.but(
        loss=problem["loss"],
        parameters=problem["loss_parameters"],
        k=problem["k"],
        l0=l0,
        ridge=number("ridge"),
        ball=problem["ball"],
        fit_intercept=problem["fit_intercept"],
        standardize=problem["center"] is not None,
        positive=positive,
        always=tuple(problem["always"]),
        never=tuple(problem["never"]),
        groups=groups,
    )
    return Reference(other, number("center"), number("scale"))


@cache
def genuine(number: int, folder: str, kind: str | None = None) -> Genuine:
    """Certificates of every kind; `folder` is a place for files."""
    kind = kind or KINDS[number % len(KINDS)]
    rng = np.random.default_rng([number, 5])
    n, m = {"wide": (24, 40), "shifted": (40, 9)}.get(kind, (14, 7))
    X = rng.normal(size=(n, m)) + 0.7 * rng.normal(size=(n, 1))
    y = X[:, :3] @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n)
    options: dict[str, Any] = {"k": 2, "ridge": 0.05}
    exact = "tree" in kind or "rows" in kind or kind == "shifted"
    if kind in GROUPED:
        options["groups"] = (0, 1, 0, 3, 1, 0, 6)
    loss = "squared"
    # For the squared loss a tree with a minorant may take the place of leaves.
    if kind == "features":
        loss = "huber"
    elif kind == "cardinalities":
        loss, options = "huber", {"l0": 0.08, "ridge": 0.1, "fit_intercept": True}
    elif kind == "ball":
        loss, options = "huber", {"l0": 0.05, "ball": 0.8, "standardize": True}
    elif kind == "classes":
        loss, y = "logistic", np.sign(y + 0.1)
        options = {"k": 2, "ball": 2.0, "fit_intercept": True, "standardize": True}
    elif kind == "logistic tree":
        loss, y, options = "logistic", np.sign(y + 0.1), {"k": 3, "ridge": 1e-3}
    elif kind == "tree":
        X = X[:6]
        y, options = y[:6], {"k": 3, "ridge": 1e-3}
    elif kind == "shifted":
        for j in range(1, m):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * rng.normal(size=n)
        y = X @ rng.normal(size=m) + rng.normal(size=n)
        options = {"k": 4, "ridge": 1e-3}
    elif kind == "boxes":
        loss, options = "tukey", {"k": 2, "ridge": 0.2, "fit_intercept": True}
        y[:3] += 20.0
    elif kind in ("rows", "rows and intercept"):
        loss, X, y = "truncated", X[:9, :3], y[:9]
        y[:2] += [9.0, -9.0]
        if kind == "rows and intercept":
            options = {"k": 1, "ridge": 0.3, "fit_intercept": True}
        options["parameters"] = {"c": 1.0}
    elif kind == "margins":
        loss, y, options = "sigmoid", np.sign(y + 0.1), {"l0": 0.02, "ball": 1.0}
    elif kind == "far":  # a null objective far above the optimum
        y = np.round(1e6 * (X[:, 0] + X[:, 1])) + 0.1 * rng.normal(size=n)
        X = np.round(1e6 * X)
        options = {"k": 2, "ridge": 1e-9}
    elif kind == "long columns":  # scores are mostly rounding
        X = X + 2.0**50 * (np.arange(m) < 3)
        options = {"k": 2, "ridge": 0.1, "fit_intercept": True}
    elif kind == "wide":
        options = {"k": 12, "ridge": 0.05}
    elif kind == "group classes":
        loss, y = "logistic", np.sign(y + 0.1)
        options |= {"fit_intercept": True, "ridge": 0.01}
    elif kind == "group prices":
        options = {"l0": rng.uniform(0.01, 0.1, 4), "ball": 1.5, "groups": options["groups"]}
        options |= {"positive": np.arange(m) < 2, "always": (3,)}
    elif kind == "prices":
        options = {"l0": rng.uniform(0.01, 0.2, m), "ball": 1.5, "positive": np.arange(m) < 2}
        options |= {"always": (3,), "never": (5,)}
    spec = Spec(X, y, loss=loss, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tol = 1e-9 if exact else 1e-4
        solution = sb.solve(**spec.data, **spec.problem, exact=exact, tol=tol)
    file = Path(folder) / f"genuine{number}{kind}.json"
    solution.certificate.save(file)
    text = file.read_text()
    if kind == "features":
        text = json.dumps(_split(json.loads(text)))
    return Genuine(spec, text, kind)


def _split(document: Document) -> Document:
    """The same proof, with leaves that fix features."""
    (leaf,) = document["leaves"][:1]
    document["leaves"] = [
        leaf | {"inside": [0], "outside": []},
        leaf | {"inside": [], "outside": [0, 1]},
        leaf | {"inside": [1], "outside": [0]},
    ]
    return json.loads(sign(document))


KINDS = (
    "plain", "features", "cardinalities", "ball", "classes", "prices", "tree", "shifted",
    "logistic tree", "boxes", "rows", "rows and intercept", "margins", "far", "long columns",
    "wide",
)  # fmt: skip

GROUPED = ("group leaves", "group tree", "group classes", "group prices")
