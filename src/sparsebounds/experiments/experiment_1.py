"""Experiment 1: the duality gap and its Shapley-Folkman bounds, on data of rank 10.

Squared loss with a price l0, and logistic loss with at most k nonzeros; ridge 0.01. With r the rank
of X, S the weights that were rounded and r_T the rank of the tied columns:

                    the paper's bound       ours, from the ties      what OPT attains
    price l0        p** + l0 (r + 1)        p** + l0 |S|             p** + l0 sum_S (1 - u)^2
    at most k       p**(k + r + 2)          p**(k + r_T - 1)         p**(k) - tau sum_S u(1 - u)

upper bounds in the first row, lower bounds in the second, where OPT has more than k nonzeros.
At the same k: p**(k) <= p(k) <= p**(k - r + 1), the model behind that bound, which is better, and
the model that `solve` certifies.

The paper concludes from the missing spread of OPT over random objectives that its linear program
has one feasible point. Both are looked at, also with every column written twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from sparsebounds.datasets import Sample, make_low_rank
from sparsebounds.experiments.base import DRAWS, Experiment, Part, Tick, columns, count, spread
from sparsebounds.experiments.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    SKY,
    band,
    panels,
    positive,
)
from sparsebounds.primalization import GapBounds, gap_bounds, paper_models, primalize, tied_point
from sparsebounds.program import Program
from sparsebounds.relaxation import Relaxation, relax
from sparsebounds.solving import solve_program

RIDGE = 0.01
TOLERANCE = 1e-10
"""Of the relaxations: a gap of eps leaves weights wrong by its root."""

Row = dict[str, str | float | int | bool]

ACCURACY = 1e-9
"""Of values, relative: ten times the tolerance of the relaxations."""

UNKNOWN: Row = {"lower": math.nan, "upper": math.nan}


PRICED = (
    ("stated", 1, ":", GREY, r"$\lambda\,(r+1)$, paper"),
    ("tied", 1, "--", GREEN, r"$\lambda\,|S|$, ours"),
    ("opt", 1, "o-", RED, r"OPT $-\,p^{**}$"),
    ("upper", 1, "^-", BLUE, r"model found $-\,p^{**}$"),
)
BUDGETED = (
    ("stated", -1, ":", GREY, r"$p^{**}(k)-p^{**}(k+r+2)$, paper"),
    ("tied", -1, "--", GREEN, r"$p^{**}(k)-p^{**}(k+r_T-1)$, ours"),
    ("opt", -1, "o-", RED, r"$p^{**}(k)\,-$ OPT, more than k nonzeros"),
    ("same_k", 1, "-.", BLACK, r"$p^{**}(k-r+1)-p^{**}(k)$, k nonzeros"),
    ("upper", 1, "^-", BLUE, r"model found $-\,p^{**}(k)$, k nonzeros"),
)
"""Column, sign of its distance from p**, look and label."""


class DualityGap(Experiment):
    number = "1"
    title = "Duality gap bounds"

    def __init__(self, quick: bool = False) -> None:
        super().__init__(quick)
        self.prices = np.logspace(-6, -1, 4 if quick else 30)
        self.m = 16 if quick else 100

    @property
    def steps(self) -> int:
        return 2 * len(self.prices) + 2 * self.m

    def run(self, tick: Tick) -> pl.DataFrame:
        numbers, classes = self._data(False), self._data(True)
        rows = [
            *self._priced("l0", numbers.X, numbers.y, tick),
            *self._budgeted(classes.X, classes.y, tick),
            *self._priced("l0, columns twice", np.hstack([numbers.X] * 2), numbers.y, tick),
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _data(self, classes: bool) -> Sample:
        if self.quick:
            return make_low_rank(60, self.m, 4, 4, classes=classes, random_state=0)
        return make_low_rank(classes=classes, random_state=0)

    def _priced(self, part: str, X: Any, y: Any, tick: Tick) -> Iterator[Row]:
        """Squared loss, one row per price."""
        relaxed = None
        for price in self.prices.tolist():
            program = Program(X, y, l0=price, ridge=RIDGE)
            relaxed = relax(program, TOLERANCE, start=relaxed)
            row, bounds = _primalized(program, relaxed)
            yield {
                "part": part,
                "loss": "squared",
                "k": math.nan,
                "l0": price,
                **row,
                "stated": bounds.stated.value,
                "sharp": relaxed.value + price * bounds.rank,
                "tied": relaxed.value + price * float(row["n_fractional"]),
                "same_k": math.nan,
                "same_k_model": math.nan,
                **(_certified(program) if part == "l0" else UNKNOWN),
            }
            tick()

    def _budgeted(self, X: Any, y: Any, tick: Tick) -> Iterator[Row]:
        """Logistic loss, one row per k; the bounds are relaxed values of other k."""
        programs, relaxed = list[Program](), list[Relaxation]()
        for k in range(1, self.m + 1):
            programs.append(Program(X, y, k=k, ridge=RIDGE, loss="logistic"))
            relaxed.append(relax(programs[-1], TOLERANCE, start=relaxed[-1] if relaxed else None))
            tick()
        values = [programs[0].null, *(found.value for found in relaxed)]

        def value(k: int) -> float:
            return values[min(k, self.m)] if k >= 0 else math.nan

        for k, (program, found) in enumerate(zip(programs, relaxed, strict=True), start=1):
            row, bounds = _primalized(program, found)
            yield {
                "part": "k",
                "loss": "logistic",
                "k": float(k),
                "l0": math.nan,
                **row,
                "stated": value(int(bounds.stated.cardinality or 0)),
                "sharp": value(k + bounds.rank - 1),
                "tied": value(int(bounds.refined.cardinality or 0)),
                "same_k": value(k - bounds.rank + 1),
                "same_k_model": bounds.same_k.value,
                **_certified(program),
            }
            tick()

    def draw(self, table: pl.DataFrame) -> dict[str, Any]:
        """Values above, distances from p** below; left with a price l0, right with at most k."""
        figure, axes = panels(2, 2, 6.0, sharex="col")
        l0, k = columns(table, part="l0"), columns(table, part="k")
        _values(axes[0, 0], l0, "l0", r"$p^{**}+\lambda\,(r+1)$", r"$p^{**}+\lambda\,|S|$")
        _values(axes[0, 1], k, "k", r"$p^{**}(k+r+2)$", r"$p^{**}(k+r_T-1)$")
        _distances(axes[1, 0], l0, "l0", PRICED)
        _distances(axes[1, 1], k, "k", BUDGETED)
        axes[0, 0].set(xscale="log", title=r"Squared loss, price $\lambda$ a nonzero")
        axes[0, 1].set(title="Logistic loss, at most k nonzeros")
        axes[1, 0].set(xlabel=r"$\lambda$")
        axes[1, 1].set(xlabel="k")
        return {"figure": figure}

    def findings(self, table: pl.DataFrame) -> list[str]:
        """The paper's claims, put to the table."""
        l0, k = columns(table, part="l0"), columns(table, part="k")
        twice = columns(table, part="l0, columns twice")
        return [*_one_point(l0, k, twice), *_price_claims(l0), *_budget_claims(k)]


