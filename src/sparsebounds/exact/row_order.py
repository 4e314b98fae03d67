"""What to decide first at a node of a search over rows, and what nodes agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.bounds import Lent, RowBounds, RowLoss, States
from sparsebounds.relaxation import Node


def leading_features(bounds: RowBounds, node: Node) -> Index:
    """The open features that the relaxation takes, those first that weigh most.

    None where all of them may be in at no price: that decides nothing.
    """
    opened = bounds.opened(node.state)
    if bounds.room(node.state) >= len(opened) and not np.any(bounds.program.prices[opened]):
        return opened[:0]
    size = np.abs(node.w[opened]) * np.sqrt(bounds.own[opened])
    order: Index = opened[np.argsort(-size, kind="stable")]
    return order[: np.count_nonzero(size)]


def promising_rows(bounds: RowBounds, node: Node) -> Index:
    """Rows in doubt, those first whose residual is far from c next to their leverage."""
    program, r = bounds.program, np.abs(bounds.residuals(node.w, node.b))
    A = bounds.rows[(node.w != 0.0) | (node.state[: program.m] > 0)]
    if program.fit_intercept:
        A = np.vstack((A, np.ones(len(r))))
    matrix = (A * np.where(r < bounds.c, program.F.p, 0.0)) @ A.T
    np.einsum("ii->i", matrix)[:] += 1e-9 * np.trace(matrix) + 1e-300
    leverage = np.einsum("ij,ij->j", A, np.linalg.solve(matrix, A)) + 1e-300
    doubt = np.flatnonzero(bounds.loss(node.state, node.lent).doubt)
    score = np.square(r - bounds.c) / leverage
    order: Index = doubt[np.argsort(-score[doubt], kind="stable")]
    return order


def obeys(bounds: RowBounds, node: Node, state: States) -> bool:
    """Whether a node's own point obeys what a part of it decides, about rows alone."""
    changed = np.flatnonzero(state != node.state)
    first, n = bounds.program.m, bounds.program.n
    if np.any(changed < first) or np.any(changed >= first + 2 * n):
        return False
    r = bounds.residuals(node.w, node.b)[(changed - first) % n]
    beyond = np.where(changed < first + n, r, -r) - bounds.c
    return bool(np.all(beyond * state[changed] >= 0.0))


def agreed_rows(bounds: RowBounds, states: Sequence[States]) -> States:
    """Rows on which all of these nodes agree: 1 for inliers, -1 for outliers, 0 for the others."""
    nothing = Lent.nothing(bounds.program.n, bounds.program.m)
    if not states:
        return np.zeros(bounds.program.n, dtype=np.int8)
    losses = [bounds.loss(state, nothing) for state in states]
    known = [loss.inlier * 1 - loss.outlier * 1 for loss in losses if isinstance(loss, RowLoss)]
    agreed: States = np.where(np.all(np.equal(known, known[0]), axis=0), known[0], 0).astype(
        np.int8
    )
    return agreed
