"""A slice of the fuzzer with a fixed seed, and the faults that it was written for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.hostile.attack import Finding
from tests.hostile.attacks import ATTACKS
from tests.hostile.bombs import BOMBS
from tests.hostile.certificates import draw_genuine, judged, load
from tests.hostile.clocks import separable
from tests.hostile.console import command, table, write_csv
from tests.hostile.nonconvex import attack_spec as attack_nonconvex
from tests.hostile.programs import attack_spec
from tests.hostile.runner import run_case
from tests.hostile.sandbox import forked
from tests.hostile.spec import Spec

SEED = 0
CASES: dict[str, tuple[int, ...]] = {
    "programs": (*range(3), 70, 71, 143),
    "nonconvex": (0, 7, 8),
    "certificates": (*range(3), 25, 35, 52, 86),
    "checker": (*range(6), 64, 304, 1299, 1588),
    "bombs": (0, 15),
    "checkpoints": (*range(3), 113, 265, 271, 307, 496, 526),
    "tables": tuple(range(5)),
    "table-bombs": (),
    "names": (0, 1, 2, 13, 33, 39),
    "outputs": (0, 2, 5, 8, 10, 12, 21),
    "clocks": (),
    "groups": tuple(range(6)),
    "group-certificates": tuple(range(6)),
}
"""Cases that the suite can afford: the first ones, and some that have found a fault."""


def told(finding: Finding | None) -> str:
    return "" if finding is None else f"{finding.kind}: {finding.detail}"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_slice(attack: Any) -> None:
    for number in CASES[attack.name]:
        found = run_case(attack, SEED, number)
        again = f"python -m tests.hostile --attack '{attack.name}' --case {SEED}:{number}"
        assert found is None, f"{told(found)}\n{again}"


COUNTS = np.array([[0, 0, 3, 1], [1, 1, 3, 2], [1, -1, 3, 0], [0, 0, 3, -2]], dtype=float)
rng = np.random.default_rng(8)
NORMAL = rng.normal(size=(12, 4))
SIGNAL = NORMAL @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=12)
TIED = np.array([[3.0, 0, 1, -1], [3.0, 3, 0, -1], [1.0, -1, 2, 3]])
FEW = np.array([
    [0.5, -1.5, 2.3], [-1.9, 1.1, -0.3], [-0.9, -0.7, -0.7], [0.4, -0.1, 1.5],
    [-1.8, 0.0, -0.9], [0.8, -2.1, -0.3],
])  # fmt: skip
KNOWN: dict[str, tuple[Spec, str]] = {
    "share of zero, poisson": (
        Spec(COUNTS, np.array([4.0, 8, 3, 1]), k=2, ball=2.0, loss="poisson", fit_intercept=True),
        "exact",
    ),
    "share of zero, path": (
        Spec(TIED, np.array([2.0, 1, 1]), k=2, ball=4, loss="huber", fit_intercept=True),
        "path",
    ),
    "one row": (
        Spec(np.array([[-1.0, -2.0, 2.0]]), np.array([-1.0]), k=2, ball=0.5),
        "near_optimal",
    ),
    "tiny ridge": (
        Spec(np.array([[1.0, -1, 1, -3], [-3.0, -2, 2, -3]]), np.array([4.0, 2]), k=2, ridge=3e-15),
        "solve",
    ),
    "large mean": (Spec(NORMAL, 1e10 + SIGNAL, k=2, ridge=0.01, fit_intercept=True), "exact"),
    "larger mean": (
        Spec(NORMAL, 4.5e15 + np.round(SIGNAL), k=2, ridge=0.01, fit_intercept=True),
        "exact",
    ),
    "large columns": (
        Spec(NORMAL + 1e9, SIGNAL, k=2, ridge=0.01, fit_intercept=True),
        "exact",
    ),
    "least loss": (
        Spec(NORMAL, np.sign(SIGNAL), k=2, ridge=1e-100, loss="logistic"),
        "solve",
    ),
    "small share of the fit": (
        Spec(FEW, 2e5 + np.array([3.0, -5, 0, 1, -1, 4]), k=2, ridge=2e6, fit_intercept=True),
        "near_optimal",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_programs(name: str) -> None:
    spec, way = KNOWN[name]
    for seed in range(3):  # tolerances and eps are drawn
        found = attack_spec(spec, way, np.random.default_rng(seed))
        assert found is None, told(found)


def test_a_singular_exchange() -> None:
    spec = Spec(
        np.array([[4.1, -4.3, -5.3]]),
        np.array([-1.0]),
        loss="sigmoid",
        fit_intercept=True,
        l0=0.00020919616926834764,
        ball=0.20351627113260895,
    )
    found = attack_nonconvex(spec, np.random.default_rng(0))
    assert found is None, told(found)


@pytest.mark.parametrize("kind", ["far", "long columns", "tree"])
def test_raised_claims(kind: str) -> None:
    """Lower bounds raised to what a tolerance relative to the null objective would let pass."""
    source = draw_genuine(np.random.default_rng(0), kind)
    null = float(np.mean(source.spec.y**2)) / 2
    for step in (1e-16, 1e-12, 9e-10):
        for size in (null, abs(source.document["lower"]), abs(source.document["upper"])):
            document = source.document
            document["lower"] += step * size
            found = judged(source, document, f"{kind}, lower raised by {step * size:g}")
            assert found is None, told(found)


@pytest.mark.parametrize("how", BOMBS, ids=lambda how: how.__name__)
def test_bombs(how: Any) -> None:
    source = draw_genuine(
        np.random.default_rng(0), "wide" if how.__name__ == "many_leaves" else "tree"
    )
    content = how(np.random.default_rng(1), source)

    def attempt() -> bool:
        certificate = load(content)
        covers = how.__name__ == "many_leaves"  # so many leaves may well cover all
        return certificate is None or covers >= certificate.verify(**source.spec.data).ok

    outcome = forked(attempt, 5.0)
    assert outcome.error == "", outcome
    assert outcome.result, outcome
    assert outcome.seconds < 1.5, outcome
    assert outcome.megabytes < 200.0, outcome


@pytest.mark.parametrize("option", ["--certificate", "--out", "--report"])
def test_an_output_is_not_the_data(option: str, tmp_path: Any) -> None:
    data = tmp_path / "d.csv"
    write_csv(data, table(np.random.default_rng(0), ["a", "b", "c", "y"]))
    before = data.read_bytes()
    result, found = command("solve", data, "--target", "y", "-k", 2, option, data)
    assert found is None, told(found)
    assert result.exit_code == 2
    assert data.read_bytes() == before


def test_separable_classes_are_quick() -> None:
    what, work, limit = separable(np.random.default_rng(0))
    outcome = forked(lambda: work().lower, 6.0)
    assert outcome.error == "", what
    assert outcome.result >= 0.0, what
    assert outcome.seconds < limit + 1.0, what
