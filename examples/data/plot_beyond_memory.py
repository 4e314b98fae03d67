"""
GPUs, files and clusters
========================

The solver asks for products with the data and for a few columns, so the data stay where they are: a
tensor on a GPU, a file, a Dask array on a cluster. The call is the same, and so is the proof. The
picture is drawn from stored measurements.
"""

import json
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb

plt.style.use("sparsebounds.slides")

# %%
# On any machine: chunks that are made, or read, when they are needed.

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 400)).astype(np.float32)
y = X[:, [3, 50, 300]].sum(axis=1) + rng.normal(size=2000)
spread = sb.solve(da.from_array(X, chunks=(500, 400)), y, k=3, ridge=0.1)
memory = sb.solve(X, y, k=3, ridge=0.1)
print(spread.support, spread.status, spread.certificate.verify(X, y).ok)
print(f"bounds of both differ by {abs(spread.lower - memory.lower):.1e}")

# %%
# On a GPU X is `torch.as_tensor(X, device="cuda")`, and in a file `sb.open_matrix("X.npy")`. How
# long does it take from the data to a model of 20 features with its certificate?

results = Path("../../benchmarks/results")  # from the folder of this script


def stored(name):
    return json.loads((results / f"{name}.json").read_text())


gpu = next(row for row in stored("gpu")["rows"] if row["problem"] == "squared, k")
file = next(row for row in stored("out-of-core-npy") if row["what"].startswith("solve: squared"))
chunks = float(stored("cluster-columns")["seconds"].split(",")[0])
runs = {
    "a GPU (NVIDIA H200)\n10,000 x 1,000,000 in its memory": gpu["solve"],
    "a file of 8.6 GB, read in blocks\n20,000 x 107,374, 1 GiB held": file["seconds"],
    "Dask, two cores, chunks made as needed\n131,072 x 131,072 = 69 GB, 3 GiB held": chunks,
}

# %%
figure, axes = plt.subplots()
for row, (name, seconds) in enumerate(runs.items()):
    color = f"C{(0, 2, 1)[row]}"
    axes.barh(row, seconds, color=color, height=0.32)
    axes.text(seconds + 1, row, f"{seconds:.1f} s", color=color, va="center", size=15)
    axes.text(0.4, row - 0.22, name, va="bottom")
axes.set(xlim=(0, 95), yticks=[], ylim=(2.5, -0.8))
axes.set_xlabel("seconds from the data to a model and its certificate")
axes.spines["left"].set_visible(False)
axes.set_title(f"Ten thousand million numbers, certified in {gpu['solve']:.1f} seconds")
plt.show()
