"""The picture in docs/paths.md: models of all sizes on the diabetes data."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_diabetes

import sparsebounds as sb

X, y = load_diabetes(return_X_y=True, as_frame=True)
path = sb.path(X, y, ks=range(1, 11), ridge=0.02, fit_intercept=True, standardize=True)
axes = path.plot()
axes[0].figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
