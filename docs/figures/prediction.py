"""The picture of results/prediction: columns read against the score, relative to the best."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
rows = json.loads((HERE.parents[1] / "benchmarks/results/prediction.json").read_text())["rows"]
looks = {
    "ours": ("o", "#0072b2"),
    "l1": ("s", "#d55e00"),
    "l2": ("^", "#777777"),
    "abess": ("D", "#009e73"),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 5.5), sharey=True, layout="constrained")
for at, row in enumerate(rows):
    best = max(mean(fits["score"]) for fits in row["fits"].values())
    for name, fits in row["fits"].items():
        mark, colour = looks[name]
        label = name if at == 0 else None
        axes[0].plot(best - mean(fits["score"]), at, mark, color=colour, label=label)
        axes[1].plot(max(mean(fits["columns"]), 0.5), at, mark, color=colour)
axes[0].set(xlabel="mean score below the best (R2, or log loss)", yticks=range(len(rows)))
axes[0].set_xscale("symlog", linthresh=0.01)
axes[0].set_yticklabels([row["problem"] for row in rows])
axes[0].invert_yaxis()
axes[0].legend(loc="lower right")
axes[1].set(xlabel="columns read", xscale="log")
for one in axes:
    one.grid(alpha=0.3)
figure.savefig(HERE / "prediction.png", dpi=110)
