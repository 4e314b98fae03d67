"""Sparse regression with wrong rows: planted outliers, a real table, and phase retrieval.

Run it from anywhere: python examples/robust_regression.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes

import sparsebounds as sb


def planted_outliers() -> None:
    """A third of the responses are wrong; 4 of 80 features matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 80))
    truth = [5, 20, 33, 71]
    y = X[:, truth] @ [2.0, -1.5, 1.0, -2.0] + 0.3 * rng.normal(size=150)
    y[rng.choice(150, size=50, replace=False)] += 25.0
    for loss in ("squared", sb.losses.Tukey(c=4.685 * 0.3)):
        found = sb.solve(X, y, k=4, ridge=0.01, loss=loss, fit_intercept=True)
        name = loss if isinstance(loss, str) else loss.name
        print(f"{name}: features {found.support.tolist()} (planted {truth})")
        print(f"  objective {found.upper:.4f}, no model is below {found.lower:.4f}")
        print(f"  certificate verified: {found.certificate.verify(X, y).ok}")


def real_table() -> None:
    """The diabetes table, as it is and with 30 responses typed in wrongly."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    rng = np.random.default_rng(1)
    spoiled = y.copy()
    spoiled[rng.choice(len(y), size=30, replace=False)] *= 10.0
    for loss in ("squared", sb.losses.Tukey(c=4.685 * 55.0)):
        name = loss if isinstance(loss, str) else loss.name
        clean, wrong = (
            sb.SparseRegressor(k=3, loss=loss).fit(X, response) for response in (y, spoiled)
        )
        error = np.median(np.abs(wrong.predict(X) - y))
        print(
            f"{name}: {np.flatnonzero(clean.coef_).tolist()} on clean data, "
            f"{np.flatnonzero(wrong.coef_).tolist()} on spoiled data; "
            f"median error of the latter on clean responses {error:.1f}"
        )


def phases() -> None:
    """A sparse signal from the sizes of its measurements, whose signs were lost."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 40))
    signal = np.zeros(40)
    signal[[4, 11, 30]] = [1.0, -2.0, 1.5]
    found = sb.solve(X, np.abs(X @ signal), k=3, ridge=1e-4, loss="amplitude")
    sign = np.sign(found.coef[4])
    print(f"phase retrieval: {(sign * found.coef[found.support]).round(3)} at {found.support}")


if __name__ == "__main__":
    planted_outliers()
    real_table()
    phases()
