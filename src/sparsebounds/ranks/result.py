"""RankBounds: bounds on the optimum of one program, one row for each rank of X_r."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebounds._support.decimals import rounded_down, rounded_up
from sparsebounds.bounds import one_price
from sparsebounds.certificates import Certificate
from sparsebounds.program import Program
from sparsebounds.ranks.basis import Method


@dataclass(frozen=True)
class RankRow:
    """What rank r tells about the optimum p(X) of the program on the full X.

    Attributes
    ----------
    rank : int
        r.
    explained : float
        The share of the variance of X (centred where there is an intercept) that X_r keeps.
    stated_lower : float
        The paper's p**(X_r) - zeta_r: valid.
    stated_upper : float
        The paper's upper bound as printed, which is NOT valid: OPT + zeta (l0 + ball) or p**(X_r) +
        zeta (k + ball).
    lower : float
        Proved: the bound with the full X at the dual vectors of X_r.
    upper : float
        Attained: the best model found at this rank that obeys the program's constraints.
    primalized : float
        The objective on the full X of the point primalized on X_r; in the k forms it may have more
        than k nonzeros, and is then no upper bound.
    n_nonzero : int
        Its nonzeros.
    sharp_lower : float
        stated_lower with zeta_r taken over as many entries as the support has: valid.
    zeta_r : float
        ``sqrt(ball) |dX^T a_r|``, a_r the dual vector of X_r.
    zeta : float
        ``sqrt(ball) |dX^T a|``, a the dual vector of X.
    relaxed : float
        p**(X_r), up to the tolerance from above.
    opt : float
        The paper's OPT: the primalized point's objective on X_r.
    opt_std : float
        Its standard deviation over the random objectives; NaN without `draws`.
    purified : float
        The objective of the point purified against the r leading directions of the full X's ties.
    purified_bound : float
        What the theory promises for it, at the exact optimum of the relaxation.
    purified_nonzero : float
        Its nonzeros.
    """

    rank: int
    explained: float
    stated_lower: float
    stated_upper: float
    lower: float
    upper: float
    primalized: float
    n_nonzero: int
    sharp_lower: float
    zeta_r: float
    zeta: float
    relaxed: float
    opt: float
    opt_std: float
    purified: float
    purified_bound: float
    purified_nonzero: float

    @property
    def gap(self) -> float:
        """upper - lower."""
        return self.upper - self.lower


@dataclass(frozen=True)
class RankBounds:
    """Bounds by rank. All rows bound the same optimum, so the best of both sides hold as well.

    Attributes
    ----------
    rows : tuple of RankRow
        One per rank.
    program : Program
        The sparse program.
    method : {"svd", "randomized", "basis"}
        Where the approximations are from; "basis" is the user's own.
    certificate : Certificate
        Of the best lower bound and the best model of all rows.
    notes : tuple of str
        Why a column is NaN or not to be trusted, a sentence each.
    full_passes : float
        Reads of X.
    seconds : float
        Wall time.
    interrupted : bool
        Whether Ctrl-C ended the loop before its last rank.

    See Also
    --------
    rank_bounds : Makes it.

    Examples
    --------
    >>> data = sb.datasets.make_bell_spectrum(60, 20, rank=3, scale=20.0)
    >>> program = sb.Program(data.X, data.y, k=4, ball=20.0)
    >>> bounds = sb.rank_bounds(program, [2, 8])
    >>> [row.rank for row in bounds.rows], bounds.lower <= bounds.upper
    ([2, 8], True)
    """

    rows: tuple[RankRow, ...] = field(repr=False)
    program: Program
    method: Method
    certificate: Certificate = field(repr=False)
    notes: tuple[str, ...]
    full_passes: float
    seconds: float
    interrupted: bool

    @property
    def best(self) -> RankRow:
        """The row with the narrowest interval; of several, the lowest rank."""
        return min(self.rows, key=lambda row: row.gap if math.isfinite(row.gap) else math.inf)

    @property
    def lower(self) -> float:
        """The best lower bound of all rows, as the certificate claims it."""
        return self.certificate.lower

    @property
    def upper(self) -> float:
        """The objective of the best model of all rows."""
        return self.certificate.upper

    @property
    def gap(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The table as one array per column."""
        table = [asdict(row) for row in self.rows]
        return {name: np.array([row[name] for row in table]) for name in table[0]}

    def to_frame(self) -> Any:
        """The table as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'sparsebounds[data]'; or use columns(), "
                "which gives the same table as arrays."
            ) from error
        return pd.DataFrame(self.columns())

    def __str__(self) -> str:
        best = self.best
        where = f"Of {len(self.rows)} ranks the interval is narrowest at rank {best.rank}"
        if len(self.rows) == 1:
            where = f"At rank {best.rank}"
        text = (
            f"{where}, with {best.explained:.2%} of the variance: the optimum lies between "
            f"{rounded_down(best.lower, 6)} and {rounded_up(best.upper, 6)}."
        )
        if self.gap < best.gap:
            text += (
                f" With the best of all ranks: between {rounded_down(self.lower, 6)} and "
                f"{rounded_up(self.upper, 6)}."
            )
        return text


def notes_on(program: Program, full: bool, left: int, interrupted: bool) -> tuple[str, ...]:
    """What a reader of the table must know: `full` X relaxed or not, ranks `left` out, and why."""
    notes = []
    if program.ball is None:
        notes.append(
            "stated_lower, stated_upper, sharp_lower and the zetas are NaN: the paper states its "
            "bounds on numerical rank for the ball only. lower and upper hold with a ridge as well."
        )
    elif full:
        notes.append(
            "stated_upper is the paper's inequality as printed, which does not hold in general: it "
            "is no bound."
        )
    if not full:
        notes.append(
            "stated_upper and the purified columns are NaN: they need the relaxation on the full "
            "X; pass full=True."
        )
    elif math.isnan(program.loss.smoothness):
        notes.append(
            f"purified_bound is NaN: the derivative of the {program.loss.name} loss has no "
            "Lipschitz constant."
        )
    if program.ball is not None and program.l0 is not None and one_price(program) is None:
        notes.append("sharp_lower is NaN: it needs one price l0 for all features.")
    if left:
        reason = "Interrupted" if interrupted else "The time limit was reached"
        notes.append(f"{reason} with {left} rank{'s' if left > 1 else ''} left to try.")
    return tuple(notes)
