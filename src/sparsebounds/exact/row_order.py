"""What to decide first at a node of a search over rows."""

from __future__ import annotations

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds.bounds import RowBounds
from sparsebounds.relaxation import Node, node_penalty


def undecided_features(bounds: RowBounds, node: Node) -> Index:
    """The open features that the relaxation takes, those first that it is most undecided about."""
    m, live = bounds.program.m, bounds.live(node.state)
    kept = (1.0 - node.lent.shares[live]) * bounds.own[live]
    u = np.zeros(m)
    u[live] = node_penalty(bounds, node.state, live).with_ridge(kept).weights(node.w[live])
    taken = np.flatnonzero((node.state[:m] == 0) & (u > 0.0))
    order: Index = taken[np.argsort(-np.minimum(u, 1.0 - u)[taken], kind="stable")]
    return order


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
