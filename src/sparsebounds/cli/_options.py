"""The options that commands share, and the problem they pose."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsebounds._errors import InputError
from sparsebounds.cli._data import Table

if TYPE_CHECKING:
    from sparsebounds.program import Program

Data = Annotated[Path, typer.Argument(help="The data: .npz, .npy or CSV.")]
Target = Annotated[str | None, typer.Option(help="The response's column (or array).")]
Weights = Annotated[str | None, typer.Option(help="The sample weights' column.")]
Offset = Annotated[str | None, typer.Option(help="The offset's column.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

K = Annotated[int | None, typer.Option("-k", help="At most this many features. Default 10.")]
L0 = Annotated[float | None, typer.Option("--l0", help="A price per feature, in place of -k.")]
Ridge = Annotated[float | None, typer.Option(help="Weight of |w|^2 / 2. Default 0.1.")]
Ball = Annotated[float | None, typer.Option(help="|w|^2 at most this, in place of --ridge.")]
LossName = Annotated[
    str | None,
    typer.Option(help="squared (default), logistic, poisson, huber, squared_hinge, tukey, ..."),
]
Intercept = Annotated[
    bool | None, typer.Option("--intercept/--no-intercept", help="Default: with an intercept.")
]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Pose the problem on columns of mean 0 and standard deviation 1 (default); "
        "coefficients are printed in your units either way.",
    ),
]
Positive = Annotated[bool | None, typer.Option("--positive", help="No negative coefficient.")]
Always = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Features always in, uncounted: names and commas."),
]
Never = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Features left out: names and commas.")
]
Tolerance = Annotated[float, typer.Option(help="Relative gap that counts as optimal.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds; the bounds hold whenever it stops.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Search until the model is proved optimal (may be long).")
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Save the exact search here, and go on from it (.npz)."),
]
CertificateFile = Annotated[
    Path | None, typer.Option("--certificate", help="Save the proof here, for verify (JSON).")
]


@dataclass(frozen=True)
class Parameters:
    """A problem without its data, as options and model files state it."""

    loss: str = "squared"
    k: int | None = 10
    l0: float | None = None
    ridge: float | None = 0.1
    ball: float | None = None
    fit_intercept: bool = True
    standardize: bool = True
    positive: bool = False
    always: tuple[str | int, ...] = ()
    never: tuple[str | int, ...] = ()

    def changed(self, **given: Any) -> Parameters:
        """The same with what was given (not None); k replaces l0, a ball the ridge, and so on."""
        changes = {name: value for name, value in given.items() if value is not None}
        for pair in (("k", "l0"), ("ridge", "ball")):
            if not changes.keys().isdisjoint(pair):
                changes = dict.fromkeys(pair) | changes
        return replace(self, **changes)

    def program(self, table: Table) -> Program:
        """The problem on these data."""
        from sparsebounds.program import Program

        return Program(
            table.X,
            table.y,
            sample_weight=table.weights,
            offset=table.offset,
            feature_names=table.names,
            **asdict(self),
        )


def listed(option: str, values: list[str] | None, table: Table) -> tuple[str | int, ...] | None:
    """The features of --always or --never: names, or column numbers where there are none."""
    if not values:
        return None
    known = table.names
    parts = [
        part.strip()
        for value in values
        for part in ([value] if known is not None and value in known else value.split(","))
    ]
    if known is not None:
        return tuple(parts)
    for part in parts:
        if not part.isdecimal():
            raise InputError(
                f"{option} {part!r}: the data have no feature names; pass column numbers, "
                "from 0, or add an array feature_names."
            )
    return tuple(int(part) for part in parts)
