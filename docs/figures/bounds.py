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
problem = {"ridge": 0.02, "loss": "logistic", "fit_intercept": True, "standardize": True}
plain, found = (
    [sb.solve(cancer.data, cancer.target, k=k, exact=exact, **problem) for k in ks]
    for exact in (False, "auto")
)
upper = [s.upper for s in found]

ridges = np.logspace(-3, 0, 13)
designs = ((200, 1000, 10), (500, 1000, 5), (500, 1000, 10), (2000, 100, 5))
gaps = {}
for n, m, k in designs:
    sample = make_correlated(n, m, 0.5, random_state=0)
    gaps[n, m, k] = [100 * sb.solve(sample.X, sample.y, k=k, ridge=r).rel_gap for r in ridges]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.7), layout="constrained")
left.plot(ks, upper, "o-", color="black", label="model found")
left.plot(ks, [s.lower for s in found], "x", color="#D55E00", label="proved lower bound")
left.plot(ks, [s.lower for s in plain], "s--", color="#0072B2", label="the same without a search")
left.fill_between(ks, [s.lower for s in plain], upper, color="#56B4E9", alpha=0.4)
left.set(xlabel="k, features allowed", ylabel="objective", xticks=list(ks)[::2])
left.set_title("Breast cancer, 569 x 30, logistic, ridge 0.02", fontsize=10)
styles = (("#D55E00", "^:"), ("#009E73", "s--"), ("#0072B2", "o-"), ("black", "x-."))
for (n, m, k), (color, style) in zip(designs, styles, strict=True):
    right.plot(ridges, gaps[n, m, k], style, color=color, label=f"{n} x {m}, k = {k}")
right.set(xscale="log", xlabel="ridge", ylabel="certified gap, % of the objective", ylim=(0, None))
right.set_title("Synthetic, 10 features true, SNR 5, squared, by default", fontsize=10)
for axes in (left, right):
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_name("bounds.png"), dpi=130)
