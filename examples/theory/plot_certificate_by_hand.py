"""
Checking a certificate by hand
==============================

A certificate is a JSON file. Here it is checked with NumPy alone, from the page on the file format.
No solver is trusted: one product with the data and the sum of five numbers show that no model of
five features can be better.
"""

import base64
import json
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb
from sparsebounds.datasets import make_correlated

plt.style.use("sparsebounds.slides")

# %%
# Somebody sends a model of at most five of 300 features, and a proof that it is the best.

data = make_correlated(100, 300, 0.5, nonzeros=5, snr=10.0, random_state=0)
X, y, n = data.X, data.y, 100
sent = Path(mkdtemp()) / "certificate.json"
sb.solve(X, y, k=5, ridge=1.0).certificate.save(sent)

# %%
# From here on: no sparsebounds. The upper bound is the objective of the model in the file.

document = json.loads(sent.read_text())
k, ridge = document["problem"]["k"], document["problem"]["ridge"]
coef = np.zeros(X.shape[1])
coef[document["model"]["support"]] = document["model"]["coef"]
upper = np.mean((y - X @ coef) ** 2) / 2 + ridge * coef @ coef / 2

# %%
# The proof of the lower bound is one vector t, with a number per row. By Fenchel's inequality the
# objective of every model w is at least -F*(t) plus the sum of g_j w_j + ridge w_j^2/2 over its
# features, with g = X't/n. So a feature gains at most g_j^2/(2 ridge), and five features gain
# no more than the five largest gains.

(leaf,) = document["leaves"]
t = np.frombuffer(base64.b64decode(document["duals"][leaf["dual"]]))
conjugate = np.mean(t**2 / 2 + t * y)
gains = np.sort((X.T @ t / n) ** 2 / (2 * ridge))[::-1]
lower = -conjugate - gains[:k].sum()
print(
    f"by hand {lower:.6f} and {upper:.6f}, claimed {document['lower']:.6f}, {document['upper']:.6f}"
)
assert np.allclose([lower, upper], [document["lower"], document["upper"]], rtol=1e-9)

# %%
# (`verify` also bounds the rounding errors of these sums, so that its verdict is a proof.)

figure, axes = plt.subplots()
place = np.arange(1, 31)
axes.bar(place, gains[:30], color=np.where(place <= k, "C0", "C6"))
axes.text(
    k + 0.8, gains[2], f"five features gain at most\n{gains[:k].sum():.4f}", color="C0", va="center"
)
axes.text(11, gains[8], "all other features gain less", color="C6", va="center")
axes.text(
    30.5,
    gains[0],
    f"-F*(t):  {-conjugate:.4f}\nless the five gains:  {lower:.4f}\nmodel sent:  {upper:.4f}",
    ha="right",
    va="top",
)
axes.set(
    xlabel="features, by what they can gain (30 of 300)", ylabel="largest gain in the objective"
)
axes.set_title(f"The whole proof: no five features get below {lower:.4f}")
plt.show()
