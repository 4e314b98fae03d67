"""
Shapley and Folkman's lemma in one picture
==========================================

Add up many sets that are not convex, and the sum looks convex: all but as many sets as there are
dimensions take one of their own points. That is why a sparse problem with many features and few
dimensions is nearly convex, and why its relaxation is nearly exact.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# The mean of N copies of three points in the plane.

corners = np.array([[0.0, 0.0], [1.0, 0.25], [0.3, 1.0]])


def mean_of(copies):
    sums = np.zeros((1, 2))
    for _ in range(copies):
        sums = np.unique((sums[:, None] + corners).reshape(-1, 2).round(9), axis=0)
    return sums / copies


# %%
# The same in a sparse program of two dimensions. The relaxation of k = 4 shares its budget among
# columns that say the same; `primalize` keeps the predictions and leaves at most two weights
# between 0 and 1, as many as there are dimensions.

rng = np.random.default_rng(3)
distinct = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 10))
X = np.tile(distinct, (1, 6))
y = distinct[:, :3] @ rng.normal(size=3) + rng.normal(size=80)
program = sb.Program(X, y, k=4, ridge=0.1)
relaxed = sb.relax(program)
primal = sb.primalize(program, relaxed)
shared = np.sum((relaxed.u > 1e-9) & (relaxed.u < 1 - 1e-9))
print(primal)

# %%
figure, panels = plt.subplots(1, 4, figsize=(8, 3.3), width_ratios=(1, 1, 1, 1.3))
for axes, copies in zip(panels, (1, 3, 12), strict=False):
    axes.fill(*corners.T, color="C4", alpha=0.35, linewidth=0)
    axes.plot(*mean_of(copies).T, "o", color="C0", markersize=8 / copies**0.5)
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.set_xlabel(f"mean of {copies} cop{'y' if copies == 1 else 'ies'}")
    axes.spines[:].set_visible(False)
weights = panels[3]
weights.plot(np.sort(relaxed.u)[::-1][:20], "s", color="C1", markersize=5)
weights.plot(np.sort(primal.u)[::-1][:20], "o", color="C0", markersize=5)
weights.text(19, 0.85, f"{shared} shared", color="C1", ha="right")
weights.text(19, 0.7, f"{primal.n_fractional} are enough", color="C0", ha="right")
weights.set(xlabel="weights, sorted", xticks=[], yticks=[0, 1])
words = "Sums of many sets are nearly convex; so are sparse programs"
figure.suptitle(words, x=0.01, ha="left", size=13, weight="bold")
plt.show()
