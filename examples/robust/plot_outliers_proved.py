"""
Outliers, proved
================

For four decades robust statistics has named the same four days of Brownlee's stack loss data
outliers. With the truncated loss that is a theorem: of all models and all choices of rows, every
best one leaves out these four days and no other.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 21 days of a plant that oxidises ammonia: air flow, cooling water, acid; and ten times the
# percentage of ammonia lost (Brownlee, Statistical Theory and Methodology, 1965, p. 454).

table = """
80 27 89 42   80 27 88 37   75 25 90 37   62 24 87 28   62 22 87 18   62 23 87 18   62 24 93 19
62 24 93 20   58 23 87 15   58 18 80 14   58 18 89 14   58 17 88 13   58 18 82 11   58 19 93 12
50 18 89 8    50 18 86 7    50 19 72 8    50 19 79 8    50 20 80 9    56 20 82 15   70 20 91 15
"""
plant = np.array(table.split(), dtype=float).reshape(21, 4)
X, y = plant[:, :3], plant[:, 3]
X = (X - X.mean(axis=0)) / X.std(axis=0)

# %%
# A row costs its squared residual, but no more than c squared. The search decides about rows.

c, problem = 3.5, {"k": 3, "ridge": 0.02, "fit_intercept": True}
found = sb.solve(X, y, loss=sb.losses.Truncated(c=c), exact=True, **problem)
print(found.status, "-", found.outliers)
assert found.certificate.verify(X, y).ok

residual = y - X @ found.coef - found.intercept
least = sb.solve(X, y, **problem)
masked = y - X @ least.coef - least.intercept

# %%
day = np.arange(1, 22)
out = found.outliers.proved_out
figure, axes = plt.subplots()
axes.axhspan(-c, c, color="C4", alpha=0.2, linewidth=0)
axes.axhline(0, color="C6", linewidth=0.8)
axes.plot(day, masked, "x", color="C6", markersize=6)
axes.plot(day, residual, "o", color="C0")
axes.plot(day[out], residual[out], "o", color="C1", markersize=11)
for row in out:
    above = np.sign(residual[row])
    axes.text(
        day[row],
        residual[row] + 0.8 * above,
        f"day {day[row]}",
        color="C1",
        ha="center",
        va="center",
    )
axes.text(21.4, -c + 0.2, f"within c = {c}", ha="right", color="C0")
axes.text(9, -6.4, "crosses: least squares", color="C6")
axes.set(xlabel="day", ylabel="residual", xticks=day[::2], ylim=(-10.5, 10))
axes.set_title(f"Days {', '.join(map(str, day[out]))} are outliers of every best model: proved")
plt.show()
