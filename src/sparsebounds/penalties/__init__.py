"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u), one penalty a file.

`L0Ridge` prices each feature of the support, `KRidge` allows k of them. The functions of `norms`
are what the two are made of, by the names they have elsewhere.
"""

from sparsebounds.penalties.base import Jacobian, Penalty, ProxPoint
from sparsebounds.penalties.k_ridge import KRidge
from sparsebounds.penalties.l0_ridge import L0Ridge
from sparsebounds.penalties.norms import (
    k_support_dual_norm,
    k_support_norm,
    perspective,
    reverse_huber,
)

__all__ = [
    "Jacobian",
    "KRidge",
    "L0Ridge",
    "Penalty",
    "ProxPoint",
    "k_support_dual_norm",
    "k_support_norm",
    "perspective",
    "reverse_huber",
]
