"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u), one penalty per file.

`L0Ridge` prices each feature of the support, `KRidge` allows k of them; relaxations, nodes, refits
and primalization all use these two. The functions of `norms` are what the two are made of, under
the names the literature gives them.
"""

from sparsebounds.penalties.base import Pattern, Penalty, Slopes
from sparsebounds.penalties.groups import SINGLE, Groups
from sparsebounds.penalties.k_ridge import KRidge
from sparsebounds.penalties.l0_ridge import L0Ridge
from sparsebounds.penalties.multipliers import best_eta, budget_eta
from sparsebounds.penalties.norms import (
    k_support_dual_norm,
    k_support_norm,
    perspective,
    reverse_huber,
)
from sparsebounds.penalties.selection import level_set, slope

__all__ = [
    "SINGLE",
    "Groups",
    "KRidge",
    "L0Ridge",
    "Pattern",
    "Penalty",
    "Slopes",
    "best_eta",
    "budget_eta",
    "k_support_dual_norm",
    "k_support_norm",
    "level_set",
    "perspective",
    "reverse_huber",
    "slope",
]
