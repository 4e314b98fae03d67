"""Parameters: the arguments of a problem, as options and model files state them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsebounds._support.errors import InputError
from sparsebounds.arguments import DEFAULTS, DataArguments
from sparsebounds.losses import Loss, get_loss
from sparsebounds.program import Program
from sparsebounds.solving import scaled_loss
from sparsebounds.tables import Rows, check_response, placed

OWN: dict[str, Any] = {
    "c": None,
    "fit_intercept": True,
    "standardize": True,
    "always": (),
    "never": (),
    "groups": {},
}
"""Where the defaults of the command line are not those of the library; c is the loss's own, and
groups are of the table's columns."""

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

    @property
    def loss(self) -> Loss:
        """The loss, with its c."""
        return get_loss(self["loss"], self["c"])

    def scaled(self, table: Rows) -> Parameters:
        """The same with the c that the noise in these data gives, where it is "auto"."""
        if self["c"] != "auto":
            return self
        plain = self.changed(loss="squared")
        plain.values["c"] = None
        found = scaled_loss(self["loss"], "auto", lambda: plain.program(table))
        return self.changed(c=found.parameters()["c"])

    def program(self, table: Rows) -> Program:
        """The problem on these data."""
        if len(table.y) == 1:
            raise InputError("The data have one row; a model needs two or more.")
        explained = self["fit_intercept"] and table.offset is None
        name, loss = f"The target {table.target!r}", self.loss
        if not loss.two_class and not (table.positive is None and table.factors is None):
            raise InputError(
                f"--positive and --class-weight are about classes, but --loss {loss.name} about a "
                "number; pass --loss logistic."
            )
        if table.positive is None:
            check_response(table.y, name, loss, constant_allowed=not explained)
        return Program(
            table.X,
            table.response,
            sample_weight=table.mass,
            offset=table.offset,
            feature_names=table.names,
            **{name: value for name, value in self.values.items() if name != "c"}
            | {"loss": loss, "groups": placed(table, self["groups"])},
        )
