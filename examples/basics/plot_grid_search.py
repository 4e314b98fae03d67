"""
Pipelines and grid search
=========================

The estimators keep scikit-learn's manners: they stand in a pipeline behind an imputer, and a grid
search chooses k and the ridge. What the search returns has a certificate like any other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# The diabetes data with a tenth of the entries missing, and products of the columns.

X, y = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
X[rng.random(X.shape) < 0.1] = np.nan
pipeline = make_pipeline(
    SimpleImputer(),
    PolynomialFeatures(2, interaction_only=True, include_bias=False),
    sb.SparseRegressor(exact=False),  # nobody looks at the proofs of the folds
)

# %%
grid = {
    "sparseregressor__k": [1, 2, 4, 8, 12, 16],
    "sparseregressor__ridge": [0.01, 0.03, 0.1, 0.3],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)

# %%
# The winner once more, now with a proof.

best = search.best_estimator_.set_params(sparseregressor__exact="auto").fit(X, y)
model = best[-1]
print(model.summary())
assert model.certificate_.verify(best[:-1].transform(X), y).ok

# %%
ks, ridges = grid.values()
scores = search.cv_results_["mean_test_score"].reshape(len(ks), len(ridges)).T
top = ks.index(model.k), ridges.index(model.ridge)
figure, axes = plt.subplots()
image = axes.imshow(scores, aspect="auto", origin="lower")
for (row, column), score in np.ndenumerate(scores):
    dark = score < (scores.min() + scores.max()) / 2
    axes.text(column, row, f"{score:.2f}", ha="center", va="center", color="w" if dark else "k")
axes.add_patch(plt.Rectangle((top[0] - 0.5, top[1] - 0.5), 1, 1, fill=False, edgecolor="C1", lw=4))
axes.set_xticks(range(len(ks)), ks)
axes.set_yticks(range(len(ridges)), ridges)
axes.set(xlabel="k, features allowed", ylabel="ridge")
axes.spines[:].set_visible(False)
axes.tick_params(length=0)
proof = "proved optimal" if model.status_ == "optimal" else f"within {model.gap_:.1%} of the best"
axes.set_title(f"R² of three folds: {model.k} features, ridge {model.ridge}, {proof}")
plt.show()
