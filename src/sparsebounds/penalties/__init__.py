"""h(w) = min over u in [0, 1]^m of sum_i ridge_i/2 w_i^2/u_i + cost(u), one penalty a file.

`L0Ridge` prices each feature of the support, `KRidge` allows k of them.
"""

from sparsebounds.penalties.base import Jacobian, Penalty, ProxPoint
from sparsebounds.penalties.k_ridge import KRidge
from sparsebounds.penalties.l0_ridge import L0Ridge

__all__ = ["Jacobian", "KRidge", "L0Ridge", "Penalty", "ProxPoint"]
