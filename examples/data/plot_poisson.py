"""
Counts
======

Counts grow in proportion and are never negative. The Poisson loss knows both; least squares on the
same columns follows the few large counts, and predicts less than nothing for many rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 500 rows, 60 columns. Four of them multiply the rate.

rng = np.random.default_rng(2)
X = rng.normal(size=(500, 60))
planted = [5, 21, 33, 50]
rate = np.exp(0.5 + X[:, planted] @ [0.7, -0.7, 0.5, -0.5])
y = rng.poisson(rate).astype(float)

# %%
problem = {"k": 4, "ridge": 0.01, "fit_intercept": True}
counts = sb.solve(X, y, loss="poisson", **problem)
squared = sb.solve(X, y, **problem)
for name, found in (("poisson", counts), ("squared", squared)):
    print(f"{name}: features {found.support}, {found.status}")

expected = np.exp(X @ counts.coef + counts.intercept)
line = X @ squared.coef + squared.intercept
negative = np.mean(line < 0)

# %%
figure, both = plt.subplots(1, 2, sharex=True, sharey=True)
for axes, predicted, color in ((both[0], line, "C1"), (both[1], expected, "C0")):
    axes.plot([0, 20], [0, 20], color="C6", linewidth=1)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.plot(rate, predicted, "o", color=color, alpha=0.45, markersize=4)
    axes.set(xlabel="true rate", xlim=(0, 16), ylim=(-5, 16))
both[0].axhspan(-5, 0, color="C1", alpha=0.12, linewidth=0)
both[0].text(15.5, -4.3, f"below 0: {negative:.0%} of the rows", color="C1", ha="right")
both[1].text(15.5, 2.0, "grey line: right", color="C6", ha="right")
both[0].set(ylabel="predicted count")
both[0].set_title("Least squares: impossible counts")
both[1].set_title(f"Poisson: the rate, {'proved' if counts.status == 'optimal' else 'bounded'}")
plt.show()
