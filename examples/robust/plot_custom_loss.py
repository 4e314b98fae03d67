"""
A loss of your own
==================

A loss is a small class: its value, two derivatives, its conjugate. `check_loss` tests every
identity that the proofs rest on; then everything works, certificates included. Here expectiles:
squared errors that weigh more on one side, and show which feature moves the spread.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb
from sparsebounds.testing import check_loss

plt.style.use("sparsebounds.slides")

# %%
# With r = z - y the loss is (1 - level) r^2/2 where r > 0 and level r^2/2 elsewhere.


@dataclass(frozen=True)
class Expectile(sb.losses.Loss):
    level: float
    name: ClassVar[str] = "expectile"
    smoothness: ClassVar[float] = 1.0
    residual: ClassVar[bool] = True  # a function of z - y
    portable: ClassVar[bool] = False  # of NumPy arrays

    def curvature(self, y, z):
        return np.where(z > y, 1 - self.level, self.level)

    def value(self, y, z):
        return self.curvature(y, z) * (z - y) ** 2 / 2

    def gradient(self, y, z):
        return self.curvature(y, z) * (z - y)

    def conjugate(self, y, b):
        return b**2 / (2 * self.curvature(0, b)) + b * y

    def sublevel(self, y, excess):
        return y - np.sqrt(2 * excess / self.level), y + np.sqrt(2 * excess / (1 - self.level))

    value_terms = value  # what rounding is relative to

    def conjugate_terms(self, y, b):
        return b**2 / (2 * self.curvature(0, b)) + np.abs(b * y)


check_loss(Expectile(0.9), np.linspace(-2, 2, 20))

# %%
# Of 30 features one moves the response and another its spread alone.

rng = np.random.default_rng(0)
X = rng.uniform(size=(500, 30))
y = 2 * X[:, 0] + (0.1 + X[:, 1]) * rng.normal(size=500)
problem = {"k": 2, "ridge": 0.001, "fit_intercept": True}
fits = {level: sb.solve(X, y, loss=Expectile(level), **problem) for level in (0.03, 0.5, 0.97)}
assert all(f.certificate.verify(X, y, loss=Expectile(v)).ok for v, f in fits.items())

# %%
figure, axes = plt.subplots()
axes.plot(X[:, 1], y - 2 * X[:, 0], ".", color="C6", alpha=0.5)
for (level, found), color in zip(fits.items(), ("C0", "C2", "C1"), strict=True):
    line = found.intercept + found.coef[1] * np.array([0, 1]) + (found.coef[0] - 2) / 2
    axes.plot([0, 1], line, color=color, linewidth=3)
    axes.text(
        1.01, line[1], f"level {level:.0%}\nfeatures {found.support}", color=color, va="center"
    )
axes.set(xlabel="feature 1", ylabel="response less the effect of feature 0", xlim=(0, 1.2))
axes.set_xticks(np.linspace(0, 1, 6))
axes.set_title("The mean does not see feature 1; the outer expectiles do")
plt.show()
