"""sparsebounds demo: bounds on a real data set, without any solver yet."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import typer
from rich.progress import track
from rich.table import Table

from sparsebounds.cli._output import console


def demo() -> None:
    """Bounds for the best k of 10 features on scikit-learn's diabetes data.

    Every lower bound is weak duality at a simple dual vector: the gradient of the loss at the
    null model, at the ridge fit on all features, and at the best k-feature model, which on ten
    features can still be found by trying all of them.
    """
    import numpy as np
    from sklearn.datasets import load_diabetes

    from sparsebounds.bounds import best_cover, bound_at, dual_point
    from sparsebounds.certificates import Certificate, Leaf
    from sparsebounds.program import Program
    from sparsebounds.testing import brute_force

    data = load_diabetes(as_frame=True)
    X, y = data.data, data.target / data.target.std()
    settings: dict[str, Any] = {"ridge": 0.1, "fit_intercept": True, "standardize": True}
    table = Table(title="Diabetes, 442 x 10, squared loss, ridge 0.1, intercept, standardized")
    for name in ("k", "at the null model", "at the ridge fit", "at the best model"):
        table.add_column(name, justify="right")
    for name in ("best lower", "optimum", "gap"):
        table.add_column(name, justify="right", style="bold")

    for k in track(range(1, 11), "Bounding", console=console, transient=True):
        program = Program(X, y, k=k, **settings)
        columns = program.matrix.columns(np.arange(program.m))
        best, full = brute_force(program), brute_force(Program(X, y, k=program.m, **settings))
        models = ((0.0 * best.w, program.null_intercept), (full.w, full.b), (best.w, best.b))
        points = [dual_point(program, program.F.gradient(columns @ w + b)) for w, b in models]
        cover = best_cover(program, points)
        table.add_row(
            str(k),
            *(f"{bound_at(program, point):.5f}" for point in points),
            f"{cover.lower:.5f}",
            f"{best.value:.5f}",
            f"{(best.value - cover.lower) / program.null:.2%}",
        )
        if k == 5:
            leaves = [Leaf(cover.nodes[0], 0)]
            proof = Certificate.build(program, [points[cover.points[0]].t], leaves, best.w, best.b)
    console.print(table)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        proof.save(path)
        verdict = Certificate.load(path).verify(X, y)
        console.print(f"A certificate for k = 5, saved ({path.stat().st_size} bytes), loaded and")
        console.print(f"checked against the data alone:\n[green]{verdict.message}[/]")
    if not verdict.ok:
        raise typer.Exit(1)
