"""
Numerical rank
==============

Noise makes every matrix one of full rank, and bounds that rest on the rank say nothing. The paper
solves on the best matrix of rank r and pays for what it leaves out. `rank_bounds` solves there too,
which is cheap, but proves on the data themselves: nothing is paid.
"""

import matplotlib.pyplot as plt

import sparsebounds as sb
from sparsebounds.datasets import make_bell_spectrum

plt.style.use("sparsebounds.slides")

# %%
# 1000 x 100 data of full rank, of which ten directions carry the most.

data = make_bell_spectrum(scale=10.0)
program = sb.Program(data.X, data.y, l0=0.01, ball=30.0)
bounds = sb.rank_bounds(program, ranks=[*range(1, 10), *range(10, 101, 5)])
print(bounds)
assert bounds.certificate.verify(data.X, data.y).ok

# %%
table = bounds.columns()
figure, axes = plt.subplots()
axes.fill_between(table["rank"], table["lower"], table["upper"], color="C4", alpha=0.4, linewidth=0)
axes.plot(table["rank"], table["upper"], color="C0")
axes.plot(table["rank"], table["lower"], color="C0")
axes.plot(table["rank"], table["stated_lower"], "--", color="C1")
axes.text(40, 1.02, "models found", color="C0")
axes.text(11, 0.92, "the optimum is proved to lie here", va="center")
axes.text(26, 0.6, "the paper's lower bound", color="C1")
axes.set(xlabel="rank r of the approximation", ylabel="objective", ylim=(0, 1.15), xlim=(1, 100))
ten = list(table["rank"]).index(10)
gain = table["lower"][ten] - table["stated_lower"][ten]
axes.set_title(f"Solve at rank 10, prove on all of X: the bound rises by {gain:.2f}")
plt.show()
