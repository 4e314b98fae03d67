"""The arguments of a problem: the one list of them.

`TABLE` holds defaults and sentences, the dictionaries hold types; `takes` makes of both the
signature and the documentation of every function that takes the arguments.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from textwrap import indent
from typing import Any, TypedDict, TypeVar, cast

from numpy.typing import ArrayLike

from sparsebounds._support import validate as check
from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputTypeError
from sparsebounds.losses import Loss

Call = TypeVar("Call", bound=Callable[..., Any])


class DataArguments(TypedDict, total=False):
    """What may be said of the data, X and y aside."""

    sample_weight: ArrayLike | None
    offset: ArrayLike | None
    feature_names: Iterable[str] | None


class CommonArguments(DataArguments, total=False):
    """The arguments of a problem, but for what makes its models sparse."""

    ridge: float | ArrayLike | None
    ball: float | None
    loss: str | Loss
    fit_intercept: bool
    standardize: bool | tuple[Vector, ...]
    positive: bool | ArrayLike
    always: str | int | Iterable[str | int] | None
    never: str | int | Iterable[str | int] | None
    groups: Iterable[Any] | Mapping[str, Iterable[str | int]] | None


class Arguments(CommonArguments, total=False):
    """The arguments of a problem."""

    k: int | None
    l0: float | ArrayLike | None


TABLE: dict[str, tuple[Any, str]] = {
    "k": (10, "The most features that a model may have."),
    "l0": (None, "The price per feature, in place of `k`: a number, or one per feature."),
    "ridge": (
        "auto",
        'The weight of sum w_i^2 / 2: a number, one per feature, or "auto": curvature of the\n'
        "loss * mean square of a column / sqrt(n).",
    ),
    "ball": (None, "The most that sum w_i^2 may be, in place of a ridge."),
    "loss": ("squared", "A name, or an instance such as `sparsebounds.losses.Huber(delta=1.35)`."),
    "fit_intercept": (False, "Whether there is an intercept, which has no penalty."),
    "standardize": (
        False,
        "Whether to pose the problem on columns of mean 0 and standard deviation 1 (of mean\n"
        "square 1 where there is no intercept), uncorrelated within groups; or on which (center,\n"
        "scale).",
    ),
    "positive": (False, "Whether coefficients must be >= 0: one answer, or one per feature."),
    "always": (
        None,
        "Features, by name or number, or groups by name, that are in every model: neither counted\n"
        "nor priced.",
    ),
    "never": (None, "Features that are in no model."),
    "groups": (
        None,
        "Features that are in a model together or not at all: one label per column, lists of\n"
        "names or numbers, or a mapping of a group's name to its list. `k` counts groups, `l0` is\n"
        "the price per group; other columns stand alone.",
    ),
    "sample_weight": (None, "One number per row, 0 or more; rows of weight 0 are left out."),
    "offset": (None, "One number per row, added to its prediction."),
    "feature_names": (None, "One name per column; by default those of the data frame."),
}
"""Default and meaning of each argument, in the order in which they are shown."""

DEFAULTS: dict[str, Any] = {name: default for name, (default, _) in TABLE.items()}
"""What holds where nothing is said."""

DATA = {
    "X": "Rows by features: an array, a sparse matrix, a data frame, or an `open_matrix`.",
    "y": "The response, one per row; two labels where the loss is for classes.",
}
SECTION = "Parameters\n----------\n"


def takes(arguments: type, after: str = "y") -> Callable[[Call], Call]:
    """For a function or class whose last parameter stands for the arguments of a problem.

    They are spelt out in its documentation and in its signature, there `after` one of its own.
    Names that are neither are refused.
    """
    kinds = {
        name: arguments.__annotations__[name].__forward_arg__
        for name in TABLE
        if name in arguments.__annotations__
    }

    def spelt(function: Call) -> Call:
        target = function.__init__ if inspect.isclass(function) else function
        signature = inspect.signature(target)
        *own, _ = signature.parameters.values()
        stated = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS[name], annotation=kind
            )
            for name, kind in kinds.items()
        ]
        known = [one.name for one in own]
        place = known.index(after) + 1
        own[place:place], known[place:place] = stated, list(kinds)
        named = spoken(target, signature.replace(parameters=own))
        if not inspect.isclass(function):
            named.__doc__ = documented(function.__doc__, kinds, known)
            return cast(Call, named)
        function.__init__ = named  # type: ignore[method-assign]
        function.__doc__ = documented(function.__doc__, kinds, known)
        return function

    return spelt


def spoken(target: Call, signature: inspect.Signature | None = None) -> Call:
    """The same function, or `__init__`, which refuses arguments that it does not have in words."""
    shown = signature or inspect.signature(target)
    known = list(shown.parameters)
    placed = [
        name
        for name, one in shown.parameters.items()
        if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    bound = known[0] == "self"

    @wraps(target)
    def named(*args: Any, **given: Any) -> Any:
        function = type(args[0]).__name__ if bound else target.__name__
        refuse_others(function, given, known)
        if len(args) > len(placed):
            others = ", ".join([*placed[bound:], f"{known[len(placed)]}=..."])
            raise InputTypeError(
                f"{function} got {len(args) - bound} arguments without a name, and knows the first "
                f"{len(placed) - bound} of these: pass the others by name, as in "
                f"{function}({others})."
            )
        return target(*args, **given)

    named.__signature__ = shown  # type: ignore[attr-defined]
    return cast(Call, named)


def documented(text: str | None, kinds: Mapping[str, str], order: Iterable[str]) -> str:
    """A docstring whose section of parameters has the data and the arguments of a problem too."""
    head, section, rest = inspect.cleandoc(text or "").partition(SECTION)
    own, _, tail = f"\n{rest}".partition("\n\n")
    stated = {one.split(" : ")[0]: one for one in re.split(r"\n(?=\S)", own)[1:]}
    for name, sentence in DATA.items():
        stated[name] = f"{name} : array\n    {sentence}"
    for name, kind in kinds.items():
        default, sentence = TABLE[name]
        stated[name] = f"{name} : {kind}, default {default!r}\n{indent(sentence, ' ' * 4)}"
    return "\n".join(
        [head + section + "\n".join(stated[name] for name in order if name in stated), "", tail]
    )


def refuse_others(function: str, given: Iterable[str], known: list[str]) -> None:
    """A sentence about the first name given that the function does not know."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            if known[0] == "program" and name in TABLE:
                hint = f" It belongs to the program: {function}(sb.Program(X, y, {name}=...))."
            raise InputTypeError(f"{function} has no argument {name!r}.{hint}")


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a problem, those not given at their defaults, which yield to others."""
    found = {**DEFAULTS, **given}
    for name, other in (("k", "l0"), ("ridge", "ball")):
        if found[other] is not None and (name not in given or is_auto(found[name])):
            found[name] = None
        check.exactly_one(**{name: found[name], other: found[other]})
    return found


def is_auto(value: Any) -> bool:
    """Whether an argument leaves the number to its rule."""
    return isinstance(value, str) and value == "auto"
