"""Every peer solves our relaxation, on small data.

Same objective as ours to 1e-6 at its tight tolerances, for every form and loss it claims; the value
it attains with its own u, where it has one, is the relaxed value at its w.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from benchmarks.common.command import say
from benchmarks.common.problems import Problem, correlated, posed
from benchmarks.relaxation.measure import THEIR_GAP
from benchmarks.relaxation.referee import penalty, relative_gap, relaxed_value
from benchmarks.relaxation.table import Relaxations
from sparsebounds.relaxation import relax


def problems() -> dict[str, Problem]:
    """Small ones of every form and loss, wide and tall, dense and sparse."""
    found: dict[str, Problem] = {}
    for loss in ("squared", "logistic"):
        for n, m in ((60, 90), (150, 40)):
            data = correlated(n, m, correlation=0.6, loss=loss)
            X, y = data.X, data.y
            shape = f"{loss} {n}x{m}"
            found[f"{shape} l0+ridge"] = data
            found[f"{shape} k+ridge"] = posed(X, y, loss, k=5)
            found[f"{shape} l0+ball"] = Problem(X, y, loss, l0=data.l0, ball=3.0)
            thin = np.where(np.abs(X) > 1.0, X, 0.0)
            matrix = sp.csc_array(thin)
            found[f"{shape} l0+ridge sparse"] = posed(matrix, y, loss)
            found[f"{shape} k+ridge sparse"] = posed(matrix, y, loss, k=5)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """One line per run; a nonzero exit status where one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.relaxation.check", description=__doc__
    )
    parser.add_argument("--only", default="", metavar="NAME", help="problems with NAME in theirs")
    options = parser.parse_args(arguments)
    wrong = 0
    for name, problem in problems().items():
        if options.only not in name:
            continue
        program = problem.program()
        ours = relax(program, 1e-10)
        for peer in (each for one in Relaxations.peers for each in one.variants()):
            if peer.reason_to_skip(problem) is not None:
                continue
            ready, gap, tolerance = problem.ready(peer.order), np.inf, np.nan
            for tolerance in peer.tolerances:
                answer = peer.solve(ready, tolerance)
                value = relaxed_value(problem, program, answer.w)
                gap = relative_gap(value, ours.dual_value, program.null)
                if gap <= THEIR_GAP:
                    break
            # Below the dual value nobody can be; a u of one's own costs at least h(w).
            fair = -1e-9 <= gap <= THEIR_GAP
            if answer.u is not None and problem.ridge is not None:
                lengths = np.maximum(answer.u, np.abs(answer.w) * 1e-9 + 1e-300)
                own = 0.5 * problem.ridge * float(np.sum(answer.w**2 / lengths))
                own += 0.0 if problem.l0 is None else problem.l0 * float(np.sum(answer.u))
                fair = fair and abs(own - penalty(problem, answer.w)) <= 1e-4 * program.null
            wrong += not fair
            mark = "ok   " if fair else "WRONG"
            who = f"{peer.name} {peer.variant}".strip()
            say(f"{mark} {name}: {who}, gap {gap:.1e} at {tolerance:g}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
