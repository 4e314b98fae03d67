"""Groups of a table's columns: what options say of them, and which columns of X they are.

They are kept by the table's own columns, of which a column of text stands for all its values: new
rows may have other values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparsebounds._support.errors import InputError
from sparsebounds.tables.choice import matching
from sparsebounds.tables.suggestions import listing
from sparsebounds.tables.table import Reading, Rows

TableGroups = Mapping[str, Sequence[str]]
"""Name -> columns of the table, or of X."""


def grouped_columns(
    reading: Reading, named: Sequence[str], prefixes: Sequence[str], *, levels: bool
) -> dict[str, list[str]]:
    """The groups of --group and --group-by, and each encoded column unless it goes by `levels`."""
    rows, found = reading.train, dict[str, list[str]]()
    if rows.columns is None and not (named or prefixes):
        return found  # arrays hold no encoded column, and may hold many others
    own = [*dict.fromkeys(rows.sources)]
    known = [*dict.fromkeys([*own, *rows.labels])]
    for value in named:
        name, equals, columns = (part.strip() for part in value.partition("="))
        if not (name and equals and columns):
            raise InputError(
                f"--group {value!r} must be a name and columns, such as --group labs=crp,wbc."
            )
        option = f"--group {name}"
        members = matching(option, [columns], known, reading.path)
        if name in known and name not in members:
            raise InputError(
                f"{option}: there is a column {name!r}, which is not in it; give the group another "
                "name."
            )
        _add(found, option, name, members)
    for prefix in prefixes:
        members = [column for column in own if column.startswith(prefix)]
        if not (prefix and members):
            raise InputError(
                f"--group-by {prefix!r}: no feature begins so; {reading.path} has {listing(own)}."
            )
        _add(found, f"--group-by {prefix}", prefix.rstrip("_-. ") or prefix, members)
    given = placed(rows, found)
    taken = {place for places in given.values() for place in places}
    for column in [] if levels else own:
        places = rows.places(column)
        if len(places) > 1 and taken.isdisjoint(places):
            _add(found, "--group", column, [column])
    return found


def placed(rows: Rows, groups: TableGroups) -> dict[str, list[int]]:
    """The groups by columns of X; InputError for one that is not there, or in two groups."""
    found, owner = dict[str, list[int]](), dict[int, str]()
    for name, columns in groups.items():
        found[name] = []
        for column in columns:
            places = rows.places(column)
            if not places:
                raise InputError(
                    f"The group {name!r} holds {column!r}, which the data do not have; they have "
                    f"{listing(dict.fromkeys(rows.sources))}."
                )
            for place in places:
                if place in owner:
                    raise InputError(
                        f"The feature {rows.labels[place]!r} is in the group {owner[place]!r} and "
                        f"again in {name!r}; a feature belongs to one group."
                    )
                owner[place] = name
            found[name] += places
    return found


def _add(found: dict[str, list[str]], option: str, name: str, columns: list[str]) -> None:
    if name in found:
        raise InputError(f"{option}: there is a group {name!r} already; give it another name.")
    found[name] = columns
