"""Save, load, verify: every form and loss comes back bit for bit and proves the same."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
import scipy.sparse as sp
from tests.cases import LONG

from sparsebounds._support.errors import CertificateError
from sparsebounds.bounds import Node, dual_point
from sparsebounds.certificates import Certificate, Leaf, Verdict, leaf_bound, leaf_claim
from sparsebounds.certificates.codec import BY_HAND, KINDS, READ, _checksum, _packed, decode
from sparsebounds.losses import REGISTRY, Huber, Squared
from sparsebounds.problem import Problem
from sparsebounds.program import Form, Program
from sparsebounds.testing import brute_force, random_program

FORMS = get_args(Form)
LOSSES = sorted(REGISTRY)
OLD = Path(__file__).resolve().parents[1] / "version_0_1"

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "intercept": {"fit_intercept": True},
    "standardized": {"fit_intercept": True, "standardize": True, "extra": True},
    "scaled": {"standardize": True},
    "fixed": {"always": [1], "never": [3], "positive": [True, False, True, True], "extra": True},
    "vectors": {"l0": [0.05, 0.0, 0.2, 0.1], "ridge": [0.1, 0.2, 0.3, 1.0], "fit_intercept": True},
}


def same(one: Any, other: Any) -> bool:
    """Equal bit for bit, arrays and nested records included."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name))
            for field in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


def assert_rounded(program: Program, certificate: Certificate, verdict: Verdict) -> None:
    """The claims are weaker than what is found, by rounding alone."""
    loose = 1e-12 * max(abs(verdict.lower), abs(verdict.upper), abs(program.null))
    assert verdict.lower - loose <= certificate.lower <= verdict.lower
    assert verdict.upper <= certificate.upper <= verdict.upper + loose


# Every form with every loss, and every variant with each of both.
ROUND_TRIPS = [
    (loss, form, variant)
    for i, loss in enumerate(LOSSES)
    for j, form in enumerate(FORMS)
    for n, variant in enumerate(VARIANTS)
    if LONG or (i + j + n) % 3 == 0
]


@pytest.mark.parametrize(("loss", "form", "variant"), ROUND_TRIPS)
def test_round_trip(
    loss: str,
    form: Form,
    variant: str,
    data_of: Callable[..., Any],
    terms_of: Callable[..., Any],
    certified: Callable[..., Any],
    tmp_path: Path,
) -> None:
    options = dict(VARIANTS[variant])
    data = data_of(loss, extra=options.pop("extra", False))
    terms = terms_of(form)
    for name in ("l0", "ridge"):
        if name in options:
            vector = options.pop(name)
            terms |= {name: vector} if name in terms else {}
    case = certified(data, loss=loss, **terms, **options)

    path = tmp_path / "certificate.json"
    case.certificate.save(path)
    loaded = Certificate.load(path)
    assert same(loaded, case.certificate)
    again = tmp_path / "again.json"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()

    verdict = case.verify(loaded)
    assert verdict.ok, verdict.message
    assert bool(verdict)
    assert_rounded(case.program, case.certificate, verdict)
    assert verdict.lower <= case.optimum.value == verdict.upper
    assert case.certificate.gap == case.certificate.upper - case.certificate.lower
    assert "No model has an objective below" in verdict.message
    count = len(np.flatnonzero(case.optimum.w))
    assert f"with {count} nonzero coefficient{'s' * (count != 1)} attains" in verdict.message


@pytest.mark.parametrize("form", ["l0+ridge", "l0+ball"])
@pytest.mark.parametrize("loss", LOSSES)
def test_covers_by_cardinality_prove_more(
    loss: str,
    form: str,
    data_of: Callable[..., Any],
    certified: Callable[..., Any],
) -> None:
    """Where cardinality ranges have different dual vectors, each leaf is checked with its own."""
    size = {"ridge": 0.1} if form == "l0+ridge" else {"ball": 2.0}
    data = data_of(loss, seed=1)
    several = certified(data, loss=loss, l0=0.1, fit_intercept=True, **size)
    one = certified(data, "one", loss=loss, l0=0.1, fit_intercept=True, **size)
    assert several.certificate.lower >= one.certificate.lower
    assert several.verify(several.certificate).lower <= several.optimum.value


def test_some_covers_have_several_leaves(priced: Any) -> None:
    leaves = priced.certificate.leaves
    assert len(leaves) >= 2
    assert len({leaf.dual for leaf in leaves}) >= 2
    ranges = [(leaf.node.low, leaf.node.high) for leaf in leaves]
    assert [low for low, _ in ranges] == [0, *(high + 1 for _, high in ranges[:-1])]


