"""The checker that shares no code with the package: what it accepts is true, and it accepts proofs.

Its programs are run as its users run them, in a process where the package cannot be imported, and
in this one. SPARSEBOUNDS_MUTATIONS says how many random forgeries are tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.certificates.conftest import form_terms, make_case, make_data
from tests.checker.forgery import changed
from tests.checker.judges import CHECKER, Check, adapted, verdicts
from tests.checker.schema import ROOT, SCHEMA, flaws
from tests.checker.spanning import Rounds, data_of, spoiled
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds.certificates import Certificate
from sparsebounds.certificates.codec import _checksum, encode
from sparsebounds.exact import RowSearch
from sparsebounds.fitting.refit import evaluated
from sparsebounds.losses import NONCONVEX, REGISTRY, Truncated

# One worker makes the certificates for all of these.
pytestmark = pytest.mark.xdist_group("checker")

DIPS = ("tukey", "welsch", "geman_mcclure", "cauchy", "ramp")
MUTATIONS = int(os.environ.get("SPARSEBOUNDS_MUTATIONS", "60"))
Case = tuple[dict[str, Any], Certificate]


def leaves_of_every_form() -> Iterator[tuple[str, Case]]:
    more: list[dict[str, Any]] = [
        {},
        {"fit_intercept": True},
        {"fit_intercept": True, "standardize": True, "positive": [True, False, True, False]},
        {"always": [1], "never": [3]},
    ]
    for i, loss in enumerate(REGISTRY):
        for j, form in enumerate(("k+ridge", "l0+ridge", "k+ball", "l0+ball")):
            data = make_data(loss, extra=bool((i + j) % 2))
            options = form_terms(form) | more[(i + j) % 4]
            if form == "l0+ball" and i % 2:
                options["l0"] = [0.05, 0.1, 0.02, 0.05]
            yield f"{loss} {form}", (data, make_case(data, loss=loss, **options).certificate)


def solved() -> Iterator[tuple[str, Case]]:
    """Search trees, minorants, regions, supports tried, boxes and rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24, 6)) + 0.6 * rng.normal(size=(24, 1))
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3] + rng.normal(size=24)
    counts = rng.poisson(np.exp(0.4 * X[:, 0])).astype(float)
    signs = np.where(y > 0, 1.0, -1.0)
    problems: dict[str, tuple[Any, dict[str, Any]]] = {
        "tree": (y, {"k": 3, "ridge": 0.01, "fit_intercept": True}),
        "tree of prices": (y, {"l0": 0.05, "ridge": 0.02, "positive": True}),
        "tree in a ball": (y, {"k": 2, "ball": 0.8}),
        "tree of prices in a ball": (y, {"l0": 0.1, "ball": 0.5, "standardize": True}),
        "huber tree": (y, {"k": 2, "ridge": 0.02, "loss": "huber"}),
        "hinge tree": (signs, {"k": 2, "ridge": 0.02, "loss": "squared_hinge"}),
        "logistic region": (signs, {"k": 2, "ridge": 0.05, "loss": "logistic"}),
        "logistic tree": (signs, {"l0": 0.02, "ridge": 0.05, "loss": "logistic"}),
        "poisson region": (counts, {"k": 2, "ridge": 0.1, "loss": "poisson"}),
    }
    for name, (response, options) in problems.items():
        exact = "region" not in name
        found = sb.solve(X, response, exact=exact, **options)
        yield name, ({"X": X, "y": response}, found.certificate)


def rows() -> Iterator[tuple[str, Case]]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9, 3))
    y = X @ [1.0, 0.0, -1.0] + 1.2 * rng.normal(size=9)
    for name, options in {
        "rows": {"l0": 0.02, "ridge": 0.05, "never": [1]},
        "rows with an intercept": {"k": 1, "ridge": 0.1, "fit_intercept": True},
    }.items():
        program = sb.Program(X, y, loss=Truncated(c=0.8), **options)
        found = candidates(program)
        i = int(np.argmin(found.values))
        w, b = found.w[i], float(found.b[i])
        search = RowSearch(program, evaluated(program, w, b), 1e-4, 0.5)
        search.start()
        search.run(lambda: search.nodes >= 8)  # noqa: B023
        tree = search.tree()
        made = Certificate.build(program, (), (), w, b, lower=search.lower, rows=tree)
        yield name, ({"X": X, "y": y}, made)


