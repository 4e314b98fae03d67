"""The paper's claims about Experiment 1, put to its table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sparsebounds.experiments.base import DRAWS, Part, columns, count, spread

ACCURACY = 1e-9
"""Of values, relative: ten times the tolerance of the relaxations."""


def claims_1(table: pl.DataFrame) -> list[str]:
    """Sentences that the table supports."""
    l0, k = columns(table, part="l0"), columns(table, part="k")
    twice = columns(table, part="l0, columns twice")
    return [*_one_point(l0, k, twice), *_priced(l0), *_budgeted(k)]


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


def _priced(part: Part) -> list[str]:
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


def _budgeted(part: Part) -> list[str]:
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
