"""python -m benchmarks.check: every competitor solves our problem, on small data.

Same objective as ours to 1e-6 at its tight tolerances, for every form and loss it claims; the value
it attains with its own u, where it has one, is the relaxed value at its w.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp

from benchmarks.competitors import COMPETITORS
from benchmarks.evaluate import penalty, relative_gap, relaxed_value
from benchmarks.problems import Problem, hd, l0_max
from sparsebounds.relaxation import relax

TARGET = 1e-6


def problems() -> dict[str, Problem]:
    """Small ones of every form and loss, wide and tall, dense and sparse."""
    found: dict[str, Problem] = {}
    for loss in ("squared", "logistic"):
        for n, m in ((60, 90), (150, 40)):
            data = hd(n, m, correlation=0.6, loss=loss)
            X, y = data.X, data.y
            shape = f"{loss} {n}x{m}"
            found[f"{shape} l0+ridge"] = data
            found[f"{shape} k+ridge"] = Problem(X, y, loss, k=5, ridge=0.05)
            found[f"{shape} l0+ball"] = Problem(X, y, loss, l0=data.l0, ball=3.0)
            thin = np.where(np.abs(X) > 1.0, X, 0.0)
            l0 = 0.1 * l0_max(thin, y, loss, 0.05)
            matrix = sp.csc_array(thin)
            found[f"{shape} l0+ridge sparse"] = Problem(matrix, y, loss, l0=l0, ridge=0.05)
            found[f"{shape} k+ridge sparse"] = Problem(matrix, y, loss, k=5, ridge=0.05)
    return found


def main() -> None:
    """One line a run; a nonzero exit status where one is wrong."""
    wrong = 0
    for name, problem in problems().items():
        program = problem.program()
        ours = relax(program, 1e-10)
        for competitor in (each for one in COMPETITORS for each in one.variants()):
            if competitor.reason_to_skip(problem) is not None:
                continue
            ready, gap, tolerance = problem.ready(competitor.order), np.inf, np.nan
            for tolerance in competitor.tolerances:
                answer = competitor.solve(ready, tolerance)
                value = relaxed_value(problem, program, answer.w)
                gap = relative_gap(value, ours.dual_value, program.null)
                if gap <= TARGET:
                    break
            # Below the dual value nobody can be; a u of one's own costs at least h(w).
            fair = -1e-9 <= gap <= TARGET
            if answer.u is not None and problem.ridge is not None:
                lengths = np.maximum(answer.u, np.abs(answer.w) * 1e-9 + 1e-300)
                own = 0.5 * problem.ridge * float(np.sum(answer.w**2 / lengths))
                own += 0.0 if problem.l0 is None else problem.l0 * float(np.sum(answer.u))
                fair = fair and abs(own - penalty(problem, answer.w)) <= 1e-4 * program.null
            wrong += not fair
            mark = "ok   " if fair else "WRONG"
            who = f"{competitor.name} {competitor.variant}".strip()
            print(f"{mark} {name}: {who}, gap {gap:.1e} at {tolerance:g}", flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
