"""
Equations from data, without a commercial solver
================================================

Which differential equation made this trajectory? Write down many candidate terms and choose the
best few for each derivative: sparse identification of dynamics (SINDy), here with the best subset
and a proof in place of a heuristic threshold or a licensed solver.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import cumulative_trapezoid, solve_ivp
from sklearn.preprocessing import PolynomialFeatures

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# Lorenz's butterfly, measured with noise.

times, start = np.arange(0, 20, 0.005), [-8.0, 7.0, 27.0]


def lorenz(t, s):
    return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]


truth = solve_ivp(lorenz, (0, 20), start, t_eval=times, rtol=1e-9, atol=1e-9).y.T
rng = np.random.default_rng(0)
measured = truth + 0.05 * rng.normal(size=truth.shape)

# %%
# 19 terms of degree up to 3. Differences amplify noise, so we compare integrals: what a variable
# gains in 20 steps is the integral of its derivative.

library = PolynomialFeatures(3, include_bias=False).fit(measured)
names = library.get_feature_names_out(["x", "y", "z"])
integrals = cumulative_trapezoid(library.transform(measured), times, axis=0, initial=0)
gains, columns = (table[20::5] - table[:-20:5] for table in (measured, integrals))

# %%
# A path shows where more terms stop helping: the first size close to the proved bound of six.

lines, coefs = [], np.zeros((3, len(names)))
for i, name in enumerate("xyz"):
    path = sb.path(columns, gains[:, i], ks=range(1, 7), ridge=1e-8, standardize=True, exact="auto")
    point = next(point for point in path if point.upper < 1.1 * path.lower[-1])
    coefs[i, point.support] = point.values
    terms = zip(point.values, names[point.support], strict=True)
    lines.append(f"{name}' = " + " ".join(f"{value:+.2f} {term}" for value, term in terms))
    print(f"{lines[-1]}   ({point.status})")

# %%
# The equations found, run from the same start.

run = solve_ivp(lambda t, s: coefs @ library.transform(s[None])[0], (0, 20), start, max_step=0.01)
figure, axes = plt.subplots(figsize=(8, 5))
axes.plot(*measured[::3, [0, 2]].T, ".", color="C6", markersize=2)
axes.plot(run.y[0], run.y[2], color="C0", linewidth=1)
axes.text(0, 48, "\n".join(lines), color="C0", ha="center", va="bottom", family="monospace")
axes.text(-19, 10, "grey: measured\nblue: the equations found", va="top")
axes.set(xlabel="x", ylabel="z", ylim=(2, 58))
axes.set_title("Lorenz's equations, found among 19 terms and proved the best")
plt.show()
