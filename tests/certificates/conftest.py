"""What the tests of certificates share: small problems with their proofs, and forgery."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebounds.bounds import best_cover, dual_point
from sparsebounds.certificates import Certificate, Leaf, Verdict
from sparsebounds.certificates.codec import _checksum, encode
from sparsebounds.program import Program
from sparsebounds.testing import Optimum, brute_force

N, M = 9, 4


@dataclass(frozen=True)
class Case:
    """Data, a program, its optimum by exhaustive search, and a certificate of it."""

    data: dict[str, Any]
    program: Program
    optimum: Optimum
    certificate: Certificate

    def verify(self, certificate: Certificate) -> Verdict:
        return certificate.verify(**self.data)

    def document(self) -> dict[str, Any]:
        """The certificate as the file holds it."""
        document: dict[str, Any] = json.loads(encode(self.certificate))
        return document


def make_data(loss: str, *, extra: bool = False, seed: int = 0) -> dict[str, Any]:
    """X, y and, if extra, weights and an offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) * [1.0, 2.0, 0.5, 1.0]
    signal = X @ [1.0, -0.5, 0.0, 0.3]
    if loss in ("logistic", "squared_hinge"):
        y = np.where(signal + rng.normal(size=N) > 0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
    elif loss == "poisson":
        y = rng.poisson(np.exp(0.5 * signal)).astype(float)
        y[0] = 2.0
    else:
        y = signal + rng.normal(size=N)
    data: dict[str, Any] = {"X": X, "y": y}
    if extra:
        data |= {"sample_weight": rng.uniform(0.5, 2.0, N), "offset": 0.3 * rng.normal(size=N)}
    return data


def form_terms(form: str) -> dict[str, Any]:
    sparsity, size = form.split("+")
    return {
        **({"k": 2} if sparsity == "k" else {"l0": 0.05}),
        **({"ridge": 0.2} if size == "ridge" else {"ball": 0.5}),
    }


def make_case(data: dict[str, Any], leaves: str = "best", **options: Any) -> Case:
    """`leaves`: "best" for best_cover with three dual vectors, "one" for the root alone."""
    program = Program(**data, **options)
    optimum = brute_force(program)
    z = program.matrix.columns(np.arange(program.m)) @ optimum.w + optimum.b
    gradients = [
        program.F.gradient(z),
        program.F.gradient(np.full(program.n, program.null_intercept)),
        0.8 * program.F.gradient(0.5 * z),
    ]
    points = [dual_point(program, a) for a in gradients]
    cover = best_cover(program, points if leaves == "best" else points[:1])
    used = sorted(set(cover.points))
    certificate = Certificate.build(
        program,
        [points[i].t for i in used],
        [Leaf(node, used.index(i)) for node, i in zip(cover.nodes, cover.points, strict=True)],
        optimum.w,
        optimum.b,
    )
    return Case(data, program, optimum, certificate)


def write_sealed(path: Path, document: dict[str, Any]) -> Path:
    """Write a changed document with a checksum that fits, as a careful forger would."""
    path.write_text(json.dumps(document | {"sha256": _checksum(document)}), encoding="utf-8")
    return path


@pytest.fixture
def data_of() -> Callable[..., dict[str, Any]]:
    return make_data


@pytest.fixture
def terms_of() -> Callable[[str], dict[str, Any]]:
    return form_terms


@pytest.fixture
def certified() -> Callable[..., Case]:
    return make_case


@pytest.fixture
def sealed(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Write a changed document with a checksum that fits."""
    return lambda document: write_sealed(tmp_path / "forged.json", document)


@pytest.fixture
def forge(sealed: Callable[[dict[str, Any]], Path]) -> Callable[[dict[str, Any]], Certificate]:
    """The same, loaded."""
    return lambda document: Certificate.load(sealed(document))


@pytest.fixture(scope="session")
def plain() -> Case:
    """Squared loss, at most 2 nonzeros, a ridge."""
    return make_case(make_data("squared"), k=2, ridge=0.2)


@pytest.fixture(scope="session")
def priced() -> Case:
    """A price l0, a ball, an intercept, standardized: several leaves, by cardinality."""
    return make_case(
        make_data("logistic"),
        l0=0.05,
        ball=2.0,
        loss="logistic",
        fit_intercept=True,
        standardize=True,
    )
