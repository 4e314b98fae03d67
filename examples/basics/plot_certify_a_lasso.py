"""
Is my lasso any good?
=====================

A lasso has chosen features. Could others of the same number have done better, and by how much?
`certify` takes the coefficients of any tool and answers with a proof.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso, Ridge

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

plt.style.use("sparsebounds.slides")

# %%
# 300 rows, 80 correlated columns, of which eight matter.

data = make_correlated(300, 80, 0.7, nonzeros=8, snr=5.0, random_state=1)
X, y, ridge = data.X, data.y, 0.01
n = len(y)

# %%
# The lasso with eight features, as it is; its features fitted again without the shrinkage; and
# the best model. Each gets a certificate for the same problem.

penalty = max(a for a in np.geomspace(1, 0.01, 200) if (Lasso(a).fit(X, y).coef_ != 0).sum() >= 8)
lasso = Lasso(penalty, fit_intercept=False).fit(X, y)
k = int((lasso.coef_ != 0).sum())
program = sb.Program(X, y, k=k, ridge=ridge)

refit = np.zeros(X.shape[1])
kept = lasso.coef_ != 0
refit[kept] = Ridge(ridge * n, fit_intercept=False).fit(X[:, kept], y).coef_
best = sb.solve(X, y, k=k, ridge=ridge)

models = {
    f"lasso, {k} features": sb.certify(program, lasso.coef_),
    "the same features, refitted": sb.certify(program, refit),
    f"best {k} features": best.certificate,
}
for name, certificate in models.items():
    print(f"{name}: {certificate.upper:.3f}, and no model is below {certificate.lower:.3f}")

# %%
# How much of each objective is due to the choice of features, or to shrinkage?

lower = max(certificate.lower for certificate in models.values())
figure, axes = plt.subplots()
for row, (name, certificate) in enumerate(models.items()):
    color = f"C{(1, 2, 0)[row]}"
    axes.plot([lower, certificate.upper], [row, row], color=color, linewidth=7, alpha=0.35)
    axes.plot(certificate.upper, row, "o", color=color, markersize=13)
    over = certificate.upper / lower - 1
    words = "proved optimal" if over < 1e-3 else f"{over:.0%} above the best possible"
    axes.text(lower + 0.06, row - 0.25, f"{name}: {words}", color=color)
axes.axvline(lower, color="black", linewidth=1.2)
axes.text(lower + 0.06, 2.62, "proved: no model is to the left of this line", va="center")
axes.set(xlabel="objective (lower is better)", xlim=(0, None), yticks=[], ylim=(2.85, -0.6))
axes.spines["left"].set_visible(False)
over = models["the same features, refitted"].upper / lower - 1
axes.set_title(f"Even refitted, the lasso's features cost {over:.0%} more than the best {k}")
plt.show()