def tree() -> list[Leaf]:
    """Split on feature 0, then inside on 2, then the rest by cardinality."""

    def ints(*values: int) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    return [
        Leaf(Node(ints(0, 2), ints()), 0),
        Leaf(Node(ints(0), ints(2)), 1),
        Leaf(Node(ints(), ints(0), 0, 1), 1),
        Leaf(Node(ints(), ints(0), 2, None), 2),
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_tree_of_leaves(
    loss: str,
    form: Form,
    data_of: Callable[..., Any],
    terms_of: Callable[..., Any],
    certified: Callable[..., Any],
    tmp_path: Path,
) -> None:
    case = certified(data_of(loss), loss=loss, fit_intercept=True, **terms_of(form))
    w, b = case.optimum.w, case.optimum.b
    z = case.program.matrix.columns(np.arange(4)) @ w + b
    duals = [dual_point(case.program, case.program.F.gradient(s * z)).t for s in (1.0, 0.0, 0.5)]
    leaves = tree()
    certificate = Certificate.build(case.program, duals, leaves, w, b)
    assert certificate.lower == min(leaf_claim(case.program, duals, [leaf]) for leaf in leaves)
    certificate.save(tmp_path / "tree.json")
    verdict = case.verify(Certificate.load(tmp_path / "tree.json"))
    assert verdict.ok, verdict.message
    assert certificate.lower <= verdict.lower <= case.optimum.value
    assert verdict.lower == min(leaf_bound(case.program, duals, [leaf]) for leaf in leaves)
    for missing in range(4):
        rest = [leaf for i, leaf in enumerate(leaves) if i != missing]
        fewer = case.verify(Certificate.build(case.program, duals, rest, w, b))
        assert not fewer.ok
        assert "the leaves do not cover every support" in fewer.message


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_awkward_programs(form: Form, seed: int, tmp_path: Path) -> None:
    """Zero, constant and repeated columns, one row, k = 0, columns from 1e-8 to 1e8, ..."""
    loss = LOSSES[seed % len(LOSSES)]
    program = random_program(7919 * seed, loss=loss, form=form, fit_intercept=seed % 2 == 0)
    optimum = brute_force(program)
    z = program.matrix.columns(np.arange(program.m)) @ optimum.w + optimum.b
    point = dual_point(program, program.F.gradient(z))
    certificate = Certificate.build(program, [point.t], [Leaf(Node(), 0)], optimum.w, optimum.b)
    certificate.save(tmp_path / "c.json")
    base = getattr(program.matrix, "base", program.matrix)
    X = base.columns(np.arange(program.m))
    verdict = Certificate.load(tmp_path / "c.json").verify(
        X, program.response, program.weights, program.offset
    )
    assert verdict.ok, verdict.message
    # The columns come back in another memory order, which BLAS sums in another order.
    assert certificate.lower <= verdict.lower
    assert verdict.lower == pytest.approx(certificate.lower, rel=1e-11, abs=1e-15)
    assert verdict.lower <= optimum.value
    assert certificate.lower <= optimum.value <= certificate.upper
    assert certificate.upper == pytest.approx(optimum.value, rel=1e-12)


def test_the_same_data_in_another_storage(priced: Any) -> None:
    X, y = priced.data["X"], priced.data["y"]
    for other in (
        np.asfortranarray(X),
        sp.csr_array(X),
        X.tolist(),
        np.repeat(X, 2, axis=1)[:, ::2],
    ):
        verdict = priced.certificate.verify(other, y)
        assert verdict.ok, verdict.message
        assert verdict.lower == pytest.approx(priced.certificate.lower, rel=1e-12)
    labels = np.where(y > 0, "sick", "healthy")
    assert priced.certificate.verify(X, labels).ok


def test_every_order_of_sums_proves_the_claim() -> None:
    """Scores that cancel are rounding, other in every order of sums, and the columns are large."""
    rng = np.random.default_rng(0)
    n, m = 400, 6
    X, y = 1e8 * rng.normal(size=(n, m)), rng.normal(size=n)
    program = Program(X, y, k=2, ball=1e-3)
    rest = y - X @ np.linalg.lstsq(X, y)[0]
    dual, leaves = dual_point(program, -rest / n).t, [Leaf(Node(), 0)]
    certificate = Certificate.build(program, [dual], leaves, np.zeros(m))
    found = []
    for _ in range(20):
        order = rng.permutation(n)
        other = Program(X[order], y[order], k=2, ball=1e-3)
        found.append(leaf_bound(other, [dual[order]], leaves))
    assert len(set(found)) > 1
    bound = leaf_bound(program, [dual], leaves)
    apart = float(np.max(dual_point(program, -rest / n).radius)) * math.sqrt(2e-3)
    assert bound - 10.0 * apart <= certificate.lower < min(found)


def test_parameters_of_a_loss(data_of: Any, certified: Any, tmp_path: Path) -> None:
    case = certified(data_of("huber"), k=2, ridge=0.2, loss=Huber(delta=0.5))
    case.certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded.problem.loss_parameters == {"delta": 0.5}
    assert case.verify(loaded).ok
    assert loaded.verify(**case.data, loss=Huber(delta=0.5)).ok
    verdict = loaded.verify(**case.data, loss=Huber(delta=0.6))
    assert not verdict.ok
    assert verdict.message == (
        "Refused: loss= is Huber(delta=0.6), but the certificate is about 'huber' with parameters "
        "{'delta': 0.5}."
    )
    # A narrow float is stored as the float64 it equals.
    narrow = certified(data_of("huber"), k=2, ridge=0.2, loss=Huber(delta=np.float32(0.1)))
    narrow.certificate.save(tmp_path / "narrow.json")
    assert narrow.verify(Certificate.load(tmp_path / "narrow.json")).ok


@dataclasses.dataclass(frozen=True)
class Mine(Squared):
    """A loss that is in no registry."""

    name: ClassVar[str] = "mine"


def test_a_loss_of_one_s_own(data_of: Any, certified: Any, tmp_path: Path) -> None:
    case = certified(data_of("squared"), k=2, ridge=0.2, loss=Mine())
    case.certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    verdict = case.verify(loaded)
    assert not verdict.ok
    assert verdict.message == (
        "Refused: the loss 'mine' with parameters {} is not known here; pass it as loss=."
    )
    assert loaded.verify(**case.data, loss=Mine()).ok
    assert not loaded.verify(**case.data, loss=Squared()).ok


def test_a_model_that_is_not_the_best_is_certified_too(plain: Any) -> None:
    w = np.array([0.1, 0.0, 0.0, 0.0])
    certificate = Certificate.build(
        plain.program, plain.certificate.duals, plain.certificate.leaves, w
    )
    verdict = plain.verify(certificate)
    assert verdict.ok
    assert verdict.upper == pytest.approx(plain.program.objective(w), rel=1e-12)
    assert verdict.upper > plain.optimum.value >= verdict.lower
    assert f"at most {verdict.upper - verdict.lower:.3g}" in verdict.message


def test_an_infeasible_model_has_no_finite_upper_bound(plain: Any, tmp_path: Path) -> None:
    proof = (plain.program, plain.certificate.duals, plain.certificate.leaves)
    crowded = Certificate.build(*proof, np.ones(4))
    assert math.isinf(crowded.upper)
    shifted = Certificate.build(*proof, np.zeros(4), 0.5)
    assert math.isinf(shifted.upper), "the program has no intercept"
    for certificate in (crowded, shifted):
        assert plain.verify(certificate).message == (
            "Refused: the stored model does not obey the constraints of the problem."
        )


def test_verification_in_a_fresh_process_loads_no_solver(priced: Any, tmp_path: Path) -> None:
    priced.certificate.save(tmp_path / "c.json")
    np.savez(tmp_path / "data.npz", **priced.data)
    code = (
        "import sys, json, numpy as np, sparsebounds as sb\n"
        f"data = np.load({str(tmp_path / 'data.npz')!r})\n"
        f"certificate = sb.Certificate.load({str(tmp_path / 'c.json')!r})\n"
        "verdict = certificate.verify(data['X'], data['y'])\n"
        "print(json.dumps([verdict.ok, verdict.lower, verdict.upper, sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    ok, lower, upper, modules = json.loads(done.stdout)
    assert ok
    verdict = priced.verify(priced.certificate)
    assert (lower, upper) == (verdict.lower, verdict.upper)
    own = {name.split(".")[1] for name in modules if name.startswith("sparsebounds.")}
    solvers = {"relaxation", "primalization", "models", "exact", "estimators", "testing", "cli"}
    assert own >= {"certificates", "bounds", "program"}
    assert not own & solvers
    foreign = {name.split(".")[0] for name in modules}
    assert not foreign & {"sklearn", "torch", "cvxpy", "polars", "pandas", "typer"}
    assert "scipy.optimize" not in modules


def test_made_by_says_which_versions(plain: Any) -> None:
    assert set(plain.certificate.made_by) == {"sparsebounds", "numpy", "python"}
    assert plain.certificate.made_by["numpy"] == np.__version__


def test_a_program_of_its_own_for_the_problem(priced: Any) -> None:
    """Problem.program poses the same problem again: objective and bounds agree bit for bit."""
    problem, data = priced.certificate.problem, priced.data
    program: Program = problem.program(
        data["X"], data["y"], 4, loss=priced.program.loss, sample_weight=None, offset=None
    )
    assert program.describe() == priced.program.describe()
    duals, leaves = priced.certificate.duals, priced.certificate.leaves
    assert leaf_claim(program, duals, leaves) == priced.certificate.lower


def test_every_field_of_a_problem_has_a_reader() -> None:
    assert KINDS.keys() == {field.name for field in dataclasses.fields(Problem)}
    assert {name for name in KINDS if KINDS[name] not in READ} <= BY_HAND


def test_what_json_cannot_hold_is_no_part_of_a_certificate() -> None:
    with pytest.raises(TypeError, match="A certificate cannot hold a tuple"):
        _packed((1.0, 2.0))


def test_a_node_has_one_shift() -> None:
    document = json.loads((OLD / "shifted.json").read_text())
    shifts = document["tree"]["shifts"]
    shifts.append(shifts[0])
    document["sha256"] = _checksum(document)
    with pytest.raises(CertificateError, match=r"tree\.shifts\[\d+\]\.node has a shift already"):
        decode(json.dumps(document).encode())
