"""The features that a search decides about: those which the relaxation does not rule out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsebounds._support.array import Index
from sparsebounds._support.deadline import Deadline
from sparsebounds.exact.ball import BallBounder
from sparsebounds.exact.bounder import Bounder
from sparsebounds.exact.ridge import RidgeBounder
from sparsebounds.models import Model
from sparsebounds.program import Program
from sparsebounds.relaxation import smooth_part


def kept_without(program: Program, ruled_out: Index) -> Index:
    """The features that are allowed and not ruled out: at least one, as no matrix is empty."""
    out = np.zeros(program.m, dtype=np.bool_)
    out[ruled_out] = True
    if out[~program.never].all():
        out[np.flatnonzero(program.free)[:1]] = False
    return np.flatnonzero(~(out | program.never))


def require_time(program: Program, count: int, deadline: Deadline) -> None:
    """TimeUp where there is no time to begin a search on so many features of a program."""
    products = smooth_part(program).price(count)
    # Their columns are copied a few times.
    deadline.require(scan=4.0 * count / program.m, product=products)


def bounder_of(reduced: Program, price: float, deadline: Deadline) -> Bounder:
    """The bounder for the form of a program."""
    kind = RidgeBounder if reduced.ball is None else BallBounder
    return kind(reduced, price, deadline)


def on_kept(model: Model, kept: Index) -> Model:
    """A model, all of whose features are kept, on these alone."""
    return replace(model, w=model.w[kept])


def on_all(model: Model, kept: Index, m: int) -> Model:
    """A model of the features kept as one of all m features."""
    w = np.zeros(m)
    w[kept] = model.w
    return replace(model, w=w)
