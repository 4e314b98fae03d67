"""The README's picture: certified bounds against k on real data, and the gap against ridge."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

cancer = load_breast_cancer()
ks = range(1, 16)
solutions = [
    sb.solve(
        cancer.data,
        cancer.target,
        k=k,
        ridge=0.02,
        loss="logistic",
        fit_intercept=True,
        standardize=True,
    )
    for k in ks
]
upper, lower = [s.upper for s in solutions], [s.lower for s in solutions]

ridges = np.logspace(-3, 0, 13)
gaps = {}
for n, k in ((200, 10), (500, 5), (500, 10)):
    sample = make_correlated(n, 1000, 0.5, random_state=0)
    gaps[n, k] = [100 * sb.solve(sample.X, sample.y, k=k, ridge=r).rel_gap for r in ridges]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.7), layout="constrained")
left.fill_between(ks, lower, upper, color="#56B4E9", alpha=0.4, label="certified gap")
left.plot(ks, upper, "o-", color="black", label="model found")
left.plot(ks, lower, "s--", color="#0072B2", label="proved lower bound")
left.set(xlabel="k, features allowed", ylabel="objective", xticks=list(ks)[::2])
left.set_title("Breast cancer, 569 x 30, logistic, ridge 0.02", fontsize=10)
styles = {(200, 10): ("#D55E00", "^:"), (500, 5): ("#009E73", "s--"), (500, 10): ("#0072B2", "o-")}
for (n, k), values in gaps.items():
    color, style = styles[n, k]
    right.plot(ridges, values, style, color=color, label=f"n = {n}, k = {k}")
right.set(xscale="log", xlabel="ridge", ylabel="certified gap, %", ylim=(0, None))
right.set_title("Synthetic, 1000 features (10 true), SNR 5, squared", fontsize=10)
for axes in (left, right):
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_name("bounds.png"), dpi=130)
