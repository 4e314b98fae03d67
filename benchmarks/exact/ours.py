"""Ours: `solve(..., exact=True)`, timed in full, certificate included, and run like a peer.

Its tolerance is relative to the larger of the objective and that of w = 0. It is given the one that
means the gap asked for, which is relative to the objective alone.
"""

from __future__ import annotations

from benchmarks.common.peers.base import Claim, ExactPeer, Task


class Ours(ExactPeer):
    name = "sparsebounds"
    packages = ("sparsebounds",)

    def run(self, task: Task) -> Claim:
        tol = task.gap * task.value / max(task.value, task.null)
        found = task.problem.solve(exact=True, tol=tol, time_limit=task.limit)
        return Claim(found.coef, found.lower, found.stats.nodes, found.status == "optimal")


OURS = Ours()
