"""Parameters: the arguments of a problem, as options and model files state them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds.arguments import DEFAULTS, DataArguments
from sparsebounds.losses import get_loss
from sparsebounds.program import Program
from sparsebounds.tables import Rows, check_response

OWN = {"k": 10, "ridge": 0.1, "fit_intercept": True, "standardize": True, "always": (), "never": ()}
"""Where the defaults of the command line are not those of the library."""

STANDARD: dict[str, Any] = {
    name: value
    for name, value in (DEFAULTS | OWN).items()
    if name not in DataArguments.__annotations__
}

PAIRS = (("k", "l0"), ("ridge", "ball"))
"""Of two, one is given."""


@dataclass(frozen=True)
class Parameters:
    """The arguments of a program that are not data, by name."""

    values: dict[str, Any] = field(default_factory=STANDARD.copy)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def changed(self, **given: Any) -> Parameters:
        """The same with what was given (not None); k replaces l0, a ball the ridge, and so on."""
        changes = {name: value for name, value in given.items() if value is not None}
        for pair in PAIRS:
            if not changes.keys().isdisjoint(pair):
                changes = dict.fromkeys(pair) | changes
        return Parameters(self.values | changes)

    def program(self, table: Rows) -> Program:
        """The problem on these data."""
        if len(table.y) == 1:
            raise InputError("The data have one row; a model needs two or more.")
        explained = self["fit_intercept"] and table.offset is None
        name, loss = f"The target {table.target!r}", get_loss(self["loss"])
        check_response(table.y, name, loss, constant_allowed=not explained)
        return Program(
            table.X,
            table.y,
            sample_weight=table.weights,
            offset=table.offset,
            feature_names=table.names,
            **self.values,
        )
