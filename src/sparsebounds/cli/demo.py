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
    """Bounds on the best k of 10 features, on scikit-learn's diabetes data.

    The model keeps the k largest coefficients of a ridge fit and refits them. Every lower bound
    is weak duality at a simple dual vector, the gradient of the loss at some fit: the null
    model, the ridge fit on all features, and the k-feature model itself.
    """
    import numpy as np
    from sklearn.datasets import load_diabetes

    from sparsebounds.bounds import best_cover, bound_at, dual_point, objective_up
    from sparsebounds.certificates import Certificate, Leaf
    from sparsebounds.program import Program

    data = load_diabetes(as_frame=True)
    X, y = data.data, data.target / data.target.std()
    settings: dict[str, Any] = {"ridge": 0.1, "fit_intercept": True, "standardize": True}
    table = Table(title="Diabetes, 442 x 10, squared loss, ridge 0.1, intercept, standardized")
    for name in ("k", "at the null model", "at the ridge fit", "at the k-model"):
        table.add_column(name, justify="right")
    for name in ("best lower", "k-model", "gap"):
        table.add_column(name, justify="right", style="bold")

    for k in track(range(1, 11), "Bounding", console=console, transient=True):
        program = Program(X, y, k=k, **settings)
        Z, b = program.matrix.columns(np.arange(program.m)), program.null_intercept

        full = _ridge_fit(Z, program.y - b, np.arange(program.m))
        model = _ridge_fit(Z, program.y - b, np.argsort(-np.abs(full))[:k])
        points = [
            dual_point(program, program.F.gradient(Z @ w + b)) for w in (0.0 * full, full, model)
        ]
        cover, upper = best_cover(program, points), objective_up(program, model, b)
        table.add_row(
            str(k),
            *(f"{bound_at(program, point):.5f}" for point in points),
            f"{cover.lower:.5f}",
            f"{upper:.5f}",
            f"{(upper - cover.lower) / program.null:.2%}",
        )
        if k == 5:
            leaves = [Leaf(cover.nodes[0], 0)]
            proof = Certificate.build(program, [points[cover.points[0]].t], leaves, model, b)
    console.print(table)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        proof.save(path)
        verdict = Certificate.load(path).verify(X, y)
        console.print(f"A certificate for k = 5, saved ({path.stat().st_size} bytes), loaded and")
        console.print(f"checked against the data alone:\n[green]{verdict.message}[/]")
    if not verdict.ok:
        raise typer.Exit(1)


def _ridge_fit(Z: Any, residual: Any, support: Any) -> Any:
    """Coefficients of the ridge fit on a support of centred columns."""
    import numpy as np

    A, w = Z[:, support], np.zeros(Z.shape[1])
    normal = A.T @ A / len(A) + 0.1 * np.eye(A.shape[1])
    w[support] = np.linalg.solve(normal, A.T @ residual / len(A))
    return w