def _primalized(program: Program, relaxed: Relaxation) -> tuple[Row, GapBounds]:
    """The relaxed point, the point primalized from it, and what random objectives make of it.

    They are drawn also where the answer of the paper's linear program is known to be unique.
    """
    found, bounds = primalize(program, relaxed, draws=0), gap_bounds(program, relaxed)
    point = tied_point(program, relaxed.w, relaxed.b)
    drawn = paper_models(point, DRAWS, np.random.default_rng(0))
    models = [model for model in drawn if model is not None]
    row: Row = {
        "rank": bounds.rank,
        "relaxed": relaxed.value,
        "dual": relaxed.dual_value,
        "opt": found.value,
        "opt_spread": float(np.ptp([model.value for model in models])),
        "draws": len(models),
        "supports": len({tuple(model.support.tolist()) for model in models}),
        "unique": found.unique,
        "n_nonzero": found.n_nonzero,
        "n_fractional": found.n_fractional,
        "rank_tied": found.rank_tied,
    }
    return row, bounds


def _certified(program: Program) -> Row:
    """Proved bounds on the optimum itself."""
    solution = solve_program(program)
    return {"lower": solution.lower, "upper": solution.upper}


def _values(axes: Any, part: Part, name: str, stated: str, ours: str) -> None:
    x = part[name]
    band(axes, x, part["lower"], part["upper"], SKY, alpha=0.6, label="optimum, certified")
    axes.plot(x, part["stated"], ":", color=GREY, label=f"{stated}, paper")
    axes.plot(x, part["tied"], "--", color=GREEN, label=f"{ours}, ours")
    axes.errorbar(
        x,
        part["opt"],
        yerr=part["opt_spread"],
        fmt="o-",
        color=RED,
        markersize=2,
        label="OPT, spread of 20 objectives",
    )
    axes.plot(x, part["relaxed"], color=BLACK, label=r"$p^{**}$")
    axes.set(ylabel="objective")
    axes.legend()


