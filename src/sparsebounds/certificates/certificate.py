"""Certificate: a sparse model, a lower bound on what any model can reach, and the proof.

The proof is a list of leaves. Each is a set of supports (a Node) with a dual vector whose
bound holds over that set; together the leaves cover every support, so the smallest leaf
bound is a lower bound on the optimum. The upper side is the objective of the stored model.

What is stored are claims: `lower` is rounded down, and `upper` up, by as much as another order of
summation can change them. So whoever verifies finds at least `lower` and at most `upper`, without
any tolerance.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._support.array import Index, Vector, nonzeros
from sparsebounds._support.decimals import counted
from sparsebounds._support.errors import CertificateError
from sparsebounds._support.files import write_atomically
from sparsebounds._support.html import block, interval
from sparsebounds._version import __version__
from sparsebounds.bounds import (
    WIDER,
    DualPoint,
    Node,
    bound_at,
    claim_at,
    claimed_objective,
    dual_point_at,
    enclosed,
    widened,
)
from sparsebounds.certificates.row_tree import RowTree, row_tree_bound
from sparsebounds.certificates.tree import Tree, tree_bound
from sparsebounds.losses import Loss
from sparsebounds.problem import Problem
from sparsebounds.program import Program

if TYPE_CHECKING:
    from sparsebounds.certificates.verification import Verdict

LARGEST_FILE = 1 << 28
"""Files over 256 MiB are refused unread."""


@dataclass(frozen=True)
class Leaf:
    """A set of supports and the position of the dual vector that bounds it.

    Attributes
    ----------
    node : Node
        The supports.
    dual : int
        The place of the dual vector in the certificate's list.

    Examples
    --------
    >>> sb.certificates.Leaf(sb.bounds.ROOT, 0).dual
    0
    """

    node: Node
    dual: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """Both bounds on the optimum of a sparse program, and what proves them.

    Attributes
    ----------
    lower : float
        No model that obeys the constraints has a smaller objective.
    upper : float
        The stored model has no larger objective.
    problem : Problem
        What was asked.
    shape : tuple[int, int]
        Rows and columns of X.
    fingerprint : str
        Identifies the data; see `Program.fingerprint`.
    duals : tuple of array
        Dual vectors per sample, t_i = a_i / p_i, inside the domain of the conjugate.
    leaves : tuple of Leaf
        Sets of supports that cover all, each with a dual vector.
    support : array of int
        The features of the stored model.
    coef : array
        The model's nonzeros, on the program's own (standardized, if asked) columns.
    intercept : float
        The model's intercept, on the same columns.
    tree : Tree or None
        The search tree that proves `lower`; None where `leaves` do.
    made_by : dict
        Versions of the software that made it.
    boxes : tuple of array
        Non-convex losses: dual vectors per sample that cut the box of the envelope, in order.
        The first box follows from the data and `upper` (`bounds.enclosure`).
    rows : RowTree or None
        Truncated loss: the search tree over rows that proves `lower`, in the place of `leaves`.
    table : dict or None
        How the command line read the data from a table, so that `sparsebounds verify` reads it the
        same way; no part of the proof.

    See Also
    --------
    solve : Makes one with every solution.
    certify : Makes one for a model of yours.

    Examples
    --------
    >>> data = sb.datasets.make_correlated(60, 20, nonzeros=3)
    >>> certificate = sb.solve(data.X, data.y, k=3, ridge=0.1).certificate
    >>> certificate.lower <= certificate.upper, certificate.shape
    (True, (60, 20))
    >>> certificate.verify(data.X, data.y).ok, certificate.verify(data.X, data.y + 1).ok
    (True, False)
    """

    lower: float
    upper: float
    problem: Problem = field(repr=False)
    shape: tuple[int, int]
    fingerprint: str
    duals: tuple[Vector, ...] = field(repr=False)
    leaves: tuple[Leaf, ...] = field(repr=False)
    support: Index
    coef: Vector
    intercept: float
    tree: Tree | None = field(repr=False)
    made_by: Mapping[str, str] = field(repr=False)
    boxes: tuple[Vector, ...] = field(default=(), repr=False)
    rows: RowTree | None = field(default=None, repr=False)
    table: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        program: Program,
        duals: Sequence[Vector],
        leaves: Sequence[Leaf],
        w: Vector,
        b: float = 0.0,
        *,
        lower: float | None = None,
        tree: Tree | None = None,
        boxes: Sequence[Vector] = (),
        rows: RowTree | None = None,
    ) -> Certificate:
        """Evaluate both sides. `w` and `b` act on the program's own columns.

        The proof is `tree` or `rows`, or else `leaves` with their `duals`. `lower` is what it may
        claim (`leaf_claim`, `tree_bound`), where that is at hand: evaluating it takes a pass over
        X for each dual vector.
        """
        support, upper = nonzeros(w), claimed_objective(program, w, b)
        if lower is None and tree is not None:
            lower = tree_bound(program, tree, claim=True)
        if lower is None and rows is not None:
            lower = row_tree_bound(program, rows, upper, boxes, claim=True)
        if lower is None:
            convex = enclosed(program, upper, boxes, WIDER)
            lower = leaf_claim(convex, duals, leaves)
        return cls(
            lower=lower,
            upper=upper,
            problem=Problem.of(program),
            shape=(program.n, program.m),
            fingerprint=program.fingerprint,
            duals=tuple(duals),
            leaves=tuple(leaves),
            support=support,
            coef=w[support],
            intercept=b,
            tree=tree,
            made_by={
                "sparsebounds": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            boxes=tuple(boxes),
            rows=rows,
        )

    @property
    def gap(self) -> float:
        """upper - lower: the model is at most this far from the best possible."""
        return self.upper - self.lower

    @property
    def rel_gap(self) -> float:
        """``(upper - lower) / |upper|``; infinite where upper is 0 and lower is not."""
        return self.gap / abs(self.upper) if self.upper else math.inf if self.gap else 0.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON file, whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        """
        from sparsebounds.certificates.codec import encode

        write_atomically(path, encode(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = LARGEST_FILE) -> Certificate:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        max_bytes : int
            Larger files are refused unread.

        Returns
        -------
        Certificate
            What it states; `verify` says whether it holds.

        Raises
        ------
        CertificateError
            Where it is anything else.
        """
        from sparsebounds.certificates.codec import decode

        size, data = Path(path).stat().st_size, bytearray()
        if size <= max_bytes:
            # A device or a growing file may hold more than it says.
            with Path(path).open("rb") as stream:
                while part := stream.read(min(1 << 20, max_bytes + 1 - len(data))):
                    data += part
            size = len(data)
        if size > max_bytes:
            raise CertificateError(
                f"{path} has {size} bytes, more than the {max_bytes} a certificate may have; "
                "pass max_bytes= if it is genuine."
            )
        return decode(bytes(data), str(path))

    def verify(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        loss: Loss | None = None,
    ) -> Verdict:
        """Recompute both bounds from this certificate and the data alone.

        Parameters
        ----------
        X, y, sample_weight, offset : array
            The data, as they were passed when it was made.
        loss : Loss, optional
            Needed only for a loss that is not in the registry.

        Returns
        -------
        Verdict
            Whether it holds, and a sentence.
        """
        from sparsebounds.certificates.verification import verify

        return verify(self, X, y, sample_weight, offset, loss=loss)

    def _repr_html_(self) -> str:
        tree = self.tree if self.rows is None else self.rows
        sets = counted(len(self.leaves), "set")
        return block(
            f"Certificate: {self.problem.describe(self.shape)}",
            [
                interval(self.lower, self.upper),
                f"The model has {counted(len(self.support), 'nonzero coefficient')}. The lower "
                f"bound is that of {f'{sets} of supports' if tree is None else 'a search tree'}. "
                "certificate.verify(X, y) recomputes both bounds.",
                f"data {self.fingerprint}",
            ],
        )


def leaf_bound(program: Program, duals: Sequence[Vector], leaves: Sequence[Leaf]) -> float:
    """The smallest bound of the leaves: one pass over X for each dual vector used.

    Parameters
    ----------
    program : Program
        The sparse program.
    duals : list of arrays
        Dual vectors per sample.
    leaves : list of Leaf
        Sets of supports with the places of their vectors.

    Returns
    -------
    float
        A lower bound on the optimum, where the leaves cover every support.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> leaf = sb.certificates.Leaf(sb.bounds.ROOT, 0)
    >>> print(f"{sb.certificates.leaf_bound(program, [-0.75 * program.y], [leaf]):.3f}")
    1.906
    """
    points = _points(program, duals, leaves)
    return min(bound_at(program, points[leaf.dual], leaf.node) for leaf in leaves)


def leaf_claim(
    program: Program,
    duals: Sequence[Vector],
    leaves: Sequence[Leaf],
    points: Mapping[int, DualPoint] | None = None,
) -> float:
    """What a certificate with these leaves may claim: no `leaf_bound` elsewhere is below it.

    Parameters
    ----------
    program, duals, leaves : as in `leaf_bound`
    points : dict, optional
        The dual points by the places of their vectors, where they are at hand.

    Returns
    -------
    float
        A little less than `leaf_bound`.

    Examples
    --------
    >>> program = sb.Program(np.eye(3), [3.0, 2.0, 1.0], k=1, ridge=1.0)
    >>> leaf = sb.certificates.Leaf(sb.bounds.ROOT, 0)
    >>> print(f"{sb.certificates.leaf_claim(program, [-0.75 * program.y], [leaf]):.3f}")
    1.906
    """
    points = _points(program, duals, leaves) if points is None else points
    wide = {i: widened(program, points[i]) for i in {leaf.dual for leaf in leaves}}
    return min(claim_at(program, wide[leaf.dual], leaf.node) for leaf in leaves)


def _points(
    program: Program, duals: Sequence[Vector], leaves: Sequence[Leaf]
) -> dict[int, DualPoint]:
    return {i: dual_point_at(program, duals[i]) for i in sorted({leaf.dual for leaf in leaves})}
