"""Non-convex losses: no bound is above what a model attains, whatever the data."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from tests.cases import LONG

import sparsebounds as sb
from sparsebounds.bounds import dual_point_at, enclosed, objective_up, tighter_box
from sparsebounds.fitting.refit import local_refit
from sparsebounds.losses import NONCONVEX
from sparsebounds.program import Form, Program
from sparsebounds.relaxation import RelaxationWarning

LOSSES = sorted(NONCONVEX)
FORMS: tuple[Form, ...] = ("k+ridge", "l0+ridge", "k+ball", "l0+ball")
CASES = [
    (loss, form, intercept)
    for i, (loss, form) in enumerate(itertools.product(LOSSES, FORMS))
    for intercept in (False, True)
    if not intercept or NONCONVEX[loss].intercept
    if LONG or not NONCONVEX[loss].intercept or intercept == (i // 4 + i) % 2
]
"""Every loss with every form, half of them with an intercept."""


def random_case(
    seed: int, loss: str, form: Form, intercept: bool, columns: int = 3
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Data and options: outliers, ties, zero columns, bad scales, constant responses, one row."""
    rng = np.random.default_rng(seed)
    two = NONCONVEX[loss].two_class
    n, m = int(rng.integers(2 if two else 1, 7)), int(rng.integers(1, columns + 1))
    X = rng.normal(size=(n, m))
    kind = rng.integers(6)
    if kind == 1:
        X = rng.integers(-1, 2, size=(n, m)).astype(float)
    elif kind == 2:
        X = X[:, rng.integers(0, m, size=m)] * rng.choice([-1.0, 1.0], size=m)
    elif kind == 3:
        X[:, rng.integers(m)] = 0.0
    elif kind == 4:
        X = X * 10.0 ** rng.uniform(-6, 6, size=m)
    w = 3.0 * rng.normal(size=m) / np.maximum(np.abs(X).max(axis=0), 1e-12)
    y = X @ w + rng.normal(size=n) * rng.choice([0.0, 0.3, 1.0])
    y = y + (rng.random(n) < 0.3) * rng.normal(size=n) * 20.0
    if rng.random() < 0.15:
        y = np.full(n, 3.0 * rng.normal())
    if two:
        y = np.where(y > 0, 1.0, -1.0)
        y[0], y[-1] = 1.0, -1.0
    elif loss == "quartic":
        y = y**2 / 10.0
    elif loss == "amplitude":
        y = np.abs(y)
    options: dict[str, Any] = {"loss": loss, "fit_intercept": intercept}
    sparsity, size = form.split("+")
    if sparsity == "k":
        options["k"] = int(rng.integers(0, m + 2))
    else:
        price = 10.0 ** rng.uniform(-3, 0)
        options["l0"] = price if rng.random() < 0.7 else price * rng.integers(0, 4, size=m)
    if size == "ridge":
        ridge = 10.0 ** rng.uniform(-3, 1)
        options["ridge"] = ridge if rng.random() < 0.7 else ridge * rng.uniform(0.5, 2.0, size=m)
    else:
        options["ball"] = 10.0 ** rng.uniform(-1.5, 1.5)
    if rng.random() < 0.3:
        options["sample_weight"] = rng.uniform(0.2, 2.0, size=n)
    if rng.random() < 0.3:
        options["offset"] = rng.normal(size=n)
    if rng.random() < 0.3:
        options["positive"] = rng.random(m) < 0.5
    if rng.random() < 0.3:
        role = rng.integers(0, 4, size=m)
        options["always"], options["never"] = np.flatnonzero(role == 1), np.flatnonzero(role == 2)
    options["standardize"] = bool(rng.random() < 0.2)
    return X, y, options


def best_found(program: Program, starts: int = 2) -> float:
    """The best local optimum over all supports, from several starts: attained, so never too low."""
    rng = np.random.default_rng(0)
    free, always = np.flatnonzero(program.free), np.flatnonzero(program.always)
    most = len(free) if program.k is None else min(program.k, len(free))
    best = np.inf
    for size in range(most + 1):
        for chosen in itertools.combinations(free.tolist(), size):
            support = np.array(sorted({*chosen, *always.tolist()}), dtype=np.int64)
            columns = program.matrix.columns(support)
            z = [rng.normal(size=program.n) * 3.0 + program.y for _ in range(starts)]
            best = min(best, local_refit(program, support, columns, z).value)
            best = min(best, local_refit(program, support, columns).value)
    return best


