"""
The paper's first experiment in ten lines
=========================================

On data of low rank the convex relaxation is nearly exact: a point with a few features more than
k is as good. Askari, d'Aspremont and El Ghaoui prove that k + r + 2 features are enough, r the
rank. A sharper count is k + r - 1, and on their own data fewer still will do.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb
from sparsebounds.datasets import make_low_rank

plt.style.use("sparsebounds.slides")

# %%
# 1000 x 100 data of rank 10 with two classes, logistic loss, ridge 0.01.

data, rank = make_low_rank(classes=True), 10
ks, extra = np.arange(1, 61), []
for k in ks:
    program = sb.Program(data.X, data.y, k=int(k), ridge=0.01, loss="logistic")
    relaxed = sb.relax(program)
    point = sb.primalize(program, relaxed, draws=1)
    assert point.value <= relaxed.value + 1e-9  # as good as the relaxation of k features
    extra.append(point.n_nonzero - k)

# %%
# What was promised, and what was needed.

extra = np.array(extra)
print(f"at most {extra.max()} more than k, {extra.mean():.1f} in the mean")
figure, axes = plt.subplots()
axes.axhline(rank + 2, color="C1", linestyle="--")
axes.axhline(rank - 1, color="C2")
axes.bar(ks, extra, color="C0", width=0.8)
axes.text(1, rank + 2.2, "the paper: r + 2", color="C1")
axes.text(1, rank - 0.8, "sharpened: r - 1, which cannot be improved in general", color="C2")
axes.text(30, extra.max() + 0.4, "needed on these data", color="C0")
axes.set(xlabel="k, features of the relaxation", ylabel="features beyond k", ylim=(0, 13.5))
axes.set_title(f"{extra.max()} features more than k make up for all that is not convex")
plt.show()
