"""Parameters: a problem without its data, as options and model files state it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from sparsebounds._support.errors import InputError
from sparsebounds.tables import Rows, check_response

if TYPE_CHECKING:
    from sparsebounds.program import Program


@dataclass(frozen=True)
class Parameters:
    """The arguments of a Program that are not data."""

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

    def program(self, table: Rows) -> Program:
        """The problem on these data."""
        from sparsebounds.losses import get_loss
        from sparsebounds.program import Program

        if len(table.y) == 1:
            raise InputError("The data have one row; a model needs two or more.")
        explained = self.fit_intercept and table.offset is None
        check_response(
            table.y,
            f"The target {table.target!r}",
            get_loss(self.loss),
            constant_allowed=not explained,
        )
        return Program(
            table.X,
            table.y,
            sample_weight=table.weights,
            offset=table.offset,
            feature_names=table.names,
            **asdict(self),
        )
