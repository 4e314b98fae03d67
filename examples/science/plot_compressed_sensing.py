"""
Compressed sensing, with a proof per signal
===========================================

How many measurements does a sparse signal need? The lasso needs many, the best subset far fewer.
And as every answer here is proved to be the best of its size, a failure is not the search's fault:
the measurements themselves prefer another signal.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import lars_path

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Signals of length 60 with k spikes, n measurements with a little noise. The lasso names the
# features that its path has after k steps.

m, draws = 60, 3
sizes, rows = np.arange(1, 8), np.arange(8, 41, 8)
found, proved, lasso = np.zeros((3, len(rows), len(sizes)))
rng = np.random.default_rng(0)
for (i, j), _ in np.ndenumerate(found):
    for _ in range(draws):
        n, k = rows[i], sizes[j]
        X = rng.normal(size=(n, m)) / np.sqrt(n)
        support = np.sort(rng.choice(m, k, replace=False))
        y = X[:, support] @ rng.choice([-1.0, 1.0], k) + 0.01 * rng.normal(size=n)
        solution = sb.solve(X, y, k=k, ridge=1e-3)
        found[i, j] += np.array_equal(solution.support, support) / draws
        proved[i, j] += (solution.status == "optimal") / draws
        coefs = lars_path(X, y, method="lasso", max_iter=k)[2][:, -1]
        lasso[i, j] += np.array_equal(np.flatnonzero(coefs), support) / draws
print(f"found {found.mean():.0%}, proved {proved.mean():.0%}, lasso {lasso.mean():.0%}")

# %%
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(8, 4.2))
for axes, share, name in zip(panels, (lasso, found), ("lasso", "best subset"), strict=True):
    axes.imshow(share, origin="lower", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(share):
        color = "k" if value > 0.5 else "w"
        axes.text(column, row, f"{value:.0%}", ha="center", va="center", color=color, size=9)
    axes.text(0, 1.02, f"{name}: {share.mean():.0%} right", transform=axes.transAxes)
    axes.set(xlabel="spikes in the signal")
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
panels[0].set_ylabel(f"measurements (of {m} numbers)")
panels[0].set_title(
    f"Fewer measurements do, and {proved.mean():.0%} of the answers are proved", pad=24
)
plt.show()
