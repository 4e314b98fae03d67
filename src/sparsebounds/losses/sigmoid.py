"""Sigmoid loss: 1/(1 + exp(t)), t = yz, y = -1 or +1: a smooth count of errors.

Concave for t < 0 and convex for t > 0: the envelope is a line from the lower end of the box to a
tangent point above 0, found by bisection, and then the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebounds.losses.base import Loss
from sparsebounds.losses.cores import CoreLoss
from sparsebounds.losses.logistic import Logistic
from sparsebounds.losses.squared_hinge import SquaredHinge


def _share(t: Any) -> Any:
    """1/(1 + exp(t)), to full relative accuracy in both tails."""
    return np.exp(-np.logaddexp(0.0 * t, t))


@dataclass(frozen=True)
class Sigmoid(CoreLoss):
    """Bounded by 1; no outlier costs more."""

    name: ClassVar[str] = "sigmoid"
    two_class: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.0963
    """1/(6 sqrt(3)), rounded up."""

    def surrogates(self) -> list[Loss]:
        return [Logistic(), SquaredHinge()]

    @property
    def height(self) -> float:
        return 1.0

    def value(self, y: Any, z: Any) -> Any:
        return _share(y * z)

    def gradient(self, y: Any, z: Any) -> Any:
        return -y * _share(y * z) * _share(-y * z)

    def second(self, y: Any, z: Any) -> Any:
        up, down = _share(y * z), _share(-y * z)
        return up * down * (down - up)

    def cores(self, y: Any) -> list[tuple[Any, Any]]:
        far = np.full_like(y, np.inf)
        return [(np.where(y > 0, 0.0, -far), np.where(y > 0, far, 0.0))]

    def sublevel(self, y: Any, excess: Any) -> tuple[Any, Any]:
        # 1/(1 + exp(t)) <= v is t >= log(1/v - 1).
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(excess < 1.0, np.log1p(-excess) - np.log(excess), -np.inf)
        reach = reach - 1e-12 * (1.0 + np.abs(reach))
        reach = np.where(np.isnan(reach), -np.inf, reach)
        far = np.full_like(y, np.inf)
        return np.where(y > 0, reach, -far), np.where(y > 0, far, -reach)

    def beyond(self, y: Any, z: Any, side: int) -> Any:
        return np.where(side * y > 0, 0.0, self.value(y, z))

    def value_terms(self, y: Any, z: Any) -> Any:
        # exp passes the rounding of its argument on.
        return self.value(y, z) * (1.0 + np.abs(z))
