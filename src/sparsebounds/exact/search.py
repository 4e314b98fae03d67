"""Best-bound branch and bound over supports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebounds._array import Index, Vector
from sparsebounds.exact.bounder import Bounded, RidgeBounder
from sparsebounds.exact.tree import Tree, Witness
from sparsebounds.models import Model, refit
from sparsebounds.program import Program

BATCH = 8


@dataclass
class Outcome:
    model: Model
    lower: float
    tree: Tree
    nodes: int
    open: int


def search(
    program: Program, start: Vector, b: float, incumbent: Model, price: float, slack: Callable[[float], float],
    node_limit: int = 10**9,
) -> Outcome:
    bounder = RidgeBounder(program, price)
    tree = Tree()
    best = incumbent
    seen: set[tuple[int, ...]] = set()

    def cutoff() -> float:
        return best.value - slack(best.value)

    state = np.zeros((1, program.m), dtype=np.int8)
    state[:, program.always] = 1
    places = np.zeros(1, dtype=np.int64)
    opened, places = bounder.bound(state, start[None], np.array([b]), cutoff(), best.value), places
    closed = np.inf
    def settle(nodes: Bounded, at: Index) -> tuple[Bounded, Index]:
        nonlocal closed, best
        for row, node in enumerate(at):
            tree.record(int(node), Witness.of(nodes.w[row], nodes.b[row]))
        alive = np.flatnonzero(nodes.lower < cutoff())
        for row in alive:
            try_round(nodes, row)
        done = nodes.lower >= cutoff()
        closed = min(closed, float(np.min(nodes.lower[done], initial=np.inf)))
        keep = np.flatnonzero(~done)
        nodes, at = nodes.take(keep), at[keep]
        fixed = bounder.fix(nodes, best.value)
        for row, node in enumerate(at):
            new = (nodes.state[row] == 0) & (fixed[row] != 0)
            tree.fix(int(node), np.flatnonzero(new & (fixed[row] > 0)), np.flatnonzero(new & (fixed[row] < 0)))
        return Bounded(fixed, nodes.w, nodes.b, nodes.lower, nodes.gradient), at

    def try_round(nodes: Bounded, row: int) -> None:
        nonlocal best
        penalty = bounder.penalty(nodes.state[row])
        u = penalty.weights(nodes.w[row])
        chosen = np.flatnonzero((u >= 0.5) & (nodes.state[row] >= 0) | (nodes.state[row] > 0))
        partial = np.count_nonzero((u > 0) & (u < 1))
        if partial > 3:
            return
        if program.k is not None and np.count_nonzero(program.free[chosen]) > program.k:
            return
        key = tuple(chosen.tolist())
        if key in seen:
            return
        seen.add(key)
        model = refit(program, chosen)
        if model.value < best.value:
            best = model

    opened, places = settle(opened, places)
    count = 1
    while len(places):
        live = np.flatnonzero(opened.lower < cutoff())
        if len(live) < len(places):
            gone = np.setdiff1d(np.arange(len(places)), live)
            closed = min(closed, float(np.min(opened.lower[gone])))
            opened, places = opened.take(live), places[live]
        if len(places) == 0 or count >= node_limit:
            break
        size = min(BATCH, len(places))
        chosen = np.argpartition(opened.lower, size - 1)[:size]
        rest = np.setdiff1d(np.arange(len(places)), chosen)
        states, ws, bs, at = [], [], [], []
        for row in chosen:
            feature, out, into = bounder.children(opened.state[row], opened.w[row], float(opened.b[row]))
            if feature < 0:
                closed = min(closed, float(opened.lower[row]))
                continue
            for side, w, node in zip((-1, 1), (out, into), tree.split(int(places[row]), feature), strict=True):
                child = opened.state[row].copy()
                child[feature] = side
                states.append(child); ws.append(w); bs.append(opened.b[row]); at.append(node)
        opened, places = opened.take(rest), places[rest]
        if not states:
            continue
        found = bounder.bound(np.array(states), np.array(ws), np.array(bs), cutoff(), best.value)
        count += len(states)
        found, at = settle(found, np.array(at))
        opened = Bounded(*(np.concatenate((getattr(opened, f), getattr(found, f))) for f in Bounded.__dataclass_fields__))
        places = np.concatenate((places, at))
    lower = min(closed, float(np.min(opened.lower, initial=np.inf)))
    return Outcome(best, min(lower, best.value), tree, count, len(places))
