"""
A quarter of the rows are wrong
===============================

Somebody typed 30 of 120 responses in wrongly. Least squares must follow them; Tukey's loss lets a
row that fits nothing cost a bounded amount, and finds the right features and the right
coefficients. Its certificate says how much better any other model could be.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 40 columns, of which three matter; a quarter of the responses is off by 20.

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 40))
planted, truth = [3, 17, 31], np.array([2.0, -2.0, 1.5])
y = X[:, planted] @ truth + 0.2 * rng.normal(size=120)
y[:30] += 20.0

# %%
# The scale c of the loss is in the units of y, 4.685 times the noise of the good rows;
# `noise_scale` estimates it from the data as they are.

problem = {"k": 3, "ridge": 0.01, "fit_intercept": True}
sigma = sb.noise_scale(X, y, **problem)
squared = sb.solve(X, y, **problem)
robust = sb.solve(X, y, **problem, loss=sb.losses.Tukey(c=4.685 * sigma))
print(f"noise {sigma:.2f}; least squares {squared.support}, Tukey {robust.support}")
print(robust.message)

# %%
figure, axes = plt.subplots()
axes.axhline(0, color="C6", linewidth=0.8)
for j, size in zip(planted, truth, strict=True):
    axes.plot([j - 0.9, j + 0.9], [size, size], color="black", linewidth=2)
for found, color, mark in ((squared, "C1", "s"), (robust, "C0", "o")):
    for j in found.support:
        axes.plot([j, j], [0, found.coef[j]], color=color, linewidth=3)
        axes.plot(j, found.coef[j], mark, color=color, markersize=9)
axes.text(planted[0] + 1.3, truth[0], "truth", va="center")
axes.text(planted[1] + 1, -1.2, "Tukey's loss: the three planted", color="C0")
stray = squared.support[np.argmax(np.abs(squared.coef[squared.support]))]
axes.text(stray + 1, squared.coef[stray], "least squares", color="C1", va="center")
axes.set(xlabel="feature", ylabel="coefficient", xlim=(-1, 42))
right = len({*planted} & {*squared.support.tolist()})
axes.set_title(f"With a quarter of wrong rows: 3 of 3 features right, least squares {right}")
plt.show()
