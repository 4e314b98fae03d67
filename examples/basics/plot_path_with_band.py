"""
A path with its certified band
==============================

How many features are enough? A path has a model for every number of them, and a band in which the
best possible is proved to lie. Where the band is narrower than the step to the next model, the
curve is settled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# The diabetes data with squares and products: 442 patients, 65 columns.

table = load_diabetes(as_frame=True)
products = PolynomialFeatures(2, include_bias=False).set_output(transform="pandas")
X, y = products.fit_transform(table.data), table.target

# %%
# One call walks through all sizes; each point starts from the last, and has a certificate.

path = sb.path(X, y, ks=range(1, 21), ridge=0.02, fit_intercept=True, standardize=True)
print(path)
assert all(verdict.ok for verdict in path.verify(X, y))

# %%
# The least number of features whose model is proved to be within 10% of the best with up to 20.

enough = next(point.k for point in path if point.upper <= 1.1 * path.lower[-1])
ks = np.array(path.ks)
figure, axes = plt.subplots()
axes.fill_between(ks, path.lower, path.upper, color="C4", alpha=0.45, linewidth=0)
axes.plot(ks, path.upper, "o-", color="C0")
axes.plot(enough, path.at(enough).upper, "o", color="C1", markersize=13)
axes.annotate(
    f"{enough} features: within 10% of 20,\nwhichever 20 one takes",
    (enough, path.at(enough).upper),
    (enough, path.at(enough).upper + 130),
    color="C1",
    ha="center",
    arrowprops={"arrowstyle": "-", "color": "C1"},
)
axes.text(1.2, path.upper[0], "best models found", color="C0")
axes.text(1.0, path.lower[2] - 90, "the best possible\nis proved to lie\nin the band", va="top")
axes.set(xlabel="k, features allowed", ylabel="objective (lower is better)")
axes.set_xticks(range(1, 21))
axes.set_title(f"{enough} of {X.shape[1]} features are proved to be within 10% of any 20")
plt.show()
