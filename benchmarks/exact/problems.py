"""The programs to be solved to proved optimality: fixed designs and seeds, fixed before measuring.

bars      three seeds of every design: 500 x 1000 with autoregressive columns (ridge 0.05, l0 = 0.1
          l0_max) and the paper's first experiment (rank 10; ridge 0.01, l0 = 0.01 l0_max); k = 10
the 40    22 autoregressive designs of three sizes, SNR 1 to 10, both forms and losses (ridge 0.05,
          l0 = 0.1 l0_max), and three data sets with k = 3 to 8, standardized

A name is FAMILY/SEED; a bar takes the geometric mean over the seeds of a family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.common import problems
from benchmarks.common.problems import Problem, experiment_1, real

SEEDS = (0, 1, 2)
K = 10
DATA, SIZES = ("leukemia", "riboflavin", "diabetes64"), (3, 4, 5, 6, 7, 8)
DESIGNS = {
    (100, 50): ((0.5, 10.0), (0.9, 1.0)),
    (200, 300): ((0.3, 5.0), (0.8, 2.0)),
    (500, 1000): ((0.5, 10.0), (0.9, 3.0)),
}
"""(correlation, SNR) of the designs of each size; 10 true features, 5 of the smallest."""


def correlated(
    n: int, m: int, correlation: float, snr: float, loss: str, k: int | None, seed: int
) -> Problem:
    """Autoregressive columns."""
    true = K if m > 100 else K // 2
    return problems.correlated(
        n, m, correlation=correlation, nonzeros=true, snr=snr, loss=loss, k=k, seed=seed
    )


def _bars() -> dict[str, Callable[[], Problem]]:
    families: dict[str, Callable[..., Problem]] = {
        "500x1000-ar0.5-l0": partial(correlated, 500, 1000, 0.5, 5.0, "squared", None),
        "500x1000-ar0.9-l0": partial(correlated, 500, 1000, 0.9, 5.0, "squared", None),
        "exp1-l0": partial(experiment_1, "squared", None),
        "exp1-logistic-l0": partial(experiment_1, "logistic", None),
        "500x1000-ar0.5-k": partial(correlated, 500, 1000, 0.5, 5.0, "squared", K),
        "exp1-k": partial(experiment_1, "squared", K),
        "500x1000-logistic-l0": partial(correlated, 500, 1000, 0.5, 5.0, "logistic", None),
    }
    return {
        f"{name}/{seed}": partial(make, seed=seed)
        for name, make in families.items()
        for seed in SEEDS
    }


def _forty() -> dict[str, Callable[[], Problem]]:
    found: dict[str, Callable[[], Problem]] = {}
    for (n, m), settings in DESIGNS.items():
        for number, (correlation, snr) in enumerate(settings):
            for loss in ("squared", "logistic"):
                if (m, number, loss) == (1000, 1, "logistic"):
                    continue  # for 40 in all
                for k in (None, K if m > 100 else K // 2):
                    form = "l0" if k is None else f"k{k}"
                    name = f"40-{n}x{m}-ar{correlation}-snr{snr:g}-{loss}-{form}"
                    seed = 10 + number  # no design of the bars again
                    found[name] = partial(correlated, n, m, correlation, snr, loss, k, seed)
    for name in DATA:
        for k in SIZES:
            found[f"40-{name}-k{k}"] = partial(real, name, k)
    return found


BAR_PROBLEMS, FORTY = _bars(), _forty()
PROBLEMS = BAR_PROBLEMS | FORTY

QUICK = (
    "exp1-l0/2",
    "exp1-logistic-l0/0",
    "exp1-k/1",
    "500x1000-ar0.5-l0/1",
    "40-100x50-ar0.5-snr10-squared-k5",
    "40-diabetes64-k4",
)
"""What --quick runs."""
