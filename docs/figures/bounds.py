"""The README's picture: certified bounds against k on the diabetes data."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import sparsebounds as sb
from sparsebounds.testing import brute_force

data = load_diabetes()
y = data.target / data.target.std()
settings = {"ridge": 0.1, "fit_intercept": True, "standardize": True}
full = brute_force(sb.Program(data.data, y, k=10, **settings))
ks, lower, optimum = np.arange(1, 11), [], []
for k in ks:
    program = sb.Program(data.data, y, k=int(k), **settings)
    best = brute_force(program)
    columns = program.matrix.columns(np.arange(program.m))
    duals = [program.F.gradient(columns @ m.w + m.b) for m in (full, best)]
    lower.append(max(sb.lower_bound(program, a) for a in duals))
    optimum.append(best.value)

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.fill_between(ks, lower, optimum, color="#56B4E9", alpha=0.35, label="certified gap")
axes.plot(ks, optimum, "o-", color="#000000", label="best model with k features")
axes.plot(ks, lower, "s--", color="#0072B2", label="proved lower bound, simple dual vectors")
axes.set(xlabel="k, features allowed", ylabel="objective", xticks=ks)
axes.set_title("Diabetes, 442 x 10: no model can be below the band", fontsize=11)
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_name("bounds.png"), dpi=150)
