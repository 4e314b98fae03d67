"""The options that commands share: how a table is read, and which problem is posed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sparsebounds._support.errors import InputError
from sparsebounds.cli._output import spinner, tell
from sparsebounds.cli._parameters import Parameters
from sparsebounds.cli._scoring import CLASS_SCORES, NUMBER_SCORES
from sparsebounds.losses import NONCONVEX, REGISTRY
from sparsebounds.tables import (
    IMPUTATIONS,
    Choice,
    Likeness,
    Reading,
    TableGroups,
    check_column,
    did_you_mean,
    grouped_columns,
    placed,
    read_table,
    split_names,
)

_table = partial(typer.Option, None, rich_help_panel="The table")
_problem = partial(typer.Option, None, rich_help_panel="The problem")
_folds = partial(typer.Option, None, rich_help_panel="Cross-validation")

LOSSES = (*REGISTRY, *NONCONVEX)

Data = Annotated[
    Path,
    typer.Argument(help="The data: CSV, TSV (also .gz), Parquet, Feather, .npz or .npy."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Tolerance = Annotated[float, typer.Option(help="Relative gap that counts as optimal.")]
RequireOptimal = Annotated[
    bool,
    typer.Option("--require-optimal", help="Exit code 3 where a gap is wider than --tol."),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Search until the model is proved optimal (may be long).")
]
Search = Annotated[
    bool | None,
    typer.Option(
        "--exact/--no-exact",
        help="Search until the model is proved optimal (may be long), or do not search. Default: "
        "search for a bounded amount of work.",
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds; the bounds hold whenever it stops.")
]
CertificateFile = Annotated[
    Path | None, typer.Option("--certificate", help="Save the proof here, for verify (JSON).")
]

ReportFile = Annotated[
    Path | None,
    typer.Option("--report", help="Write all of it into one HTML file that opens offline."),
]

Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace existing files that sparsebounds did not write. Its own, which their first "
        "bytes tell, are replaced anyway.",
    ),
]


@dataclass(frozen=True)
class TableOptions:
    """How a table becomes features and a response."""

    target: str | None = _table(help="The response's column (or array).")
    features: list[str] | None = _table(
        metavar="NAMES",
        help="The features: names and commas, lab_* for all that begin so. Default: all.",
    )
    exclude: list[str] | None = _table(metavar="NAMES", help="Columns that are no features.")
    weights: str | None = _table(help="The sample weights' column.")
    offset: str | None = _table(help="The offset's column.")
    one_hot: bool | None = _table("--one-hot", help="Encode every text column.")
    categorical: list[str] | None = _table(metavar="NAMES", help="Columns to encode one-hot.")
    drop_missing: bool | None = _table("--drop-missing", help="Leave out rows with missing values.")
    impute: str | None = _table(
        help="Fill missing numbers with their median or mean, text with its most frequent value.",
        autocompletion=lambda: list(IMPUTATIONS),
    )
    keep_twins: bool | None = _table(
        "--keep-twins", help="Keep columns that say the same as another; else the first stays."
    )
    positive: str | None = _table(
        metavar="LABEL",
        help="The class that positive coefficients speak for, told from the others. Default: the "
        "larger of two; of more, solve tells each from the rest.",
    )
    class_weight: str | None = _table(
        metavar="balanced",
        help="balanced: give every class the same total weight.",
        autocompletion=lambda: ["balanced"],
    )
    test: float | None = _table(help="Share of the rows to hold out, such as 0.2.")
    seed: int | None = _table(help="Seed of --test, and of the folds of --cv. Default 0.")

    def read(
        self,
        path: Path,
        base: Choice | None = None,
        *,
        likeness: Likeness | None,
        quiet: bool = False,
    ) -> Reading:
        """The file as the options say, on top of what a file remembers, and its notes told.

        Twins that differ in no more than `likeness` allows are left out; None: all columns stay.
        """
        given = asdict(self)
        for name in ("features", "exclude", "categorical"):
            given[name] = tuple(given[name]) if given[name] else None
        choice = (base or Choice()).changed(**given)
        with spinner(f"Reading {path.name}"):
            if likeness is None:
                reading = read_table(path, replace(choice, keep_twins=True))
            else:
                reading = read_table(path, choice, likeness)
        for note in () if quiet or base is not None else reading.notes:
            tell(note)
        return reading


@dataclass(frozen=True)
class SizeOptions:
    """How sparse the model is."""

    k: int | None = _problem("-k", help="At most this many features, or groups. Default 10.")
    l0: float | None = _problem("--l0", help="A price per feature, or group, in place of -k.")

    def check(self) -> None:
        """InputError for sizes that are none."""
        if self.k is not None and self.l0 is not None:
            raise InputError("Both -k and --l0 were given; pass only one of them.")
        if self.k is not None and self.k < 0:
            raise InputError(
                f"-k {self.k} is negative; pass the largest number of nonzeros, 0 or more."
            )
        if self.l0 is not None and not 0.0 < self.l0 < math.inf:
            raise InputError(f"--l0 {self.l0:g} must be finite and greater than 0.")


@dataclass(frozen=True)
class FoldOptions:
    """What cross-validation chooses among."""

    cv: int | None = _folds(
        help="Folds of a cross-validation that chooses k (or l0) and the ridge."
    )
    ks: str | None = _folds(help="Numbers of features to try: 1:10 or 1,2,5.")
    l0s: str | None = _folds("--l0s", help="Prices to try: 1:0.001:20 or 1,0.1.")
    ridges: str | None = _folds(help="Ridges to try: 0.01,0.1,1.")
    rule: str | None = _folds(
        help="best (default), or 1se: the smallest model within a standard error of it."
    )
    scoring: str | None = _folds(
        metavar="SCORE",
        help="What to choose by: log_loss (default for --loss logistic), accuracy, roc_auc, ...; "
        "r2 (default for numbers), mean_absolute_error, ...",
        autocompletion=lambda: [*CLASS_SCORES, *NUMBER_SCORES],
    )

    def check(self, size: SizeOptions) -> None:
        """InputError for grids without --cv, or beside what they replace."""
        given = {"--ks": self.ks, "--l0s": self.l0s, "--ridges": self.ridges, "--rule": self.rule}
        given["--scoring"] = self.scoring
        named = [option for option, value in given.items() if value is not None]
        if self.cv is None and named:
            raise InputError(f"{named[0]} is for cross-validation: add --cv 5.")
        if self.cv is not None and self.cv < 2:
            raise InputError(f"--cv {self.cv} must be 2 folds or more.")
        if (self.ks or self.l0s) and (size.k is not None or size.l0 is not None):
            raise InputError("-k and --l0 fix what --ks and --l0s try; pass only one of them.")
        if self.ks is not None and self.l0s is not None:
            raise InputError("Both --ks and --l0s were given; pass only one of them.")
        if self.rule not in (None, "best", "1se"):
            raise InputError(f"--rule {self.rule!r} must be best or 1se.")


@dataclass(frozen=True)
class ProblemOptions:
    """The problem without its data and without what makes it sparse."""

    ridge: str | None = _problem(
        metavar="NUMBER|auto",
        help="Weight of |w|^2 / 2. Default auto: 1/sqrt(rows) for --loss squared on standardized "
        "columns, a quarter of that for logistic.",
    )
    ball: float | None = _problem(help="|w|^2 at most this, in place of --ridge.")
    loss: str | None = _problem(
        help="squared (default), logistic, poisson, huber, squared_hinge; truncated, tukey, ... "
        "(see --c); ramp, ...",
        autocompletion=lambda: list(LOSSES),
    )
    c: str | None = _problem(
        "--c",
        metavar="NUMBER|auto",
        help="The scale of a robust loss, in the target's units: truncated leaves out the rows "
        "whose residual is c or more. auto: 3 (truncated) times an estimate of the noise that up "
        "to 40% of wrong responses do not spoil. Default: for a noise of 1.",
    )
    fit_intercept: bool | None = _problem(
        "--intercept/--no-intercept", help="Default: with an intercept."
    )
    standardize: bool | None = _problem(
        "--standardize/--no-standardize",
        help="Pose the problem on columns of mean 0 and standard deviation 1 (default); "
        "coefficients are printed in your units either way.",
    )
    nonnegative: bool | None = _problem(
        "--nonnegative", help="No negative coefficient (or --positive, without a label)."
    )
    always: list[str] | None = _problem(
        metavar="NAMES", help="Features always in, uncounted: names and commas."
    )
    never: list[str] | None = _problem(
        metavar="NAMES", help="Features left out, but part of the data."
    )

    group: list[str] | None = _problem(
        metavar="NAME=COLUMNS",
        help="Columns that are in the model together or not at all, and count as one: "
        "labs=crp,wbc. Again for another group.",
    )
    group_by: list[str] | None = _problem(
        metavar="PREFIX", help="A group of the columns that begin so: lab_. Again for another."
    )
    levels: bool | None = _problem(
        "--levels",
        help="Choose the values of an encoded column one by one. Default: they are a group.",
    )

    @property
    def likeness(self) -> Likeness | None:
        """What columns may differ in and say the same; None where they are asked for by name."""
        if self.group or self.group_by or self.always or self.never:
            return None
        shift, scale = self.fit_intercept is not False, self.standardize is not False
        return Likeness(shift, scale, sign=not self.nonnegative)

    def check(self) -> None:
        """InputError for a loss, a scale or a ridge that is none."""
        if self.loss is not None and self.loss not in LOSSES:
            raise InputError(
                f"--loss {self.loss!r} is not a loss; pass one of {', '.join(LOSSES)}."
                f"{did_you_mean(self.loss, LOSSES)}"
            )
        if self.ball is not None and self.ridge is not None:
            raise InputError("Both --ridge and --ball were given; pass only one of them.")
        if self.ball is not None and not 0.0 < self.ball < math.inf:
            raise InputError(f"--ball {self.ball:g} must be a number greater than 0.")
        for option, value in (("--c", self.c), ("--ridge", self.ridge)):
            try:
                valid = value in (None, "auto") or 0.0 < float(str(value)) < math.inf
            except ValueError:
                valid = False
            if not valid:
                raise InputError(f"{option} {value!r} must be a number greater than 0, or auto.")

    def parameters(
        self, reading: Reading, size: SizeOptions | None = None, base: Parameters | None = None
    ) -> Parameters:
        """What was asked, on top of what a model file says."""
        given = asdict(self) | ({} if size is None else asdict(size))
        given["positive"] = given.pop("nonnegative")
        given["groups"] = None
        if base is None or self.group or self.group_by or self.levels:
            named, prefixes, levels = self.group or (), self.group_by or (), bool(self.levels)
            given["groups"] = grouped_columns(reading, named, prefixes, levels=levels)
        for name in ("group", "group_by", "levels"):
            del given[name]
        for name in ("always", "never"):
            groups = base["groups"] if given["groups"] is None and base else given["groups"]
            given[name] = _listed(f"--{name}", given[name], reading, groups)
        for name in ("c", "ridge"):
            if given[name] not in (None, "auto"):
                given[name] = float(given[name])
        asked = (base or Parameters()).changed(**given)
        if asked["c"] != "auto":
            return asked
        with spinner("The scale of the noise"):
            scaled = asked.scaled(reading.train)
        tell(f"--c auto is {scaled['c']:.6g}, by the noise about models of this size.")
        return scaled


def _listed(
    option: str, values: list[str] | None, reading: Reading, groups: TableGroups
) -> tuple[str | int, ...] | None:
    """The features of --always or --never: names, or column numbers where there are none.

    A group, or an encoded column, stands for all its features.
    """
    if not values:
        return None
    rows, whole = reading.train, placed(reading.train, groups)
    found = dict[str | int, None]()
    for part in split_names(values, (*rows.labels, *rows.sources, *whole)):
        places = rows.places(part) or whole.get(part, [])
        if rows.names is None and not places and part.isdecimal():
            places = [int(part)]  # too large, which the program says
        if rows.names is None and not places:
            raise InputError(
                f"{option} {part!r}: the data have no feature names; pass column numbers, "
                "from 0, or add an array feature_names."
            )
        if not places:
            check_column(option, part, rows.labels, reading.path)
        found |= dict.fromkeys(i if rows.names is None else rows.names[i] for i in places)
    return tuple(found)
