"""Very many features: the few that can gain are found first, and the bound is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparsebounds.bounds import Node, bound_at, dual_point, lower
from sparsebounds.program import Program

N, M = 6, 3 * lower.LONG // 2
FIVES = np.where(np.arange(M) < 100, np.arange(M), 100 + (np.arange(M) - 100) // 5)
FORMS = {
    "k+ridge": {"k": 3, "ridge": 0.3},
    "l0+ridge": {"l0": 0.2, "ridge": 0.3},
    "k+ball": {"k": 3, "ball": 2.0},
    "l0+ball": {"l0": 0.2, "ball": 2.0},
    "large k": {"k": M + 5, "ridge": 0.3},
    "prices": {"l0": np.linspace(0.0, 0.4, M), "ridge": 0.3},
    "ridges": {"k": 3, "ridge": np.linspace(0.1, 0.4, M)},
    "groups": {"k": 3, "ridge": 0.3, "groups": FIVES},
    "groups, l0": {"l0": 0.9, "ridge": 0.3, "groups": FIVES},
    "groups, ball": {"k": 3, "ball": 2.0, "groups": FIVES},
}
NODES = (Node(), Node(low=2, high=5), Node(inside=np.array([4, 9]), outside=np.arange(20, 60)))


@pytest.mark.parametrize("node", NODES, ids=["all", "range", "fixed"])
@pytest.mark.parametrize("form", FORMS)
def test_the_bound_is_that_of_all_features(
    form: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, M))
    X[:, 100:200] = X[:, :1]  # ties
    X[:, 200:210] = 0.0
    extras: dict[str, Any] = {"always": [1, 2], "never": [3, 7]} if node.low == 0 else {}
    program = Program(X, rng.normal(size=N), **FORMS[form], **extras)
    for scale in (0.01, 1.0, 30.0):
        point = dual_point(program, scale * rng.normal(size=N) / N)
        for lagrangian in (False, True):
            found = bound_at(program, point, node, lagrangian=lagrangian)
            with monkeypatch.context() as patch:
                patch.setattr(lower, "LONG", M)
                whole = bound_at(program, point, node, lagrangian=lagrangian)
            assert found == pytest.approx(whole, rel=1e-14, abs=1e-14)
