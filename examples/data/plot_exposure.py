"""
Offsets: what was exposed for how long
======================================

A policy that ran for a year has more claims than one that ran for a month. An offset says so: the
logarithm of the time enters the model with coefficient 1 and takes no place among the k. Without
it, columns that stand for time get in, and risk factors stay out.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Claims of 3000 policies. Four columns change the risk per year; three grow with the time insured.

rng = np.random.default_rng(0)
n = 3000
years = rng.uniform(0.05, 3.0, n)
risks = ["young driver", "city", "sports car", "garage"]
clocks = ["payments made", "contract age", "letters sent"]
names = np.array([*risks, *clocks, *(f"other {j}" for j in range(1, 24))])
X = rng.normal(size=(n, len(names)))
X[:, 4:7] = years[:, None] + 0.9 * rng.normal(size=(n, 3))
y = rng.poisson(years * np.exp(-1.5 + X[:, :4] @ [0.5, 0.4, 0.25, -0.2])).astype(float)

# %%
problem = {"k": 4, "ridge": 0.01, "loss": "poisson", "fit_intercept": True, "standardize": True}
with_time = sb.solve(X, y, offset=np.log(years), feature_names=names, **problem)
without = sb.solve(X, y, feature_names=names, **problem)
print("with the offset:", names[with_time.support], with_time.status)
print("without:", names[without.support], without.status)

# %%
shown = names[:7]
figure, axes = plt.subplots()
axes.axhline(0, color="C6", linewidth=0.8)
axes.axvspan(3.5, 6.5, color="C1", alpha=0.1, linewidth=0)
for shift, found, color, mark in ((-0.12, without, "C1", "s"), (0.12, with_time, "C0", "o")):
    scaled = found.coef[:7] * X[:, :7].std(axis=0)
    for place, size in enumerate(scaled):
        axes.plot([place + shift] * 2, [0, size], color=color, linewidth=3)
        fill = color if size else "white"
        axes.plot(place + shift, size, mark, color=color, markerfacecolor=fill, markersize=8)
axes.set_xticks(range(7), [name.replace(" ", "\n") for name in shown])
axes.set_ylim(None, 0.7)
axes.set_ylabel("effect of one standard deviation\non the log rate")
axes.text(5, 0.62, "they only tell the time", ha="center", color="C1")
axes.text(1.1, 0.62, "without the offset (squares)", color="C1")
axes.text(1.1, 0.55, "with it (dots); open: not in", color="C0")
wrong = sum(name in clocks for name in names[without.support])
axes.set_title(f"Without exposure {wrong} of 4 places go to clocks; with it, none")
plt.show()
