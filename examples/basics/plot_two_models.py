"""
Two models, equally good
========================

The best sparse model is often one of many. `near_optimal` lists every model that is nearly as
good, and proves that none is missing. Here two of them have no measurement in common, and say the
same about nearly every patient: neither is "the" explanation.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Breast cancer: 569 tumours, 30 measurements, models of three.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
program = sb.Program(X, y, k=3, ridge=0.02, loss="logistic", fit_intercept=True, standardize=True)
near = sb.near_optimal(program, eps=0.05)
print(near.message)

# %%
# The first pair, from the best on, that shares no measurement.

first, second = next(
    (i, j)
    for i, j in combinations(range(len(near)), 2)
    if not {*near.supports[i]} & {*near.supports[j]}
)
chance = [expit(X.to_numpy() @ near.coef[i] + near.intercepts[i]) for i in (first, second)]
names = [", ".join(X.columns[list(near.supports[i])]) for i in (first, second)]
agree = np.mean((chance[0] > 0.5) == (chance[1] > 0.5))
accuracy = [np.mean((p > 0.5) == y) for p in chance]
for name, share, i in zip(names, accuracy, (first, second), strict=True):
    print(f"{name}: {share:.1%} right, objective {near.values[i]:.4f}")

# %%
benign = y == 1
figure, axes = plt.subplots(figsize=(8, 5.6))
axes.axvline(0.5, color="C6", linewidth=0.8)
axes.axhline(0.5, color="C6", linewidth=0.8)
axes.plot(chance[0][~benign], chance[1][~benign], "s", color="C1", alpha=0.6, markersize=5)
axes.plot(chance[0][benign], chance[1][benign], "o", color="C0", alpha=0.5, markersize=5)
axes.text(0.0, 0.9, "malignant", color="C1", weight="bold")
axes.text(0.88, 0.42, "benign", color="C0", weight="bold")
axes.set_xlabel(f"chance of benign by\n{names[0]}")
axes.set_ylabel(f"chance of benign by\n{names[1]}")
axes.set_aspect("equal")
axes.set_title(f"No measurement in common, the same verdict for {agree:.0%}")
plt.show()
