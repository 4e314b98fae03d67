"""The bars: what was promised before anything was measured, and whether the promise was kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One bar on one problem."""

    problem: str
    bar: str
    measured: str
    passed: bool | None
    """None: open, because there was nothing to compare with."""


def under(problem: str, value: float, most: float, unit: str, *, what: str = "") -> Verdict:
    """`value` is to stay below `most`."""
    bar = f"{what} under {most:g} {unit}".strip()
    return Verdict(problem, bar, f"{value:.2f} {unit}", value < most)


def predicted(problem: str, bar: str, seconds: float, expected: float) -> Verdict:
    """The time taken is to be within a factor of 2 of the time that was expected."""
    ratio = max(seconds / expected, expected / seconds)
    return Verdict(problem, bar, f"{ratio:.2f}", ratio < 2.0)
