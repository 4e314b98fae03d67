"""Reports: what was found and proved, in one HTML file that opens offline.

    a solution or a path -> sections of text, tables and charts -> a page

Charts are plotly's, drawn by its script, which the page holds; nothing is fetched.
"""

from __future__ import annotations

from sparsebounds.report.origin import Held, Origin
from sparsebounds.report.page import require_report
from sparsebounds.report.path import report_path
from sparsebounds.report.scores import Scores as Scores
from sparsebounds.report.scores import predicted as predicted
from sparsebounds.report.scores import scored as scored
from sparsebounds.report.solution import Tried, report_solution

__all__ = ["Held", "Origin", "Tried", "report_path", "report_solution", "require_report"]
