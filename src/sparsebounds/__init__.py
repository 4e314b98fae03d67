"""Sparse programs with a proved lower bound.

    min F(Xw; y)   with at most k nonzeros in w, or a price l0 for each,   and a ridge or a ball,

after Askari, d'Aspremont and El Ghaoui, "Approximation Bounds for Sparse Programs" (2022).

Importing the package loads nothing else: each public name is fetched from its module when it is
first used (PEP 562), so that verifying a certificate never loads a solver. A new public name
is one line in `_HOME` and one below `TYPE_CHECKING`, where type checkers read it. Examples take
`import numpy as np` and `import sparsebounds as sb` for granted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparsebounds._version import __version__ as __version__

if TYPE_CHECKING:
    from sparsebounds import bounds as bounds
    from sparsebounds import certificates as certificates
    from sparsebounds import datasets as datasets
    from sparsebounds import losses as losses
    from sparsebounds import matrices as matrices
    from sparsebounds import penalties as penalties
    from sparsebounds import primalization as primalization
    from sparsebounds import relaxation as relaxation
    from sparsebounds import testing as testing
    from sparsebounds.bounds import lower_bound as lower_bound
    from sparsebounds.bounds import screen as screen
    from sparsebounds.certificates import Certificate as Certificate
    from sparsebounds.estimators import SparseClassifier as SparseClassifier
    from sparsebounds.estimators import SparseClassifierCV as SparseClassifierCV
    from sparsebounds.estimators import SparseRegressor as SparseRegressor
    from sparsebounds.estimators import SparseRegressorCV as SparseRegressorCV
    from sparsebounds.estimators import SparseSelector as SparseSelector
    from sparsebounds.estimators import groups_of as groups_of
    from sparsebounds.exact import NearOptimal as NearOptimal
    from sparsebounds.exact import near_optimal as near_optimal
    from sparsebounds.matrices import open_matrix as open_matrix
    from sparsebounds.matrices import progress as progress
    from sparsebounds.paths import Path as Path
    from sparsebounds.paths import path as path
    from sparsebounds.primalization import GapBounds as GapBounds
    from sparsebounds.primalization import Primalization as Primalization
    from sparsebounds.primalization import gap_bounds as gap_bounds
    from sparsebounds.primalization import primalize as primalize
    from sparsebounds.program import Program as Program
    from sparsebounds.ranks import RankBounds as RankBounds
    from sparsebounds.ranks import rank_bounds as rank_bounds
    from sparsebounds.relaxation import Relaxation as Relaxation
    from sparsebounds.relaxation import relax as relax
    from sparsebounds.solving import Solution as Solution
    from sparsebounds.solving import certify as certify
    from sparsebounds.solving import noise_scale as noise_scale
    from sparsebounds.solving import solve as solve

# Public name -> the module it lives in.
_HOME: dict[str, str] = {
    name: f"sparsebounds.{home}"
    for home, names in {
        "program": "Program",
        "bounds": "lower_bound screen",
        "certificates": "Certificate",
        "relaxation": "Relaxation relax",
        "primalization": "GapBounds Primalization gap_bounds primalize",
        "solving": "Solution solve certify noise_scale",
        "paths": "Path path",
        "ranks": "RankBounds rank_bounds",
        "estimators": "SparseClassifier SparseClassifierCV SparseRegressor SparseRegressorCV "
        "SparseSelector groups_of",
        "exact": "NearOptimal near_optimal",
        "matrices": "open_matrix progress",
    }.items()
    for name in names.split()
}

# Public modules.
_MODULES: tuple[str, ...] = (
    "bounds",
    "certificates",
    "datasets",
    "losses",
    "matrices",
    "penalties",
    "primalization",
    "relaxation",
    "testing",
)

__all__ = ["__version__", *_MODULES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