def _distances(axes: Any, part: Part, name: str, curves: tuple[Any, ...]) -> None:
    for column, sign, style, color, label in curves:
        distance = positive(sign * (part[column] - part["relaxed"]))
        axes.plot(part[name], distance, style, color=color, markersize=2, label=label)
    axes.set(ylabel=r"distance from $p^{**}$", yscale="log")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))


def _one_point(l0: Part, k: Part, twice: Part) -> list[str]:
    """No error bars, so the linear program has a single feasible point?"""
    unique = np.concatenate((l0["unique"], k["unique"]))
    supports = int(max(np.max(l0["supports"]), np.max(k["supports"])))
    apart = max(np.max(l0["opt_spread"]), np.max(k["opt_spread"]))
    return [
        f"One feasible point: at {count(unique)} points the tied columns are independent, so that "
        f"no other weights are feasible; {DRAWS} random objectives gave at most {supports} support "
        f"a point, and values of OPT at most {apart:.1g} apart.",
        f"A missing spread does not show it, though. With every column written twice the weights "
        f"are unique at {count(twice['unique'])} points only, the objectives find up to "
        f"{int(np.max(twice['supports']))} supports at a point, and their OPT are still at most "
        f"{np.max(twice['opt_spread']):.1g} apart.",
    ]


def _price_claims(part: Part) -> list[str]:
    excess, room = part["opt"] - part["relaxed"], part["stated"] - part["relaxed"]
    falls = np.all(np.diff(excess) > -ACCURACY)
    order = _ordered(part, "relaxed", "opt", "tied", "sharp", "stated")
    between = (part["lower"] <= part["opt"]) & (part["upper"] <= part["opt"] * (1 + ACCURACY))
    return [
        f"Price l0: p** <= OPT <= p** + l0 |S| <= p** + l0 r <= p** + l0 (r + 1) at {count(order)} "
        f"points, |S| being at most {int(np.max(part['n_fractional']))}; OPT - p** is "
        f"{spread(100 * excess / room, '%')} of l0 (r + 1).",
        f"OPT - p** goes from {excess[-1]:.3g} at l0 = {part['l0'][-1]:.2g} to {excess[0]:.3g} at "
        f"l0 = {part['l0'][0]:.2g}, {'steadily' if falls else 'but not steadily'}; it is 0 at "
        f"{int(np.sum(part['n_fractional'] == 0))} points.",
        f"The optimum lies between p** and OPT, as the paper says; solve proves more, with a model "
        f"no worse than OPT at {count(between)} points. The certified gap is {_gap(part)} of the "
        f"model's objective. At l0 = {part['l0'][-1]:.2g} the optimum lies between "
        f"{part['lower'][-1]:.4f} and {part['upper'][-1]:.4f}; OPT is {part['opt'][-1]:.4f}.",
    ]


def _budget_claims(part: Part) -> list[str]:
    rank = int(part["rank"][0])
    more = int(np.max(part["n_nonzero"] - part["k"]))
    drop, stated = part["relaxed"] - part["opt"], part["relaxed"] - part["stated"]
    kept = stated > ACCURACY
    order = _ordered(part, "stated", "sharp", "tied", "opt", "relaxed")
    known = ~np.isnan(part["same_k"])
    promised = part["same_k_model"][known] <= part["same_k"][known] * (1 + ACCURACY)
    better = part["upper"] <= part["same_k_model"] * (1 + ACCURACY)
    above = part["same_k_model"] / part["relaxed"] - 1
    return [
        f"At most k: p**(k + r + 2) <= p**(k + r - 1) <= p**(k + r_T - 1) <= OPT <= p**(k) at "
        f"{count(order)} points; OPT has at most {more} nonzeros beyond k, where the paper allows "
        f"{rank + 2} and the sharper count {rank - 1}. p**(k) - OPT is "
        f"{spread(100 * drop[kept] / stated[kept], '%')} of p**(k) - p**(k + r + 2).",
        f"The same k: p(k) <= p**(k - r + 1), attained by a primalized point of a smaller k, at "
        f"{count(promised)} points where that is defined; refitted, the point is "
        f"{spread(100 * above, '%')} above p**(k).",
        f"The model of k nonzeros that solve finds is no worse at {count(better)} points; its "
        f"certified gap is {_gap(part)} of its objective.",
    ]


def _gap(part: Part) -> str:
    return spread(100 * (part["upper"] - part["lower"]) / part["upper"], "%")


def _ordered(part: Part, *names: str) -> Any:
    """Where the columns increase, up to their accuracy."""
    table = np.stack([part[name] for name in names])
    return np.all(np.diff(table, axis=0) >= -ACCURACY * np.abs(table[0]), axis=0)
