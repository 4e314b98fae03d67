"""Which columns belong together: asked of scikit-learn's encoders, or read from their names.

scikit-learn names the columns that it makes: "clinic_north" of a category, "age_sp_3" of a spline,
"age^2" of a power, each with "encoder__" before it where several transformers stand side by side.
Where a name can be read in two ways (a category and its level may both hold "_"), the columns
decide: those of one category stand side by side, are 0 or 1, and no row has two of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsebounds._support.array import Mask
from sparsebounds._support.errors import InputError, InputTypeError

SPLINE = re.compile(r"(.+)_sp_\d+")
POWER = re.compile(r"([^ ]+)\^\d+")
MADE_OF_EACH = ("OneHotEncoder", "SplineTransformer", "KBinsDiscretizer")
"""Transformers with several columns for each of theirs, in order."""

SEVERAL = ("PolynomialFeatures", "ColumnTransformer", "FeatureUnion", "Pipeline")
"""Transformers with several columns for each of theirs, in another order."""


def groups_of(transformer: Any) -> list[str | None]:
    """The group of each column that a fitted transformer makes, for ``groups=``.

    A category of `OneHotEncoder` is a group, so is the basis of `SplineTransformer`, the bins of
    `KBinsDiscretizer`, and the powers of one column by `PolynomialFeatures`; interactions and all
    other columns stand alone. Pipelines are asked for their last step that makes columns.

    Parameters
    ----------
    transformer : fitted transformer of scikit-learn
        One of these, or a `ColumnTransformer`, `FeatureUnion` or `Pipeline` of them.

    Returns
    -------
    list of str or None
        One label per column; None for those that stand alone.

    See Also
    --------
    SparseRegressor : Takes them, or ``groups="auto"`` for data frames.

    Examples
    --------
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> X = np.array([["a", 1.0], ["b", 2.0], ["c", 3.0]], dtype=object)
    >>> encoder = make_column_transformer((OneHotEncoder(), [0]), remainder="passthrough").fit(X)
    >>> sb.groups_of(encoder)
    ['onehotencoder__x0', 'onehotencoder__x0', 'onehotencoder__x0', None]
    """
    if not hasattr(transformer, "get_feature_names_out"):
        raise InputTypeError(
            f"transformer is a {type(transformer).__name__}; pass a fitted transformer of "
            "scikit-learn, such as the encoder of a pipeline."
        )
    return _asked(transformer, None)


def _asked(made: Any, names: Sequence[str] | None) -> list[str | None]:
    """The groups of a transformer whose own columns have these names."""
    kind = type(made).__name__
    if kind == "ColumnTransformer":
        found: list[str | None] = [None] * len(made.get_feature_names_out())
        for name, one, columns in made.transformers_:
            if name in made.output_indices_ and not isinstance(one, str):
                inner = _asked(one, _names_in(made, columns))
                for place, label in zip(_places(made.output_indices_[name]), inner, strict=True):
                    found[place] = None if label is None else f"{name}__{label}"
        return found
    if kind == "FeatureUnion":
        parts = [(name, _asked(one, names)) for name, one in made.transformer_list]
        return [label and f"{name}__{label}" for name, part in parts for label in part]
    if kind == "Pipeline":
        steps = [one for _, one in made.steps if hasattr(one, "get_feature_names_out")]
        makers = [one for one in steps if type(one).__name__ in (*MADE_OF_EACH, *SEVERAL)]
        if len(makers) != 1 or makers[0] is not steps[-1]:
            return [None] * len(made.get_feature_names_out())
        return _asked(makers[0], names)
    names = names if names is not None else _own_names(made)
    if kind in MADE_OF_EACH:
        counts = _counts(made, kind)
        return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    if kind == "PolynomialFeatures":
        return _powers(made.powers_, names)
    return [None] * len(made.get_feature_names_out(names))


def _counts(made: Any, kind: str) -> list[int]:
    """How many columns an encoder makes of each of its own."""
    if kind == "OneHotEncoder":
        return [int(count) for count in made._n_features_outs]
    if kind == "KBinsDiscretizer":
        ordinal = made.encode == "ordinal"
        return [1 if ordinal else int(count) for count in made.n_bins_]
    return [made.n_features_out_ // made.n_features_in_] * made.n_features_in_


def _powers(powers: Any, names: Sequence[str]) -> list[str | None]:
    """Powers of one column by its name, where there are several; products stand alone."""
    alone = np.count_nonzero(powers, axis=1) == 1
    of = np.argmax(powers, axis=1)
    several = np.bincount(of[alone], minlength=powers.shape[1]) > 1
    return [
        names[i] if one and several[i] else None
        for one, i in zip(alone.tolist(), of.tolist(), strict=True)
    ]


def _own_names(made: Any) -> list[str]:
    names = getattr(made, "feature_names_in_", None)
    return [f"x{i}" for i in range(made.n_features_in_)] if names is None else [*map(str, names)]


def _names_in(made: Any, columns: Any) -> list[str]:
    """The names of some columns of a ColumnTransformer."""
    if isinstance(columns, str) or np.isscalar(columns):
        columns = [columns]
    if isinstance(columns, Iterable):
        listed = list(columns)
        if listed and all(isinstance(one, str) for one in listed):
            return listed
        columns = np.asarray(listed)
    return [str(name) for name in np.asarray(_own_names(made))[columns]]


def _places(where: Any) -> Iterable[int]:
    return range(where.start, where.stop) if isinstance(where, slice) else where


def named_groups(X: Any, names: Sequence[str] | None) -> list[str | None]:
    """``groups="auto"``: the group of each column of a data frame, by its name and its numbers."""
    if names is None:
        raise InputError(
            "groups='auto' reads the names of columns, and X has none; pass a data frame, let the "
            "encoder make one by set_output(transform='pandas'), or pass groups_of(encoder)."
        )
    found: list[str | None] = [None] * len(names)
    bases = {match[1] for name in names if (match := POWER.fullmatch(name))}
    for i, name in enumerate(names):
        spline, power = SPLINE.fullmatch(name), POWER.fullmatch(name)
        if spline is not None or power is not None or name in bases:
            found[i] = (spline or power or [name, name])[1]
    columns = [None if label is not None else _binary(X, i) for i, label in enumerate(found)]
    _categories(found, names, columns)
    counts = {label: found.count(label) for label in set(found)}
    return [label if label is not None and counts[label] > 1 else None for label in found]


def _categories(
    found: list[str | None], names: Sequence[str], columns: Sequence[Mask | None]
) -> None:
    """Neighbours of 0 and 1 whose names begin alike, up to a "_", and that no row has two of.

    A category is complete where every row has one of them.
    """
    start = 0
    while start < len(names):
        end, taken, begin = start, np.zeros(0, dtype=np.bool_), ""
        for i in range(start, len(names)):
            column = columns[i]
            # Character by character is what is wanted here.
            whole = os.path.commonprefix(list(names[start : i + 1]))  # noqa: RUF071
            bare = whole.rpartition("__")[2]
            shared = bare.rpartition("_")[0]
            if column is None or not shared:
                break
            if i > start and (np.any(taken & column) or np.all(taken)):
                break
            taken = column if i == start else taken | column
            end, begin = i + 1, whole[: len(whole) - len(bare)] + shared
        for i in range(start, end) if end - start > 1 else ():
            found[i] = begin
        start = max(end, start + 1)


def _binary(X: Any, column: int) -> Mask | None:
    """A column of 0 and 1 as a mask; None for others."""
    cells = X[:, [column]]
    cells = np.ravel(cells.toarray() if hasattr(cells, "toarray") else cells)
    return cells == 1.0 if np.all((cells == 0.0) | (cells == 1.0)) else None
