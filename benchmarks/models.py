"""python -m benchmarks.models [--only NAME ...] [--quick] [--no-save]

Sparse models, ours against other software: the same objective, evaluated by us for all. Every
support that a tool names is refitted by us, untimed; ours is timed in full, certificate included.
"""

from __future__ import annotations

import argparse
import gc
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks import machine, model_report
from benchmarks.model_bars import judge
from benchmarks.model_problems import MODEL_PROBLEMS, QUICK
from benchmarks.model_rows import Attempt, ModelRow
from benchmarks.model_tools import MODEL_TOOLS, ModelTool
from benchmarks.model_tools.base import REPEATS
from benchmarks.problems import Problem, Unavailable
from benchmarks.timing import best_of, timed
from sparsebounds import Program, certify, solve
from sparsebounds._solution import Solution
from sparsebounds.models import refit
from sparsebounds.relaxation import Relaxation, relax

Say = Callable[[str], None]


def run(names: Iterable[str], say: Say = print) -> tuple[list[ModelRow], dict[str, str]]:
    """Rows of the problems named, and why others could not be made."""
    rows, missing = [], {}
    for name in names:
        try:
            problem = MODEL_PROBLEMS[name]().stored("F")
        except Unavailable as reason:
            missing[name] = str(reason)
            say(f"{name} not run: {reason}")
            continue
        rows.append(measure(name, problem, say))
        gc.collect()
    return rows, missing


def measure(name: str, problem: Problem, say: Say) -> ModelRow:
    """Ours, then every tool, on one problem."""
    row = ours(name, problem)
    say(f"{name}: ours {row.value:.8g}, {1e3 * row.seconds:.1f} ms, gap {row.rel_gap:.1e}")
    referee = Referee(problem)
    for tool in MODEL_TOOLS:
        row.cells[tool.name] = theirs(tool, problem, referee)
        attempt = row.cell(tool.name)
        if attempt.reason:
            say(f"  {tool.name}: {attempt.reason}")
        else:
            say(
                f"  {tool.name} {attempt.value:.8g}, {1e3 * attempt.seconds:.1f} ms, "
                f"ours is {row.excess_over(attempt):+.1e} of it"
                + (f" ({attempt.variant})" if attempt.variant else "")
            )
    return row


def ours(name: str, problem: Problem) -> ModelRow:
    """`solve`, timed in full."""
    last: list[Solution] = []

    def once() -> float:
        seconds, found = timed(
            lambda: solve(problem.X, problem.y, k=problem.k, ridge=problem.ridge, loss=problem.loss)
        )
        last[:] = [found]
        return seconds

    seconds = best_of(once, most=REPEATS)
    found = last[0]
    assert problem.k is not None
    assert problem.ridge is not None
    return ModelRow(
        problem=name,
        shape=problem.shape,
        loss=problem.loss,
        k=problem.k,
        ridge=problem.ridge,
        seconds=seconds,
        value=found.upper,
        lower=found.lower,
        relaxed=found.relaxation.value,
        rel_gap=found.rel_gap,
        refitted=found.stats.models,
    )


class Referee:
    """Our objective, our refit and our certificate for anybody's model of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.program: Program = problem.program()
        self.relaxation: Relaxation = relax(self.program)

    @property
    def k(self) -> int:
        """The most nonzeros a model may have."""
        assert self.program.k is not None
        return self.program.k

    def judge(self, attempt: Attempt, coefs: Sequence[Any], fitted: bool) -> None:
        """Fills in what the best of these models is worth."""
        program = self.program
        supports = {tuple(np.flatnonzero(coef)) for coef in coefs}
        models = [refit(program, np.array(support, dtype=np.int64)) for support in supports]
        best = min(models, key=lambda model: model.value)
        attempt.value, attempt.nonzeros = best.value, len(best.support)
        if fitted:
            attempt.returned = min(program.objective(coef) for coef in coefs)
            attempt.value = min(attempt.value, attempt.returned)
        proof = certify(program, program.to_user(best.w, best.b)[0], relaxation=self.relaxation)
        attempt.rel_gap = program.relative(proof.gap, proof.upper)


def theirs(tool: ModelTool, problem: Problem, referee: Referee) -> list[Attempt]:
    """Every way to run one tool, or why there is none."""
    reason = tool.reason_to_skip(problem)
    if reason is not None:
        return [Attempt(tool.name, reason=reason)]
    attempts = []
    for variant in tool.variants:
        attempt = Attempt(tool.name, variant)
        attempts.append(attempt)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, found = tool.measure(problem, variant)
        except Exception as error:
            attempt.reason = f"failed: {type(error).__name__}: {error}"
            continue
        feasible = [coef for coef in found.coefs if 0 < np.count_nonzero(coef) <= referee.k]
        if feasible:
            attempt.seconds = seconds
            referee.judge(attempt, feasible, found.fitted)
        else:
            attempt.reason = "named no model with 1 to k features"
    return attempts


def main() -> None:
    """Run, print one table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="problems whose name holds NAME")
    parser.add_argument("--quick", action="store_true", help="a few small problems: half a minute")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    names = list(QUICK) if options.quick else list(MODEL_PROBLEMS)
    if options.only:
        names = [name for name in MODEL_PROBLEMS if any(part in name for part in options.only)]
        if not names:
            parser.error(f"no problem of that name; there are: {', '.join(MODEL_PROBLEMS)}")
    rows, missing = run(names, say=lambda text: print(text, flush=True))
    about, verdicts = machine.describe(model_report.PACKAGES), judge(rows)
    model_report.page(rows, verdicts, missing, about).show()
    complete = not (options.quick or options.only or options.no_save)
    if complete:  # part of the table never replaces all of it
        for path in model_report.save(rows, verdicts, missing, about):
            print(f"saved {path}")


if __name__ == "__main__":
    main()
