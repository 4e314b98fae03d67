"""
What a proof costs
==================

The larger the ridge, the narrower the gap that can be proved, and the more the coefficients are
shrunk. How much prediction does a closed gap cost? Without a search it takes a large ridge, which
costs a good deal. With the search that `solve` makes by default it is nearly free.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

plt.style.use("sparsebounds.slides")

# %%
# More features than rows, which is where proofs are hard: 150 x 200, 6 features matter.

train = make_correlated(1150, 200, 0.5, nonzeros=6, snr=3.0, random_state=3)
X, y = train.X[:150], train.y[:150]
X_new, y_new = train.X[150:], train.y[150:]

# %%
# `exact=False` asks for the proof that costs no search.

ridges = np.geomspace(0.01, 1.0, 7)
plain = [sb.solve(X, y, k=6, ridge=ridge, exact=False) for ridge in ridges]
searched = [sb.solve(X, y, k=6, ridge=ridge) for ridge in ridges]
errors = np.array([np.mean((y_new - X_new @ found.coef) ** 2) for found in searched])
explained = 1 - errors / np.var(y_new)

# %%
first, without = (
    next(i for i, found in enumerate(models) if found.status == "optimal")
    for models in (searched, plain)
)
cost, more = (100 * (explained.max() - explained[i]) for i in (first, without))
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(8, 5.4))
above.plot(ridges, [100 * found.rel_gap for found in plain], "s--", color="C6")
above.plot(ridges, [100 * found.rel_gap for found in searched], "o-", color="C0")
above.text(ridges[2], 100 * plain[2].rel_gap + 4, " without a search", color="C6")
above.text(ridges[1], 5, "after a short search", color="C0")
above.set(ylabel="certified gap, %", ylim=(-4, 104))
below.plot(ridges, 100 * explained, "o-", color="C2")
below.text(ridges[0], 100 * explained[0] - 4, "on 1000 new rows", color="C2", va="top")
below.set(xscale="log", xlabel="ridge", ylabel="variance explained, %", ylim=(0, 100))
for axes in (above, below):
    axes.axvspan(ridges[first], ridges[-1], color="C4", alpha=0.15, linewidth=0)
    axes.axvline(ridges[without], color="C6", linewidth=1)
above.text(ridges[first], 90, " proved with a search", color="C0")
above.text(ridges[without], 90, " and without", color="C6")
above.set_title(f"A proof costs {more:.0f} points of variance; with a short search, {cost:.2f}")
plt.show()