def spans() -> Iterator[tuple[str, Case]]:
    """Of all models, and of those with an intercept between two cuts."""
    for seed in (0, 1):
        program = spoiled(seed)
        rounds = Rounds(candidates(program), np.random.default_rng(seed), near=seed == 1)
        for _ in range(3):
            rounds.add()
        yield f"spans {seed}", (data_of(program), rounds.certificate())


def smooth_and_level() -> Iterator[tuple[str, Case]]:
    """Rows of smooth losses and of the ramp, and a response far from 0."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(9, 2))
    y = X @ [1.0, 0.0] + rng.normal(size=9)
    y[:2] += 4.0
    for i, loss in enumerate(DIPS):
        options = {"k": 1} if i % 2 else {"l0": 0.01, "fit_intercept": True}
        response = np.sign(y - np.median(y) + 0.01) if loss == "ramp" else y
        found = sb.solve(X, response, ridge=0.2, loss=loss, exact=False, **options)
        yield f"rows of {loss}", ({"X": X, "y": response}, found.certificate)
    far = y + 1e5
    found = sb.solve(X, far, k=1, ridge=0.1, fit_intercept=True)
    yield "level", ({"X": X, "y": far}, found.certificate)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return dict([*leaves_of_every_form(), *solved(), *rows(), *spans(), *smooth_and_level()])


def test_every_kind_of_certificate_is_accepted(check: Check, cases: dict[str, Case]) -> None:
    parts: Counter[str] = Counter()
    for name, (data, certificate) in cases.items():
        assert certificate.verify(**data).ok
        document = json.loads(encode(certificate))
        assert not list(flaws(document, SCHEMA)), name
        assert check(document, data) == "", name
        tree = document["tree"] or {}
        parts.update([*tree, *tree.get("minorant", {}), *document, *document["problem"]])
        parts.update([*document.get("rows", ())])
        parts.update([f"rows of {certificate.problem.loss}"] * ("rows" in document))
        parts.update(["several leaves"] * (len(document["leaves"]) > 1))
        # One unit more than the exact value is refused.
        false = document | {"lower": certificate.upper * (1.0 + 1e-9) + 1e-9}
        assert "it claims the lower bound" in check(false | {"sha256": _checksum(false)}, data)
    wanted = ["minorant", "region", "exhausted", "rows", "spans", "several leaves", "level"]
    for part in (*wanted, *(f"rows of {loss}" for loss in DIPS)):
        assert parts[part], part


@pytest.mark.parametrize("loss", sorted(NONCONVEX))
def test_boxes_of_every_loss(loss: str, check: Check) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 2))
    y = X @ [1.0, -0.5] + 0.3 * rng.normal(size=6)
    y = np.sign(y) if loss in ("ramp", "sigmoid") else np.abs(y) if loss == "amplitude" else y
    even = loss in ("amplitude", "quartic")
    found = sb.solve(X, y, k=1, ridge=0.1, loss=loss, fit_intercept=not even, exact=False)
    document = json.loads(encode(found.certificate))
    assert not list(flaws(document, SCHEMA))
    assert check(document, {"X": X, "y": y}) == ""
    above = document | {"lower": found.upper * 1.001}
    assert check(above | {"sha256": _checksum(above)}, {"X": X, "y": y})


@pytest.mark.parametrize("name", ["leaves", "ball", "logistic", "shifted", "standardized", "tree"])
def test_certificates_of_version_0_1(name: str, check: Check) -> None:
    """Among them one with shifts."""
    here = ROOT / "tests" / "version_0_1"
    document = json.loads((here / f"{name}.json").read_text(encoding="utf-8"))
    assert not list(flaws(document, SCHEMA))
    held = np.load(here / ("hard.npz" if name == "shifted" else "data.npz"))
    data = {"X": held["X"], "y": held["classes" if name == "logistic" else "y"]}
    assert check(document, data) == ""
    shifts = (document["tree"] or {}).get("shifts", ())
    assert shifts or name != "shifted"
    if shifts:
        false = document | {"lower": document["upper"] * 1.0001}
        assert check(false | {"sha256": _checksum(false)}, data)


def gain_at(eta: Fraction, q: Any, price: Any, state: Any, ball: Fraction) -> Fraction:
    """What a bound loses at a multiplier: to features in (1), and to open ones (0) that gain."""
    gains = [x / (2 * eta) - l0 for x, l0 in zip(q, price, strict=True)]
    taken = (g if s else max(g, 0) for g, s in zip(gains, state, strict=True) if s >= 0)
    return sum(taken, eta * ball / 2)


def test_multipliers_of_a_ball_are_the_best(checker: Any) -> None:
    """Also where they are q / (2 price), below which the bound falls steeply."""
    from programs import multiplier

    rng, at_a_start = np.random.default_rng(4), 0
    for _ in range(60):
        q, price = ([Fraction(x) for x in rng.uniform(size=4)] for _ in range(2))
        state = [*rng.choice([-1, 0, 0, 0, 1], 3).tolist(), 0]
        ball, price[0] = Fraction(10.0 ** rng.uniform(-2, 4)), price[0] * int(rng.integers(2))
        program = SimpleNamespace(price=price, ball=ball, heads=range(4), gathered=list)
        eta = multiplier(program, SimpleNamespace(squares=q), state)
        starts = [x / (2 * l0) for x, l0 in zip(q, price, strict=True) if l0]
        others = [*starts, *(eta * Fraction(2) ** i for i in range(-8, 9))]
        others += [eta * (1 + sign * Fraction(2) ** -i) for i in range(1, 60) for sign in (-1, 1)]
        least = min(gain_at(other, q, price, state, ball) for other in others)
        assert gain_at(eta, q, price, state, ball) - least <= eta * ball / 2**100
        at_a_start += any(abs(eta / start - 1) < Fraction(2) ** -100 for start in starts)
    assert at_a_start > 5


def test_random_forgeries(check: Check, cases: dict[str, Case]) -> None:
    """Whoever accepts a forgery accepts what is true; what `verify` accepts the checker does."""
    rng, told = np.random.default_rng(0), Counter[str]()
    names = [name for i, name in enumerate(cases) if i % 3 == 0 or i > 19]
    assert len(names) >= 20
    for i in range(MUTATIONS):
        name = names[i % len(names)]
        data, certificate = cases[name]
        path, document = changed(json.loads(encode(certificate)), rng)
        theirs, ours = verdicts(document, data, check)
        assert theirs or not ours, (name, path, ours)
        for other in adapted(document, ours, theirs):
            answers = verdicts(other, data, check)
            assert answers[0] or not answers[1], (name, path, answers[1])
            told["adapted, true"] += not all(answers)
        told[f"{'refused' if theirs else 'true'}, {'refused' if ours else 'true'}"] += 1
        if bool(theirs) != bool(ours):
            told["differ"] += 1
            print(name, path, "| verify:", theirs[:150], "| checker:", ours[:150])
    print(dict(told))
    assert told["refused, refused"] > 0.3 * MUTATIONS
    assert told["true, true"] > 0.1 * MUTATIONS
    assert told["adapted, true"] > 0.1 * MUTATIONS
    assert told["differ"] <= 0.03 * MUTATIONS


@pytest.mark.parametrize("name", ["rows", "tree", "spans 0"])
def test_counts_that_are_stated_allocate_nothing(
    name: str, check: Check, cases: dict[str, Case]
) -> None:
    data, certificate = cases[name]
    document = json.loads(encode(certificate))
    holder = document["tree"] or document["rows"]
    holder = holder.get("spans", holder)
    tracemalloc.start()
    for key in [key for key, value in holder.items() if isinstance(value, int)]:
        stated = holder[key]
        holder[key] = 2**23
        assert check(document | {"sha256": _checksum(document)}, data).startswith("Refused")
        holder[key] = stated
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_it_runs_where_the_package_cannot_be_imported(
    tmp_path: Path, cases: dict[str, Case]
) -> None:
    (tmp_path / "sparsebounds.py").write_text("raise ImportError('not here')", encoding="utf-8")
    data, certificate = cases["tree"]
    certificate.save(tmp_path / "c.json")
    np.savez(tmp_path / "data.npz", **data)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert "not here" in run("-c", "import sparsebounds").stderr
    found = run(str(CHECKER), "c.json", "data.npz")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("Proved: no model has an objective below")
    document = json.loads(encode(certificate)) | {"lower": certificate.upper + 1.0}
    document["sha256"] = _checksum(document)
    (tmp_path / "c.json").write_text(json.dumps(document), encoding="utf-8")
    found = run(str(CHECKER), "c.json", "data.npz")
    assert found.returncode == 1
    assert "Refused: it claims the lower bound" in found.stdout
    assert run(str(CHECKER), "nothing.json", "data.npz").returncode == 2
    assert "sparsebounds" not in "".join(
        line for file in CHECKER.parent.glob("*.py") for line in file.open() if "import " in line
    )
