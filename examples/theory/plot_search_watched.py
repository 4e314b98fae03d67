"""
Watching an exact search
========================

A callback sees every step of an exact search. As so often, the first model was the best one: all
that follows is the proof. Both bounds hold whenever one stops.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsebounds as sb
from sparsebounds.datasets import make_correlated
from sparsebounds.exact import SearchProgress

plt.style.use("sparsebounds.slides")

# %%
# 100 x 200 data with eight features that matter.

data = make_correlated(100, 200, 0.5, nonzeros=8, random_state=0)
seen = []


def watch(now):
    if isinstance(now, SearchProgress):
        seen.append((now.nodes, now.lower, now.upper, now.open))


found = sb.solve(data.X, data.y, k=8, ridge=0.03, exact=True, callback=watch)
print(f"{found.status} after {found.stats.nodes} nodes")
assert found.certificate.verify(data.X, data.y).ok

# %%
nodes, lower, upper, waiting = np.array(seen).T
half = np.argmax(upper - lower < (upper - lower)[0] / 2)
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(8, 5.2), height_ratios=(2, 1))
above.fill_between(nodes, lower, upper, color="C4", alpha=0.35, linewidth=0)
above.plot(nodes, upper, color="C1")
above.plot(nodes, lower, color="C0")
above.text(nodes[-1], upper[-1] * 1.01, "best model found", color="C1", ha="right")
above.text(0.45 * nodes[-1], lower[half] - 0.01, "proved lower bound", color="C0", va="top")
above.plot(nodes[half], lower[half], "o", color="C0")
above.text(
    nodes[half] + 15,
    lower[half] - 0.02,
    f"half of the gap\nafter {nodes[half]:.0f} nodes",
    va="top",
)
above.set(ylabel="objective")
below.fill_between(nodes, 0, waiting, color="C6", alpha=0.4, linewidth=0)
below.text(nodes[-1] / 2, 15, "nodes still open", ha="center")
below.set(xlabel="nodes of the search tree", ylabel="nodes")
above.set_title(f"The model was there at once; {found.stats.nodes} nodes prove that it is the best")
plt.show()
