"""Bad input: a sentence that names the argument and the remedy."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from sparsebounds._support.errors import InputError, InputTypeError
from sparsebounds.bounds import lower_bound
from sparsebounds.losses import Huber
from sparsebounds.matrices import DenseMatrix, StandardizedMatrix
from sparsebounds.program import Program

N, M = 6, 3
X = np.array(
    [[1.0, 2, 0], [0, 1, -1], [3, 0, 1], [-1, 1, 2], [2, -2, 1], [0.5, 0, -3]], dtype=np.float64
)
Y = np.array([1.0, -2, 0.5, 3, -1, 2])
LABELS = np.array([1, -1, 1, 1, -1, -1])
NAMES = ["age", "dose", "weight"]


def with_entry(array: Any, where: Any, value: Any) -> Any:
    """A copy of the array with one entry replaced."""
    copy = np.array(array)
    copy[where] = value
    return copy


def frame(kind: Any, X: np.ndarray = X) -> Any:
    """The matrix as a data frame of pandas or polars."""
    return kind.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})


def pose(X: Any = X, y: Any = Y, **options: Any) -> Program:
    if not {"k", "l0"} & options.keys():
        options["k"] = 2
    if not {"ridge", "ball"} & options.keys():
        options["ridge"] = 0.5
    return Program(X, y, **options)


def case(name: str, error: type[Exception], text: str, **arguments: Any) -> Any:
    return pytest.param(arguments, error, text, id=name)


NOT_NUMBERS = "X has columns that are not numbers: 'dose'. Encode them (for example one-hot)"

SHAPES = [
    case("X vector", InputError, "X must be a matrix of two dimensions, rows by features; it has "
         "1. Use X.reshape(-1, 1) for a single feature.", X=X[:, 0]),
    case("X cube", InputError, "X must be a matrix of two dimensions", X=X[:, :, None]),
    case("X sparse vector", InputError, "X must be a matrix of two dimensions, rows by features; "
         "it has 1.", X=sp.coo_array(X[:, 0])),
    case("X ragged", InputError, "X has rows of 1 and of 2 entries", X=[[1, 2], [3]],
         y=[1, 2]),
    case("X none", InputTypeError, "X is of type NoneType; pass a matrix, rows by", X=None),
    case("X number", InputTypeError, "X is of type float; pass a matrix, rows by features", X=5.0),
    case("X 0-d", InputTypeError, "X is of type ndarray; pass a matrix", X=np.array(5.0)),
    case("no rows", InputError, "X is empty: its shape is (0, 3); it needs at least one row and "
         "one column.", X=X[:0], y=Y[:0]),
    case("no rows, intercept", InputError, "X is empty: its shape is (0, 3)", X=X[:0], y=Y[:0],
         fit_intercept=True),
    case("no rows, logistic", InputError, "X is empty: its shape is (0, 3)", X=X[:0], y=Y[:0],
         loss="logistic", fit_intercept=True),
    case("no columns", InputError, "X is empty: its shape is (6, 0)", X=X[:, :0]),
    case("no columns, sparse", InputError, "X is empty: its shape is (6, 0)",
         X=sp.csr_array((6, 0))),
    case("y column", InputError, "y must be one-dimensional; its shape is (6, 1). Try y.ravel().",
         y=Y[:, None]),
    case("y short", InputError, "y has 5 entries, but X has 6 rows; pass one per row.", y=Y[:5]),
    case("y none", InputTypeError, "y is None; pass the response, one number or label per row.",
         y=None),
    case("y number", InputError, "y must be one-dimensional; its shape is (). Pass a list, one "
         "entry per row.", y=3.0),
    case("X text", InputTypeError, "X='abc' is a text; pass a matrix, or sparsebounds.open_matrix "
         "of a file's name.", X="abc"),
    case("y ragged", InputError, "y cannot be read as a vector of numbers",
         y=[[1, 2], [3], 1, 1, 1, 1]),
    case("weights long", InputError, "sample_weight has 7 entries, but X has 6 rows; pass one per "
         "row.", sample_weight=np.ones(7)),
    case("weights matrix", InputError, "sample_weight must be one-dimensional; its shape is "
         "(6, 1). Try sample_weight.ravel().", sample_weight=np.ones((6, 1))),
    case("offset short", InputError, "offset has 3 entries, but X has 6 rows; pass one per row.",
         offset=np.ones(3)),
    case("offset number", InputError, "offset must be one-dimensional; its shape is ().",
         offset=1.0),
    case("ridge long", InputError, "ridge has 4 entries, but X has 3 features; pass one per "
         "feature.", ridge=np.ones(4)),
    case("ridge matrix", InputError, "ridge must be one-dimensional; its shape is (1, 3).",
         ridge=np.ones((1, 3))),
    case("l0 short", InputError, "l0 has 2 entries, but X has 3 features; pass one per feature.",
         l0=[0.1, 0.1]),
    case("ball vector", InputTypeError, "must be a number greater than 0", ball=np.ones(3)),
    case("standardize pair", InputError, "standardize has 2 entries, but X has 3 columns; pass "
         "one per column.", standardize=(np.zeros(2), np.ones(3))),
]  # fmt: skip

NOT_FINITE = [
    case("NaN", InputError, "X holds NaN in column 1; drop or impute such rows or columns.",
         X=with_entry(X, (2, 1), np.nan)),
    case("infinity", InputError, "X holds infinity in column 2; drop or impute",
         X=with_entry(X, (2, 2), -np.inf)),
    case("NaN in float32", InputError, "X holds NaN in column 0",
         X=with_entry(X.astype(np.float32), (0, 0), np.nan)),
    case("NaN twice", InputError, "X holds NaN in column 0, column 1; drop or impute",
         X=with_entry(X, ([2, 1], [0, 1]), np.nan)),
    case("NaN, pandas", InputError, "X holds NaN in column 'dose'; drop or impute",
         X=frame(pd, with_entry(X, (2, 1), np.nan))),
    case("NaN, polars", InputError, "X holds NaN in column 'weight'; drop or impute",
         X=frame(pl, with_entry(X, (2, 2), np.nan))),
    case("infinity, polars", InputError, "X holds infinity in column 'age'; drop or impute",
         X=frame(pl, with_entry(X, (5, 0), np.inf))),
    case("null, polars", InputError, "X holds NaN in column 'dose'",
         X=pl.DataFrame({"age": X[:, 0], "dose": [1, 2, None, 4, 5, 6]})),
    case("NA, pandas Int64", InputError, "X holds NaN in column 'dose'",
         X=pd.DataFrame({"age": X[:, 0], "dose": pd.array([1, 2, None, 4, 5, 6], dtype="Int64")})),
    case("NaN, sparse", InputError, "X holds NaN in column 1; drop or impute",
         X=sp.csr_array(with_entry(X, (2, 1), np.nan))),
    case("infinity, sparse", InputError, "X holds infinity in column 1",
         X=sp.csc_matrix(with_entry(X, (2, 1), np.inf))),
    case("too large", InputError, "X holds values beyond 1e+150 in column 1; rescale that column.",
         X=with_entry(X, (2, 1), 1e200)),
    case("too large, named", InputError, "X holds values beyond 1e+150 in column 'dose'; rescale",
         X=frame(pd, with_entry(X, (2, 1), -1e160))),
    case("too large, sparse", InputError, "X holds values beyond 1e+150 in column 1; rescale",
         X=sp.csr_array(with_entry(X, (2, 1), 1e200))),
    case("y NaN", InputError, "y holds NaN or infinity; drop such rows.",
         y=with_entry(Y, 3, np.nan)),
    case("y infinity", InputError, "y holds NaN or infinity; drop such rows.",
         y=with_entry(Y, 3, np.inf)),
    case("y too large", InputError, "y holds values beyond 1e+150; rescale it.", y=Y * 1e151),
    case("labels NaN", InputError, "y holds NaN; drop such rows.",
         y=np.array([True, np.nan, True, True, True, True], dtype=object), loss="logistic"),
    case("labels NaN, float", InputError, "y holds NaN or infinity; drop such rows.",
         y=with_entry(LABELS.astype(float), 0, np.nan), loss="logistic"),
    case("weight NaN", InputError, "sample_weight holds NaN at position 4; drop or impute such "
         "rows.", sample_weight=with_entry(np.ones(6), 4, np.nan)),
    case("weight infinity", InputError, "sample_weight holds infinity at position 0",
         sample_weight=with_entry(np.ones(6), 0, np.inf)),
    case("weight too large", InputError, "sample_weight holds values beyond 1e+150; rescale it.",
         sample_weight=with_entry(np.ones(6), 0, 1e151)),
    case("offset NaN", InputError, "offset holds NaN at position 5; drop or impute such rows.",
         offset=with_entry(Y, 5, np.nan)),
    case("offset infinity", InputError, "offset holds infinity at position 1",
         offset=with_entry(Y, 1, -np.inf)),
    case("ridge NaN", InputError, "ridge holds NaN at position 1; pass a finite number.",
         ridge=[1.0, np.nan, 1.0]),
    case("l0 infinity", InputError, "l0 holds infinity at position 2", l0=[1.0, 0.1, np.inf]),
]  # fmt: skip

KINDS = [
    case("complex", InputTypeError, "X has dtype complex128; it must hold real numbers (float, "
         "integer or boolean). Convert it, for example with X.astype(float).", X=X + 1j),
    case("complex, sparse", InputTypeError, "X has dtype complex128; it must hold real numbers",
         X=sp.csr_array(X + 1j)),
    case("object", InputTypeError, "X has dtype object; it must hold real numbers",
         X=X.astype(object)),
    case("strings", InputTypeError, "it must hold real numbers", X=X.astype(str)),
    case("dates", InputTypeError, "X has dtype datetime64[D]", X=X.astype("datetime64[D]")),
    case("text, pandas", InputTypeError, NOT_NUMBERS,
         X=pd.DataFrame({"age": X[:, 0], "dose": list("abcabc")})),
    case("text, polars", InputTypeError, NOT_NUMBERS,
         X=pl.DataFrame({"age": X[:, 0], "dose": list("abcabc")})),
    case("only text, polars", InputTypeError, NOT_NUMBERS,
         X=pl.DataFrame({"dose": list("abcabc")})),
    case("categories, pandas", InputTypeError, NOT_NUMBERS,
         X=pd.DataFrame({"age": X[:, 0], "dose": pd.Categorical(list("abcabc"))})),
    case("dates, pandas", InputTypeError, NOT_NUMBERS,
         X=pd.DataFrame({"age": X[:, 0], "dose": pd.date_range("2020", periods=6)})),
    case("dates, polars", InputTypeError, NOT_NUMBERS,
         X=pl.DataFrame({"age": X[:, 0], "dose": pd.date_range("2020", periods=6)})),
    case("many text columns", InputTypeError, "'c3', 'c4' and 2 more. Encode them",
         X=pd.DataFrame({f"c{j}": list("abcabc") for j in range(7)})),
    case("masked X", InputTypeError, "X is a masked array; fill or drop its masked entries first.",
         X=np.ma.masked_array(X, X > 1)),
    case("masked y", InputTypeError, "y is a masked array; fill or drop its masked entries first.",
         y=np.ma.masked_array(Y, Y > 1)),
    case("masked weights", InputTypeError, "sample_weight is a masked array; fill or drop",
         sample_weight=np.ma.masked_array(np.ones(6), Y > 1)),
    case("y complex", InputTypeError, "y is complex; it must hold real numbers or class labels.",
         y=Y + 0j),
    case("y objects", InputTypeError, "y has dtype object; it must hold real numbers.",
         y=Y.astype(object)),
    case("y text", InputTypeError, "it must hold real numbers.", y=list("abcabc")),
    case("weights text", InputTypeError, "sample_weight has dtype <U1; it must hold real numbers.",
         sample_weight=list("111111")),
    case("offset complex", InputTypeError, "offset has dtype complex128; it must hold real "
         "numbers.", offset=Y + 1j),
    case("ridge vector of text", InputTypeError, "ridge has dtype <U1; it must hold real numbers.",
         ridge=list("abc")),
    case("two columns of one name", InputError, "X has more than one column named 'a'; rename or "
         "drop them.", X=pd.DataFrame(X, columns=["a", "b", "a"])),
    case("a Matrix cannot drop rows", InputError, "sample_weight is 0 in some rows, which a Matrix "
         "cannot leave out; build it from the other rows.",
         X=StandardizedMatrix(DenseMatrix(X), np.zeros(3), np.ones(3)),
         sample_weight=[0, 1, 1, 1, 1, 1]),
]  # fmt: skip

RESPONSES = [
    case("one class of 0", InputError, "y holds 1 class (0), but this loss needs exactly two; "
         "code y with two labels, or choose loss='squared' for a real response.",
         y=np.zeros(6, dtype=int), loss="logistic"),
    case("three classes", InputError, "y holds 3 classes ('a', 'b', 'c'), but this loss needs",
         y=list("abcabc"), loss="squared_hinge"),
    case("many classes", InputError, "y holds 6 classes (-2.0, -1.0, 0.5, 1.0, 2.0, ...), but",
         y=Y, loss="logistic"),
    case("one class of strings", InputError, "y holds 1 class ('a')", y=list("aaaaaa"),
         loss="logistic"),
    case("mixed labels", InputTypeError, "y mixes labels that cannot be sorted; use one type.",
         y=np.array([1, "a", 1, 1, "a", 1], dtype=object), loss="logistic"),
    case("missing label", InputTypeError, "y mixes labels that cannot be sorted; use one type.",
         y=np.array(["b", None, "a", "a", "a", "a"], dtype=object), loss="logistic"),
    case("one class, intercept", InputError, "y holds one class only, so the logistic loss has no "
         "finite minimiser with an intercept; add rows that differ, or pass fit_intercept=False.",
         y=np.ones(6), loss="logistic", fit_intercept=True),
    case("one class, intercept, hinge", InputError, "y holds one class only, so the squared_hinge",
         y=-np.ones(6), loss="squared_hinge", fit_intercept=True),
    case("one class once zero weights are dropped", InputError, "y holds one class only", y=LABELS,
         loss="logistic", fit_intercept=True, sample_weight=(LABELS > 0).astype(float)),
    case("negative counts", ValueError, "y holds negative values, but the Poisson loss needs "
         "y >= 0; pass counts, or choose loss='squared' or 'huber'.", y=Y, loss="poisson"),
    case("no counts, intercept", InputError, "y is all zero, so the poisson loss has no finite "
         "minimiser with an intercept; add rows that differ, or pass fit_intercept=False.",
         y=np.zeros(6), loss="poisson", fit_intercept=True),
    case("negative weight", InputError, "sample_weight holds -0.5; weights must be 0 or more (0 "
         "drops a row).", sample_weight=[1, 1, -0.5, 1, 1, 1]),
    case("zero weights", InputError, "sample_weight is all zero, which drops every row; weigh some "
         "rows.", sample_weight=np.zeros(6)),
    case("unknown loss", ValueError, "loss='hinge' is not a loss; pass one of 'huber', 'logistic', "
         "'poisson', 'squared', 'squared_hinge', 'amplitude', ", loss="hinge"),
    case("a loss class", InputTypeError, "loss=Huber is a class; pass an instance, such as "
         "Huber().", loss=Huber),
    case("a misspelt loss", InputError, "is not a loss (did you mean 'poisson'?); pass one of",
         loss="poison"),
]  # fmt: skip


def scalar_cases(name: str) -> list[Any]:
    """What a positive number must not be."""
    number, finite = "must be a number greater than 0", "must be finite and greater than 0."
    return [
        case(f"{name}={value!r}", error, f"{name}={value!r} {text}", **{name: value})
        for value, error, text in (
            (0, InputError, finite),
            (0.0, InputError, finite),
            (-0.5, InputError, finite),
            (math.nan, InputError, finite),
            (math.inf, InputError, finite),
            ("0.1", InputTypeError, number),
            (True, InputTypeError, number),
            (1 + 0j, InputTypeError, number),
        )
    ]


SETTINGS = [
    *scalar_cases("ridge"),
    *scalar_cases("ball"),
    *scalar_cases("l0"),
    case("ridge vector 0", InputError, "ridge holds 0; every entry must be greater than 0.",
         ridge=[1.0, 0.0, 1.0]),
    case("ridge vector negative", InputError, "ridge holds -2; every entry must be greater than 0.",
         ridge=[1.0, -2.0, 1.0]),
    case("l0 vector negative", InputError, "l0 holds -0.1; every entry must be 0 or more.",
         l0=[0.5, -0.1, 0.0]),
    case("k and l0", InputError, "Both k and l0 were given; pass only one of them.", k=1, l0=0.1),
    case("neither k nor l0", InputError, "Neither k nor l0 was given; pass one of them.", k=None),
    case("ridge and ball", InputError, "Both ridge and ball were given; pass only one of them.",
         ridge=0.1, ball=2.0),
    case("neither ridge nor ball", InputError, "Neither ridge nor ball was given; pass one of "
         "them.", ridge=None),
    case("k float", InputTypeError, "k=2.0 must be an integer: the largest number of nonzeros.",
         k=2.0),
    case("k bool", InputTypeError, "k=True must be an integer", k=True),
    case("k numpy bool", InputTypeError, "must be an integer", k=np.True_),
    case("k string", InputTypeError, "k='2' must be an integer", k="2"),
    case("k negative", InputError, "k=-1 is negative; pass the largest number of nonzeros, 0 or "
         "more.", k=-1),
    case("always and never", InputError, "always and never both hold feature 1; keep it in one of "
         "them.", always=[0, 1], never=[1]),
    case("always and never, named", InputError, "always and never both hold 'dose'; keep it in one",
         X=frame(pd), always=["dose"], never=[1, 2]),
    case("always beyond", InputError, "always holds 3, but columns go from 0 to 2.", always=[3]),
    case("never negative", InputError, "never holds -1, but columns go from 0 to 2.", never=-1),
    case("unknown name", InputError, "never names 'height', which is not a column of X.",
         X=frame(pl), never=["height"]),
    case("name without names", InputError, "always names the feature 'dose', but X has no column "
         "names; pass a data frame, feature_names=, or column indices.", always="dose"),
    case("always mask", InputTypeError, "always holds True; pass column indices or names "
         "(np.flatnonzero of a mask).", always=[True, False, False]),
    case("always float", InputTypeError, "always holds 1.0; pass column indices", always=[1.0]),
    case("positive short", InputError, "positive must be True, False or a boolean mask of 3 "
         "entries, one per feature.", positive=[True, False]),
    case("positive indices", InputError, "positive must be True, False or a boolean mask",
         positive=[0, 1, 1]),
    case("positive none", InputError, "positive must be True, False or a boolean mask",
         positive=None),
    case("names too few", InputError, "feature_names has 2 entries, but X has 3 columns.",
         feature_names=["a", "b"]),
    case("names twice", InputError, "feature_names holds 'a' more than once; names must differ.",
         feature_names=["a", "b", "a"]),
    case("names as one string", InputTypeError, "feature_names='abc' must be a list of 3 names",
         feature_names="abc"),
    case("intercept word", InputTypeError, "fit_intercept='no' must be True or False.",
         fit_intercept="no"),
    case("standardize word", InputTypeError, "standardize='yes' must be True, False or a pair of "
         "vectors (center, scale).", standardize="yes"),
    case("standardize number", InputTypeError, "standardize=1 must be True, False or a pair",
         standardize=1),
    case("standardize scale", InputError, "standardize holds a scale that is not greater than 0.",
         standardize=(np.zeros(3), np.array([1.0, 0.0, 1.0]))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error", "text"), [*SHAPES, *NOT_FINITE, *KINDS, *RESPONSES, *SETTINGS]
)
def test_bad_input_is_told_in_a_sentence(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)) as caught:
        pose(**arguments)
    assert str(caught.value).endswith(".")
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize(
    ("delta", "error", "text"),
    [
        (0.0, ValueError, "delta=0.0 must be a positive finite number, in the units of y."),
        (-1.0, ValueError, "delta=-1.0 must be a positive finite number"),
        (math.nan, ValueError, "delta=nan must be a positive finite number"),
        (math.inf, ValueError, "delta=inf must be a positive finite number"),
        (1e200, ValueError, "delta=1e+200 is beyond 1e+150; use loss='squared'."),
        ("1", TypeError, "delta='1' must be a number, in the units of y."),
        (True, TypeError, "delta=True must be a number"),
        (None, TypeError, "delta=None must be a number"),
    ],
)
def test_huber_delta(delta: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        Huber(delta=delta)


@pytest.mark.parametrize(
    ("coef", "intercept", "error", "text"),
    [
        ([1.0, 2.0], 0.0, InputError, "coef has 2 entries, but X has 3 columns; pass one per "
         "column."),
        ([1.0, np.nan, 0.0], 0.0, InputError, "coef holds NaN at position 1"),
        (["a", "b", "c"], 0.0, InputTypeError, "coef has dtype <U1; it must hold real numbers."),
        ([1.0, 0.0, 0.0], 0.5, InputError, "intercept=0.5, but the program has none; pass "
         "fit_intercept=True."),
        ([1.0, 0.0, 0.0], math.nan, InputError, "intercept=nan must be a finite number."),
        ([1.0, 0.0, 0.0], "0", InputTypeError, "intercept='0' must be a number."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("standardize", [False, True])
def test_a_bad_model(
    coef: list[Any], intercept: Any, error: type[Exception], text: str, standardize: bool
) -> None:
    program = pose(standardize=standardize)
    with pytest.raises(error, match=re.escape(text)):
        program.objective(coef, intercept)


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (np.ones(5), "a has 5 entries, but X has 6 rows; pass one per row."),
        (np.full(6, np.nan), "a holds NaN at position 0"),
    ],
)
def test_a_bad_dual_vector(a: np.ndarray, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        lower_bound(pose(), a)
