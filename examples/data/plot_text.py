"""
A dozen words
=============

Texts make wide, sparse tables: a column per word. `SparseClassifier` reads them as they are, and
says which dozen words sort the letters, with a proof that no other dozen does it better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# 2000 letters to a shop, made of common words that say nothing, a few words that go with a
# complaint, and a few that go with praise.

rng = np.random.default_rng(0)
syllables = ["ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so", "tu"]
common = np.array(["".join(rng.choice(syllables, 3)) for _ in range(6000)])
zipf = 1 / np.arange(1, 6001)
complaint = ["refund", "broken", "late", "angry", "wrong", "missing", "complain", "damaged"]
praise = ["thanks", "great", "lovely", "quick", "perfect", "happy", "recommend", "again"]


def letter(words):
    told = rng.choice(words, rng.integers(1, 4))
    return " ".join([*rng.choice(common, 40, p=zipf / zipf.sum()), *told])


angry = rng.random(2000) < 0.5
letters = [letter(complaint if one else praise) for one in angry]

# %%
# The table has thousands of columns and stays sparse.

table = TfidfVectorizer(sublinear_tf=True)
X = table.fit_transform(letters)
X_train, X_test, y_train, y_test = train_test_split(X, angry, random_state=0)
model = sb.SparseClassifier(k=12, standardize=False, ridge=0.002).fit(X_train, y_train)
accuracy = model.score(X_test, y_test)
print(f"{X.shape[1]} words, {X.nnz / X.shape[0]:.0f} per letter; {model.status_}")

# %%
chosen = np.flatnonzero(model.coef_)
chosen = chosen[np.argsort(model.coef_.ravel()[chosen])]
words, sizes = table.get_feature_names_out()[chosen], model.coef_.ravel()[chosen]
figure, axes = plt.subplots(figsize=(8, 5))
axes.axvline(0, color="C6", linewidth=0.8)
axes.barh(range(len(chosen)), sizes, color=np.where(sizes > 0, "C1", "C0"), height=0.7)
for row, (word, size) in enumerate(zip(words, sizes, strict=True)):
    axes.text(-0.15 * np.sign(size), row, word, ha="right" if size > 0 else "left", va="center")
axes.text(sizes.max(), 1, "complaint", color="C1", ha="right", weight="bold", size=14)
axes.text(sizes.min(), 10, "praise", color="C0", weight="bold", size=14)
axes.set(xlabel="coefficient (log odds)", yticks=[])
axes.spines["left"].set_visible(False)
axes.set_title(f"12 of {X.shape[1]} words sort {accuracy:.0%} of new letters")
plt.show()