@pytest.mark.parametrize(("loss", "form", "intercept"), CASES)
def test_no_bound_is_above_what_is_attained(loss: str, form: Form, intercept: bool) -> None:
    for seed in range(1):
        X, y, options = random_case(
            1000 * seed + CASES.index((loss, form, intercept)), loss, form, intercept
        )
        program = Program(X, y, **options)
        best = best_found(program)
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RelaxationWarning)
            relaxed = sb.relax(program)
            assert relaxed.lower <= best
            # Boxes for the best level there is, cut by good and by random dual vectors.
            for a in (relaxed.point.t, rng.normal(size=program.n), 10 * rng.normal(size=program.n)):
                assert sb.lower_bound(program, program.F.p * a) <= best
                convex = enclosed(program, best)
                t = dual_point_at(convex, sb.bounds.repair(convex, a)).t
                cut = enclosed(program, best, [t, t])
                again = sb.relax(cut, start=relaxed)
                assert again.lower <= best


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_feature_against_a_fine_grid(loss: str, intercept: bool) -> None:
    """With one feature a grid over (w, b) sees the global optimum: nothing hides from it."""
    if intercept and not NONCONVEX[loss].intercept:
        return
    for seed, form in list(enumerate(FORMS))[intercept::2]:
        X, y, options = random_case(77 + seed, loss, form, intercept, columns=1)
        for name in ("standardize", "positive", "always", "never"):
            options.pop(name, None)
        X = X / max(float(np.abs(X).max()), 1e-12)
        program = Program(X, y, **options)
        reach = 12.0 if program.ball is None else float(np.sqrt(program.ball))
        w, b = np.meshgrid(
            np.linspace(-reach, reach, 801) * (program.k != 0) * (1 - 1e-12),
            np.linspace(-12, 12, 97) if intercept else [0.0],
        )
        values = program.F.values(w.ravel()[:, None] * X[:, 0] + b.ravel()[:, None])
        if program.ball is None:
            values = values + 0.5 * program.ridges[0] * w.ravel() ** 2
        values = values + program.prices[0] * (w.ravel() != 0)
        at = int(np.argmin(values))
        best = objective_up(program, w.ravel()[at : at + 1], float(b.ravel()[at]))
        solution = sb.solve(X, y, **options)
        assert solution.lower <= min(best, solution.upper)
        # The search for models is no worse than the grid.
        assert solution.upper <= best * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("loss", "form", "intercept"), CASES)
def test_boxes_hold_every_model_worth_considering(loss: str, form: Form, intercept: bool) -> None:
    for seed in range(1):
        X, y, options = random_case(
            5000 + 1000 * seed + CASES.index((loss, form, intercept)), loss, form, intercept
        )
        program = Program(X, y, **options)
        rng = np.random.default_rng(seed)
        models = _random_models(program, rng, 150)
        level = float(np.quantile([value for value, _, _ in models], 0.3))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RelaxationWarning)
            convex = enclosed(program, level)
            relaxed = sb.relax(convex)
            boxes = [convex.box, tighter_box(program, convex, relaxed.point, level)]
        for value, w, b in models:
            if value > level:
                continue
            z = program.matrix.columns(np.arange(program.m)) @ w
            for box in boxes:
                assert box is not None
                assert np.all((box.low <= z) & (z <= box.high))
                saturated = loss in {"truncated", "tukey", "ramp"}
                outside = not box.intercept[0] <= b <= box.intercept[1]
                # Where the loss is constant far out, or has a tail, b may be left out.
                assert not outside or saturated or value >= box.ceiling


def _random_models(
    program: Program, rng: np.random.Generator, count: int
) -> list[tuple[float, np.ndarray, float]]:
    """Sparse models of all sizes that obey the constraints."""
    free, found = np.flatnonzero(program.free), []
    for _ in range(count):
        most = len(free) if program.k is None else min(program.k, len(free))
        chosen = rng.choice(free, size=int(rng.integers(0, most + 1)), replace=False)
        support = np.union1d(chosen, np.flatnonzero(program.always)).astype(np.int64)
        scale = program.matrix.norms[support] + 1e-12
        w = np.zeros(program.m)
        w[support] = rng.normal(size=len(support)) * 10.0 ** rng.uniform(-2, 1.3) / scale
        w[program.positive] = np.abs(w[program.positive])
        if program.ball is not None:
            w *= min(1.0, 0.999 * np.sqrt(program.ball / max(float(w @ w), 1e-300)))
        b = float(rng.normal() * 10.0 ** rng.uniform(-1, 1.5)) if program.fit_intercept else 0.0
        found.append((objective_up(program, w, b), w, b))
    return found


CHUNKS = [(2, -1), (-1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("loss", "form", "intercept", "chunks"),
    [
        (*case, chunks)
        for i, case in enumerate(CASES[:: 9 if LONG else 5])
        for chunks in (CHUNKS if LONG else [CHUNKS[i % 3]])
    ],
)
def test_boxes_of_data_read_by_blocks(
    loss: str, form: Form, intercept: bool, chunks: tuple[int, int]
) -> None:
    """The same promises where the largest terms are merged from blocks."""
    import dask.array as da

    seed = 9000 + CASES.index((loss, form, intercept))
    X, y, options = random_case(seed, loss, form, intercept, columns=5)
    here = Program(X, y, **options)
    program = Program(da.from_array(X, chunks=chunks), y, **options)
    models = _random_models(here, np.random.default_rng(seed), 60)
    level = float(np.quantile([value for value, _, _ in models], 0.3))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RelaxationWarning)
        best = best_found(here, starts=1)
        relaxed = sb.relax(program)
        assert relaxed.lower <= best
        cut = enclosed(program, best, [relaxed.point.t, relaxed.point.t])
        assert sb.relax(cut).lower <= best
        convex = enclosed(program, level)
        boxes = [convex.box, tighter_box(program, convex, sb.relax(convex).point, level)]
    for value, w, _ in models:
        z = here.matrix.columns(np.arange(here.m)) @ w
        for box in boxes:
            assert box is not None
            assert value > level or np.all((box.low <= z) & (z <= box.high))
