"""
Weights make a sample stand for a population
============================================

A survey has asked far too many of one group. Sample weights give every row the number of people
that it stands for. They change which features are chosen, and the certificate is about the
weighted problem.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# A tenth of the population are students, but half of the 600 answers are theirs. Students spend by
# `parties` and `rent`, all others by `children` and `income`.

rng = np.random.default_rng(0)
names = np.array(["parties", "rent", "children", "income", *(f"other {j}" for j in range(1, 27))])


def people(count, share):
    X = rng.normal(size=(count, len(names)))
    student = rng.random(count) < share
    spent = np.where(student, 2 * X[:, 0] + 2 * X[:, 1], 1.2 * X[:, 2] + 1.2 * X[:, 3])
    return X, spent + 0.5 * rng.normal(size=count), student


X, y, student = people(600, 0.5)
weights = np.where(student, 0.1 / student.mean(), 0.9 / (1 - student.mean()))

# %%
plain = sb.solve(X, y, k=2, ridge=0.01, fit_intercept=True)
weighted = sb.solve(X, y, k=2, ridge=0.01, fit_intercept=True, sample_weight=weights)
print("as asked:", names[plain.support], " weighted:", names[weighted.support], weighted.status)
assert weighted.certificate.verify(X, y, sample_weight=weights).ok

# %%
# How much of the spending does each leave unexplained among 100,000 others, drawn as the
# population is?

X_all, y_all, _ = people(100_000, 0.1)
left = {
    found: np.mean((y_all - X_all @ found.coef - found.intercept) ** 2) / y_all.var()
    for found in (plain, weighted)
}

# %%
figure, axes = plt.subplots()
for row, (found, color) in enumerate([(plain, "C1"), (weighted, "C0")]):
    axes.barh(row, 100 * left[found], color=color, height=0.55)
    axes.text(100 * left[found] + 1.5, row, f"{left[found]:.0%}", color=color, va="center", size=16)
axes.axvline(100, color="black", linewidth=1.2)
axes.text(101, 1, "no model at all", va="center")
words = [" and\n".join(names[found.support]) for found in left]
axes.set_yticks([0, 1], [f"as asked:\n{words[0]}", f"weighted:\n{words[1]}"])
axes.tick_params(axis="y", length=0)
axes.invert_yaxis()
axes.set(xlabel="variance left unexplained in the population, %", xlim=(0, 140))
axes.set_title("Weights choose the features that matter to the population")
plt.show()
