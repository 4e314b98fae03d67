"""Reports: what was found and proved, in one HTML file that opens offline.

    a solution or a path -> sections of text, tables and charts -> a page

Charts are plotly's, drawn by its script, which the page holds; nothing is fetched.
"""

from __future__ import annotations

from sparsebounds.report.classes import ManyRows as ManyRows
from sparsebounds.report.classes import OneClass as OneClass
from sparsebounds.report.classes import report_classes as report_classes
from sparsebounds.report.near import report_near as report_near
from sparsebounds.report.near import worse as worse
from sparsebounds.report.origin import Origin
from sparsebounds.report.outliers import MarkedRows as MarkedRows
from sparsebounds.report.page import check_report as check_report
from sparsebounds.report.page import require_report
from sparsebounds.report.path import report_path
from sparsebounds.report.scores import Held
from sparsebounds.report.scores import Predicted as Predicted
from sparsebounds.report.scores import Scores as Scores
from sparsebounds.report.scores import chance as chance
from sparsebounds.report.scores import predictions as predictions
from sparsebounds.report.solution import Tried, report_solution

__all__ = ["Held", "Origin", "Tried", "report_path", "report_solution", "require_report"]
