"""
Which genes can replace each other?
===================================

Genes of one pathway rise and fall together, so the best model is one of a family. `near_optimal`
lists all members, and proves that there are no others: the pathways are what the data speak of,
not the genes.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Three pathways of five genes each, and 45 genes that have nothing to do with it. The response
# depends on the activity of pathways A and B, and on one gene of C.

rng = np.random.default_rng(5)
n = 200
activity = rng.normal(size=(n, 3))
pathways = np.repeat(activity, 5, axis=1) + 0.35 * rng.normal(size=(n, 15))
X = np.hstack([pathways, rng.normal(size=(n, 45))])
names = np.array(
    [f"{p}{i}" for p in "ABC" for i in range(1, 6)] + [f"other {i}" for i in range(45)]
)
y = activity[:, 0] - 0.8 * activity[:, 1] + 1.2 * X[:, 12] + 0.5 * rng.normal(size=n)

# %%
# All models of three genes that are near the best: the distance is at most 5% of the objective
# without genes.

program = sb.Program(X, y, k=3, ridge=0.01, fit_intercept=True, feature_names=names)
near = sb.near_optimal(program, eps=0.05)
print(near.message)
assert near.complete
used = np.flatnonzero(near.frequency)
print("genes in some of them:", *names[used])

# %%
# One column per model, best first; one line per gene.

shown = np.arange(15)
figure, axes = plt.subplots(figsize=(8, 5))
for pathway in range(3):
    if pathway % 2 == 0:
        axes.axhspan(5 * pathway - 0.5, 5 * pathway + 4.5, color="C6", alpha=0.1, linewidth=0)
for column, support in enumerate(near.supports, start=1):
    for gene in support:
        axes.plot(column, gene, "s", color=f"C{(0, 2, 1)[gene // 5]}", markersize=9)
axes.set_yticks(shown, names[shown])
axes.invert_yaxis()
axes.tick_params(axis="y", length=0)
axes.spines["left"].set_visible(False)
last = len(near) + 1
for pathway, words in enumerate(("any of A will do", "any of B will do", "C3 it must be")):
    count = len([gene for gene in used if gene // 5 == pathway])
    color = f"C{(0, 2, 1)[pathway]}"
    axes.text(last, 5 * pathway + 2, f"{words}\n({count} of 5 used)", color=color, va="center")
axes.set(xlabel=f"all {len(near)} models near the best, best first", xlim=(0, 1.35 * last))
axes.set_xticks([1, *range(5, last, 5)])
axes.set_title(f"{len(near)} models are nearly as good as the best, and proved: no others")
plt.show()
