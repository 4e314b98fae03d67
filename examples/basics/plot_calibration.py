"""
Chances one can believe
=======================

A sparse logistic model gives probabilities. On new rows they are what they say: of the rows with a
predicted chance of 70%, about 70% are positive. Naive Bayes on all columns is far too sure of
itself, as it takes correlated columns for independent evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.naive_bayes import GaussianNB

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

plt.style.use("sparsebounds.slides")

# %%
# 40 correlated columns, of which six matter; 1000 rows to fit, 20,000 to look at.

data = make_correlated(21_000, 40, 0.8, nonzeros=6, snr=2.0, classes=True, random_state=0)
X, y, X_new, y_new = data.X[:1000], data.y[:1000], data.X[1000:], data.y[1000:]

# %%
# Six of 40 columns, proved to be the best six.

sparse = sb.SparseClassifier(k=6).fit(X, y)
bayes = GaussianNB().fit(X, y)
print(f"features {np.flatnonzero(sparse.coef_)}, {sparse.status_}")

# %%
figure, axes = plt.subplots(figsize=(8, 5.2))
axes.plot([0, 1], [0, 1], color="C6", linewidth=1)
off = {}
for model, color, mark in ((bayes, "C1", "s--"), (sparse, "C0", "o-")):
    chance = model.predict_proba(X_new)[:, 1]
    observed, said = calibration_curve(y_new, chance, n_bins=10, pos_label=1.0)
    axes.plot(said, observed, mark, color=color)
    off[model] = np.abs(observed - said).mean()
axes.text(
    0.62,
    0.75,
    f"sparse logistic, 6 features\noff by {100 * off[sparse]:.0f} points",
    color="C0",
    ha="right",
)
axes.text(0.66, 0.36, f"naive Bayes, 40 features\noff by {100 * off[bayes]:.0f} points", color="C1")
axes.text(0.2, 0.12, "grey line: as it should be", color="C6")
axes.set(xlabel="predicted chance", ylabel="share of positive rows among 20,000 new ones")
axes.set_title("Six features, and a chance of 70% means 70%")
plt.show()
