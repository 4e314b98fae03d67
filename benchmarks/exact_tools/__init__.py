"""Software that searches for proved optima, one tool a file; ours is run the same way.

`run` is what is timed: from arrays to a model and a lower bound. The model's support is refitted by
us, untimed. Each tool lives in a process of its own: `worker`.
"""

from __future__ import annotations

from benchmarks.exact_tools.base import Claim, ExactTool, Task
from benchmarks.exact_tools.el0ps_tree import El0ps, El0psWithoutScreening
from benchmarks.exact_tools.l0bnb_tree import L0BnB
from benchmarks.exact_tools.okridge_tree import OKRidge
from benchmarks.exact_tools.ours import Ours
from benchmarks.exact_tools.scip_conic import SCIP

OURS = Ours()
EXACT_TOOLS: tuple[ExactTool, ...] = (
    OURS,
    El0ps(),
    El0psWithoutScreening(),
    L0BnB(),
    OKRidge(),
    SCIP(),
)

__all__ = ["EXACT_TOOLS", "OURS", "Claim", "ExactTool", "Task"]
