"""Reading a data file for a command: a spinner, and remarks on standard error."""

from __future__ import annotations

from pathlib import Path

from sparsebounds.cli._output import spinner, tell
from sparsebounds.tables import Choice, Reading, read_table


def read(path: Path, choice: Choice) -> Reading:
    """The file as the options say."""
    with spinner(f"Reading {path.name}"):
        reading = read_table(path, choice)
    for note in reading.notes:
        tell(note)
    return reading
