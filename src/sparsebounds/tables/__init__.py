"""Tables in files: read, choose columns, fill or drop gaps, encode text, hold rows out.

    file -> frame -> features, target, weights, offset -> rows without gaps -> split -> X, y

The way from columns to X is a `Recipe`, which a model file keeps, so that new rows go it too.
"""

from __future__ import annotations

from sparsebounds.tables.choice import IMPUTATIONS, Choice, check_column, split_names
from sparsebounds.tables.files import check_file, is_archive, load_arrays, read_frame
from sparsebounds.tables.grouping import TableGroups, grouped_columns, placed
from sparsebounds.tables.kinds import as_numbers
from sparsebounds.tables.missing import check_gaps, not_a_number_is_missing, refuse_infinite
from sparsebounds.tables.recipe import Column, Recipe
from sparsebounds.tables.response import MOST_CLASSES, check_response, labels_of
from sparsebounds.tables.suggestions import did_you_mean, listing
from sparsebounds.tables.table import Reading, Rows, read_table
from sparsebounds.tables.twins import USUAL, Likeness

__all__ = [
    "IMPUTATIONS",
    "MOST_CLASSES",
    "USUAL",
    "Choice",
    "Column",
    "Likeness",
    "Reading",
    "Recipe",
    "Rows",
    "TableGroups",
    "as_numbers",
    "check_column",
    "check_file",
    "check_gaps",
    "check_response",
    "did_you_mean",
    "grouped_columns",
    "is_archive",
    "labels_of",
    "listing",
    "load_arrays",
    "not_a_number_is_missing",
    "placed",
    "read_frame",
    "read_table",
    "refuse_infinite",
    "split_names",
]
