"""The paper's experiments: what `sparsebounds reproduce` runs, one experiment per file."""

from __future__ import annotations

from sparsebounds.experiments.base import Experiment, Tick
from sparsebounds.experiments.experiment_1 import DualityGap
from sparsebounds.experiments.experiment_2 import NumericalRank
from sparsebounds.experiments.experiment_3 import LeukemiaRank
from sparsebounds.experiments.experiment_4 import SmallRidge
from sparsebounds.experiments.running import Done, check_folder, interruptible, reproduce
from sparsebounds.experiments.style import require_matplotlib as require_matplotlib

EXPERIMENTS: dict[str, type[Experiment]] = {
    kind.number: kind for kind in (DualityGap, NumericalRank, LeukemiaRank, SmallRidge)
}
"""By the paper's numbers; 4 is the remark after its Theorem 2.1."""

__all__ = [
    "EXPERIMENTS",
    "Done",
    "DualityGap",
    "Experiment",
    "LeukemiaRank",
    "NumericalRank",
    "SmallRidge",
    "Tick",
    "check_folder",
    "interruptible",
    "reproduce",
]
