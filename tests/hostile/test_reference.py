"""The referee and the runner themselves: a fuzzer that cannot find anything is a defect."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.hostile import judge, losses
from tests.hostile.attack import Attack, Finding, generator
from tests.hostile.draw import draw_spec
from tests.hostile.programs import attack_spec
from tests.hostile.reference import Reference, precise
from tests.hostile.runner import Runner, main
from tests.hostile.spec import Spec

import sparsebounds as sb

X = np.array([[1.0], [1.0]])
BY_HAND: list[tuple[Spec, float, float]] = [
    # mean of (y - w)^2/2 and ridge w^2/2, y = 1, 3: w = 1
    (Spec(X, [1.0, 3.0], k=1, ridge=1.0), 1.5, 2.5),
    (Spec(X, [1.0, 3.0], l0=0.75, ridge=1.0), 2.25, 2.5),
    (Spec(X, [1.0, 3.0], l0=1.25, ridge=1.0), 2.5, 2.5),
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0), 2.5, 2.5),
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0, always=(0,)), 1.5, 2.5),
    (Spec(X, [1.0, 3.0], k=1, ridge=1.0, never=(0,)), 2.5, 2.5),
    (Spec(-X, [1.0, 3.0], k=1, ridge=1.0, positive=np.array([True])), 2.5, 2.5),
    # w = 1/2 in the ball; the whole mean in a large one
    (Spec(X, [1.0, 3.0], k=1, ball=0.25), 1.625, 2.5),
    (Spec(X, [1.0, 3.0], k=1, ball=100.0), 0.5, 2.5),
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0, fit_intercept=True), 0.5, 0.5),
    # a weight of 2 is a row twice; a row of weight 0 is left out; an offset moves z
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0, weights=[2.0, 1.0]), 11.0 / 6.0, 11.0 / 6.0),
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0, weights=[1.0, 0.0]), 0.5, 0.5),
    (Spec(X, [1.0, 3.0], k=0, ridge=1.0, offset=[1.0, 1.0]), 1.0, 1.0),
    # b = 1/2 balances two rows of slope b and one of slope -1
    (
        Spec(np.zeros((3, 1)), [0.0, 0.0, 10.0], k=0, ridge=1.0, loss="huber",
             parameters={"delta": 1.0}, fit_intercept=True),
        9.25 / 3.0, 9.25 / 3.0,
    ),
    (Spec(X, [0.0, 1.0], k=0, ridge=1.0, loss="logistic"), math.log(2.0), math.log(2.0)),
    (Spec(X, [1.0, 1.0], k=0, ridge=1.0, loss="poisson", fit_intercept=True), 1.0, 1.0),
    # mean of (1 - w)^2/2 and w^2/2: w = 1/2
    (
        Spec(np.array([[1.0], [-1.0]]), [1.0, -1.0], k=1, ridge=1.0, loss="squared_hinge"),
        0.25, 0.5,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "optimum", "null"), BY_HAND)
@precise
def test_by_hand(spec: Spec, optimum: float, null: float) -> None:
    reference = Reference(spec)
    assert float(reference.best.high) == pytest.approx(optimum, rel=1e-14)
    assert float(reference.null.high) == pytest.approx(null, rel=1e-14)
    assert reference.low <= reference.best.high <= reference.low + Decimal("1e-14")


@precise
def test_error_bars_hold_points_do_not_beat_them() -> None:
    """No model on a support is better than its error bar says."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        spec = draw_spec(rng, ("squared", "huber", "poisson"), most=4).but(
            positive=None, standardize=False
        )
        reference = Reference(spec)
        fit = reference.best
        for _ in range(5):
            coef = np.zeros(spec.X.shape[1])
            coef[list(fit.support)] = [float(w) * (1 + 1e-3 * rng.normal()) for w in fit.w]
            b = float(fit.b) * (1 + 1e-6 * rng.normal()) if spec.fit_intercept else 0.0
            if reference.broken(coef) is None:
                value = reference.objective(coef, b, user=False)
                assert value >= fit.low - abs(fit.low) * Decimal("1e-40")


