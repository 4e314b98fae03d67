"""
Categories as groups
====================

A category becomes one column per value. Chosen one by one, a few of these columns get in and the
rest do not: "clinic C or not" is nobody's question. With `groups` a category is in the model with
all its values or not at all, and k counts categories.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 400 patients. Clinic and drug matter; day, ward and shift do not.

rng = np.random.default_rng(4)
n = 400
kinds = {"clinic": 6, "drug": 4, "day": 7, "ward": 5, "shift": 3}
table = pd.DataFrame({name: rng.integers(0, size, n) for name, size in kinds.items()})
clinic, drug = np.array([-1, -0.6, 0, 0.1, 0.5, 1]), np.array([-0.3, -0.1, 0.1, 0.3])
y = clinic[table.clinic] + drug[table.drug] + 0.8 * rng.normal(size=n)
letters = table.map(lambda value: "ABCDEFG"[value])
X = pd.get_dummies(letters, prefix_sep=" ").astype(float)
groups = {name: [c for c in X if c.startswith(name)] for name in kinds}

# %%
# Two categories, and for comparison as many single values as these have.

problem = {"ridge": 0.002, "fit_intercept": True}
whole = sb.solve(X, y, k=2, groups=groups, **problem)
values = sb.solve(X, y, k=len(whole.support), **problem)
print(whole.group_support, whole.status)
assert whole.certificate.verify(X, y).ok

# %%
figure, both = plt.subplots(1, 2, sharey=True, figsize=(8, 5.4))
colors = dict(zip(kinds, ("C0", "C1", "C6", "C6", "C6"), strict=True))
places = np.arange(len(X.columns)) + np.repeat(np.arange(5), list(kinds.values()))
for axes, found in zip(both, (values, whole), strict=True):
    axes.axvline(0, color="C6", linewidth=0.8)
    for place, name, coef in zip(places, X.columns, found.coef, strict=True):
        color = colors[name.split()[0]]
        if coef:
            axes.plot([0, coef], [place, place], color=color)
        axes.plot(coef, place, "o", color=color, markerfacecolor=color if coef else "white")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("coefficient (open: not in the model)")
both[0].set_yticks([places[X.columns.str.startswith(name)].mean() for name in kinds], kinds)
both[0].invert_yaxis()
strays = sum(name.split()[0] not in whole.group_support for name in X.columns[values.support])
both[0].set_title(f"{len(values.support)} values: {strays} stray")
both[1].set_title(f"{len(whole.group_support)} categories, proved")
plt.show()
