"""
Instead of stepwise selection
=============================

Forward selection adds the best feature, one at a time, and never looks back. Among correlated
columns its first choice can be a mixture of the right ones, which it keeps for ever. `solve`
finds the best subset of each size, and proves that it is the best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Three features make the response. A fourth, `blend`, is nearly their sum: alone it is
# the best of all, and beside them it is useless. The other 26 are noise.

rng = np.random.default_rng(0)
n, ridge = 200, 0.01
X = rng.normal(size=(n, 30))
X[:, 3] = X[:, :3].sum(axis=1) + 0.7 * rng.normal(size=n)
y = X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=n)
labels = np.array(["a", "b", "c", "blend", *(f"noise {j}" for j in range(1, 27))])

# %%
# Stepwise selection and the best subset, for one to five features. Both are judged by the same
# objective, the mean loss plus the ridge.

sizes = range(1, 6)
stepwise, best, bound, names = [], [], [], []
for k in sizes:
    program = sb.Program(X, y, k=k, ridge=ridge)
    steps = SequentialFeatureSelector(
        Ridge(ridge * n, fit_intercept=False), n_features_to_select=k, cv=3
    )
    support = steps.fit(X, y).get_support()
    coef = np.zeros(X.shape[1])
    coef[support] = Ridge(ridge * n, fit_intercept=False).fit(X[:, support], y).coef_
    stepwise.append(program.objective(coef))

    found = sb.solve(X, y, k=k, ridge=ridge)
    best.append(found.upper)
    bound.append(found.lower)
    names.append(labels[found.support])
    print(f"{k} features: stepwise {stepwise[-1]:.4f}, best {best[-1]:.4f}, {found.status}")

# %%
worse = stepwise[2] / best[2]
figure, axes = plt.subplots()
axes.plot(sizes, stepwise, "s--", color="C1")
axes.plot(sizes, best, "o-", color="C0")
axes.plot(sizes, bound, "_", color="black", markersize=18, markeredgewidth=1.5)
axes.text(3.08, stepwise[2], "stepwise began with the blend, and keeps it", color="C1")
axes.text(
    3, best[2] - 0.007, f"best subset: {', '.join(names[2])}", color="C0", va="top", ha="center"
)
axes.annotate(
    "no model of this size\nis below the bar",
    (1.0, bound[0]),
    (1.0, bound[0] - 0.1),
    va="top",
    arrowprops={"arrowstyle": "-", "color": "C6"},
)
axes.set(xlabel="features in the model", ylabel="objective (lower is better)", xticks=list(sizes))
axes.set_ylim(0, None)
axes.set_title(f"With three features stepwise is {worse:.1f} times as far from the data")
plt.show()
