"""
A signal whose signs were lost
==============================

Detectors measure sizes, not signs. The amplitude loss fits these sizes, finds a sparse signal up
to one sign for all of it, and needs no clever starting point.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 80 measurements of a signal of length 60 with four spikes; their signs are thrown away.

rng = np.random.default_rng(2)
X = rng.normal(size=(80, 60))
signal = np.zeros(60)
signal[[6, 19, 33, 48]] = [1.0, -2.0, 1.5, -0.8]
seen = np.abs(X @ signal) + 0.05 * rng.normal(size=80)
seen = np.abs(seen)

# %%
# Least squares on the sizes alone would be the naive way.

found = sb.solve(X, seen, k=4, ridge=1e-4, loss="amplitude")
naive = sb.solve(X, seen, k=4, ridge=1e-4)
coef = found.coef * np.sign(found.coef @ signal)
error = np.linalg.norm(coef - signal) / np.linalg.norm(signal)
print(f"spikes at {found.support}, relative error {error:.1%}")

# %%
figure, (above, below) = plt.subplots(2, sharex=True, sharey=True, figsize=(8, 5))
for axes, values, color in ((above, naive.coef, "C1"), (below, coef, "C0")):
    axes.axhline(0, color="C6", linewidth=0.8)
    axes.plot(
        np.flatnonzero(signal),
        signal[signal != 0],
        "o",
        color="black",
        markersize=13,
        fillstyle="none",
    )
    place = np.flatnonzero(values)
    axes.vlines(place, 0, values[place], color=color, linewidth=3)
    axes.plot(place, values[place], "o", color=color)
    axes.set(ylabel="signal", ylim=(-2.7, 2.3))
above.text(59, 1.5, "least squares on the sizes", color="C1", ha="right")
below.text(59, 1.5, "amplitude loss", color="C0", ha="right")
below.text(20.5, -2.2, "circles: the truth", va="center")
below.set_xlabel("place")
above.set_title(f"From sizes alone, the whole signal to within {error:.1%}")
plt.show()
