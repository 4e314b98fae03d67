"""sparsebounds demo: a real data set, a sparse model, and the proof of how good it is."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rich.text import Text

from sparsebounds.certificates import Certificate
from sparsebounds.cli._output import plain_table, say, spinner
from sparsebounds.cli._show import show_solution
from sparsebounds.program import Program
from sparsebounds.relaxation import relax
from sparsebounds.solving import solve_program

TOL = 1e-4


def demo() -> None:
    """Find the five best measurements of the breast cancer data, and prove how good they are.

    Then the proof is saved, loaded and checked against the data, and three relaxations of the
    paper's first experiment show what a bound costs. A few seconds in all.

    Example: sparsebounds demo
    """
    _breast_cancer()
    _first_experiment()
    solve = "sparsebounds solve data.csv --target y -k 5 --certificate c.json"
    verify = "sparsebounds verify c.json data.csv"
    say(Text.assemble("\nYour turn:  ", (solve, "bold"), "\nthen:       ", (verify, "bold")))


def _breast_cancer() -> None:
    """A model of 5 features among 30, its bounds, and its certificate through a file."""
    with spinner("Loading"):
        from sklearn.datasets import load_breast_cancer

        data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    program = Program(
        X,
        y,
        k=5,
        ridge=0.1,
        loss="logistic",
        fit_intercept=True,
        standardize=True,
        feature_names=data.feature_names,
    )
    with spinner("Solving") as callback:
        solution = solve_program(program, TOL, callback=callback)
    count = f"{program.n} tumours, {program.m} measurements"
    say(f"Breast cancer: {count}. Which {program.k} tell best?", style="bold")
    say(f"{program.describe()}\n", style="dim")
    show_solution(program, solution, TOL)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        solution.certificate.save(path)
        size, started = path.stat().st_size, time.perf_counter()
        verdict = Certificate.load(path).verify(X, y)
        spent = time.perf_counter() - started
    say(
        f"\nThe proof, saved ({size / 1000:.0f} kB), loaded and checked against the data in "
        f"{1e3 * spent:.0f} ms",
        style="bold",
    )
    say(verdict.message, style="green" if verdict.ok else "red")


def _first_experiment() -> None:
    """Three relaxations of the paper's first experiment: what a bound costs."""
    from sparsebounds.datasets import make_low_rank

    numbers, classes = make_low_rank(), make_low_rank(classes=True)
    rows = {
        "squared, l0 = 0.01": Program(numbers.X, numbers.y, l0=0.01, ridge=0.01),
        "squared, k = 10": Program(numbers.X, numbers.y, k=10, ridge=0.01),
        "logistic, k = 10": Program(classes.X, classes.y, k=10, ridge=0.01, loss="logistic"),
    }
    titles = ("relaxed value", "proved lower", "passes", "ms")
    table = plain_table("loss and form", *titles, text="loss and form")
    for name, program in rows.items():
        relaxed = relax(program)
        table.add_row(
            name,
            f"{relaxed.value:.8f}",
            f"{relaxed.lower:.8f}",
            f"{relaxed.stats.full_passes:.1f}",
            f"{1e3 * relaxed.stats.seconds:.1f}",
        )
    title = "What a bound costs: the paper's first experiment, 1000 x 100 of rank 10"
    say(f"\n{title}\n", style="bold")
    say(table)