@pytest.mark.parametrize("name", losses.CONVEX)
@precise
def test_slopes_are_those_of_the_values(name: str) -> None:
    loss, step = losses.convex(name, {}), Decimal("1e-12")
    for y, z in ((1, "0.3"), (-1, "0.7"), (1, "-2.5")):
        if name == "poisson" and y < 0:
            continue
        at, up, down = (loss(Decimal(y), Decimal(z) + s) for s in (0, step, -step))
        assert abs((up[0] - down[0]) / (2 * step) - at[1]) < Decimal("1e-9")
        assert abs((up[1] - down[1]) / (2 * step) - at[2]) < Decimal("1e-9")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda s: {"lower": s.lower + 0.01 * abs(s.upper) + 1.0}, "lower bound above the optimum"),
        (lambda s: {"upper": 0.99 * s.upper}, "upper bound below the optimum"),
        (lambda s: {"coef": 1.01 * s.coef}, "the model does not attain its upper bound"),
        (lambda s: {"fixed_out": s.support}, "fixed_out is false"),
        (lambda s: {"status": "optimal", "lower": 0.0}, "optimal with a wide gap"),
        (lambda s: {"rel_gap": 2.0 * s.rel_gap + 1.0}, "rel_gap is not the gap"),
    ],
)
def test_planted_faults_are_found(change: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 4))
    spec = Spec(X, X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=10), k=2, ridge=0.1)
    genuine = sb.solve
    assert attack_spec(spec, "exact", rng) is None

    def planted(*arguments: Any, **options: Any) -> Any:
        solution = genuine(*arguments, **options)
        return replace(solution, **change(solution))

    monkeypatch.setattr(sb, "solve", planted)
    found = attack_spec(spec, "exact", rng)
    assert found is not None
    assert found.kind == kind


def test_an_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(sb, "solve", broken)
    spec = Spec(X, [1.0, 3.0], k=1, ridge=1.0)
    found = attack_spec(spec, "solve", np.random.default_rng(0))
    assert found is not None
    assert found.kind.startswith("ZeroDivisionError")


class Planted(Attack):
    """Finds something in a case of three, raises in another, hangs in the last."""

    name, patience = "planted", 0.2

    def case(self, rng: np.random.Generator) -> Finding | None:
        draw = rng.random()
        if draw < 0.3:
            return Finding("planted", "a [bold]\x1b[31mfault[/]")
        if draw < 0.5:
            raise ArithmeticError("raised")
        while draw > 0.9:
            pass
        return None


def test_the_runner_counts_and_says_how_to_repeat() -> None:
    stream = io.StringIO()
    runner = Runner([Planted()], 7, Console(file=stream, width=200))
    count = runner.run(30.0, cases=40)
    tally = runner.tallies["planted"]
    assert tally.cases == 40
    assert set(tally.found) == {"planted", "ArithmeticError", "hangs"}
    assert sum(tally.found.values()) == count > 10
    first = next(i for i in range(40) if generator(7, i, "planted").random() < 0.3)
    assert f"--attack planted --case 7:{first}" in stream.getvalue()
    assert "\x1b[31m" not in stream.getvalue()


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    clean = next(i for i in range(40) if 0.5 < generator(7, i, "planted").random() < 0.9)
    fault = next(i for i in range(40) if generator(7, i, "planted").random() < 0.3)
    assert main([Planted()], ["--attack", "planted", "--case", f"7:{clean}"]) == 0
    assert main([Planted()], ["--attack", "planted", "--case", f"7:{fault}"]) == 1
    assert main([Planted()], ["--list"]) == 0
    assert "planted" in capsys.readouterr().out
    assert main([Planted()], ["--attack", "other"]) == 2


def test_the_referee_whitens_within_groups() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(8, 5)) @ rng.normal(size=(5, 5))
    X[:, 3] = X[:, 1]
    y = X[:, 0] + rng.normal(size=8)
    # Groups of two, of two twins, and a column that stands alone.
    spec = Spec(X, y, k=1, ridge=0.3, groups=(0, 1, 0, 1, 4), standardize=True, fit_intercept=True)
    found = sb.solve(**spec.data, **spec.problem, exact=True, tol=1e-9)
    problem = found.certificate.problem
    center, scale, entries = judge.columns_of(problem)
    assert judge.wrong_scales(spec, problem) is None
    reference = Reference(spec, center, scale, entries)
    assert abs(float(reference.best.high) - found.upper) < 1e-9
    # Without T it is another problem, and with another T the columns are not white.
    assert abs(float(Reference(spec, center, scale).best.high) - found.upper) > 1e-4
    for place in np.flatnonzero(entries):
        forged = entries.copy()
        forged[place] *= 1.001
        changed = replace(problem, standardize=(center, scale, forged))
        assert judge.wrong_scales(spec, changed) is not None
    w = rng.normal(size=5) * [1.0, 1.0, 1.0, 0.0, 1.0]
    coef = reference.outward(w)
    same = reference.objective(w, 0.25, user=False)
    b = Decimal("0.25") - sum(
        Decimal(float(c)) * m for c, m in zip(coef, reference.center, strict=True)
    )
    assert abs(reference.objective(coef, b, user=True) - same) < Decimal("1e-12") * same
