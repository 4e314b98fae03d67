"""The picture in docs/exact.md: all good models with at most 4 features on real data."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer

import sparsebounds as sb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
program = sb.Program(X, y, k=4, ridge=0.02, loss="logistic", fit_intercept=True, standardize=True)
axes = sb.near_optimal(program, eps=0.01).plot()
axes.figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
