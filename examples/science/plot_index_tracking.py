"""
Tracking an index with ten shares
=================================

A fund wants to follow an index of 60 shares by holding ten, none of them short. That is sparse
regression with positive weights: which ten, and how much worse than the best ten are they at most?
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Two years of daily returns, made of a market, six sectors and each share's own news, in percent.

rng = np.random.default_rng(1)
days, shares = 500, 60
sector = rng.integers(0, 6, shares)
beta = rng.uniform(0.6, 1.4, shares)
returns = 0.03 + beta * rng.normal(0, 0.9, (days, 1))
returns += rng.normal(0, 0.6, (days, 6))[:, sector] + rng.normal(0, 0.8, (days, shares))
capital = rng.pareto(1.2, shares) + 0.2
index = returns @ (capital / capital.sum())

# %%
# Choose by the first year, with a proof; look at the second. The obvious rival holds the largest.

known, later = slice(0, 250), slice(250, 500)
ten = sb.solve(returns[known], index[known], k=10, ridge=0.02, positive=True)
print(f"ten shares: {ten.support}. {ten.message}")
held = range(1, 26)
path = sb.path(returns[known], index[known], ks=held, ridge=0.02, positive=True)


def error(weights):
    """How far the fund's return of a year is from the index, in percent of capital."""
    return np.std(returns[later] @ weights - index[later]) * np.sqrt(250)


chosen = [error(weights) for weights in path.coefs]
largest = []
for k in held:
    weights = np.where(np.argsort(np.argsort(-capital)) < k, capital, 0)
    largest.append(error(weights / weights.sum()))
match = next(k for k in held if largest[k - 1] <= error(ten.coef))

# %%
figure, axes = plt.subplots()
axes.plot(held, largest, "s--", color="C1", markersize=5)
axes.plot(held, chosen, "o-", color="C0", markersize=5)
axes.plot([10, match], [error(ten.coef)] * 2, color="black", linewidth=1.2)
axes.plot(10, error(ten.coef), "o", color="C0", markersize=12)
axes.text(6, largest[5] + 0.2, "the largest shares, by capital", color="C1")
axes.text(9.6, error(ten.coef) - 0.25, "the best ten", color="C0", ha="right", va="top")
axes.set(xlabel="shares held", ylabel="tracking error in the year after, %", ylim=(0, 8))
axes.set_xlim(1, 25)
axes.set_title(f"Ten shares, well chosen, follow the index like the {match} largest")
plt.show()
