"""
Choosing curves
===============

What if the response bends? Give every variable a spline, make the columns of each spline one
group, and choose groups. The result is an additive model of a few curves, and a proof that no
other few curves fit better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import SplineTransformer

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Twelve variables; three of them act, each by a curve of its own.

rng = np.random.default_rng(1)
Z = rng.uniform(-2, 2, size=(300, 12))
curves = {1: lambda z: np.sin(2 * z), 4: lambda z: z**2 / 2, 9: lambda z: np.tanh(4 * z)}
y = sum(curve(Z[:, j]) for j, curve in curves.items()) + 0.4 * rng.normal(size=300)

# %%
# Six basis functions per variable make 72 columns in 12 groups.

spline = SplineTransformer(n_knots=5, degree=3, include_bias=False).fit(Z)
X = spline.transform(Z)
labels = np.repeat([f"variable {j}" for j in range(12)], X.shape[1] // 12)
found = sb.solve(X, y, k=3, ridge=0.001, fit_intercept=True, groups=labels)
straight = sb.solve(Z, y, k=3, ridge=0.001, fit_intercept=True)
print(f"{found.group_support}: {found.status}; of straight lines {straight.support}")

# %%
# A curve is the sum of its basis functions.

grid = np.linspace(-2, 2, 200)
basis = spline.transform(np.tile(grid[:, None], 12))
figure, panels = plt.subplots(1, 3, sharey=True, figsize=(8, 4))
for axes, (j, curve) in zip(panels, curves.items(), strict=True):
    own = labels == f"variable {j}"
    fitted, truth = basis[:, own] @ found.coef[own], curve(grid)
    partial = y - found.intercept - X[:, ~own] @ found.coef[~own]
    level = fitted.mean()
    axes.plot(Z[:, j], partial - level, ".", color="C6", alpha=0.35, markersize=4)
    axes.plot(grid, truth - truth.mean(), "--", color="black", linewidth=1.5)
    axes.plot(grid, fitted - level, color="C0", linewidth=3)
    axes.set_xlabel(f"variable {j}")
panels[0].set_ylabel("effect on the response")
panels[0].text(-1.9, 2.05, "fitted", color="C0", weight="bold")
panels[0].text(-0.6, 2.05, "true (dashed)")
proof = (
    "proved the best" if found.status == "optimal" else f"within {found.rel_gap:.1%} of the best"
)
figure.suptitle(f"Three curves of twelve, {proof}", weight="bold", x=0.01, ha="left", size=13)
plt.show()
