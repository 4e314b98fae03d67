"""Other software for the relaxation, one competitor a file, each with its reason to skip.

`solve` is what is timed: from arrays, in the memory order the competitor likes and on the columns
as they are, to w. Whatever compiles is compiled before, on a corner of the same problem.
"""

from __future__ import annotations

from benchmarks.competitors.base import Answer, Competitor
from benchmarks.competitors.cvxpy_authors import CvxpyAuthors
from benchmarks.competitors.cvxpy_best import CvxpyBest
from benchmarks.competitors.el0ps_root import El0psRoot
from benchmarks.competitors.l0bnb_root import L0BnBRoot
from benchmarks.competitors.liu_shafiee_lodi import LiuShafieeLodi
from benchmarks.competitors.skglm_berhu import SkglmBerHu

COMPETITORS: tuple[Competitor, ...] = (
    SkglmBerHu(),
    El0psRoot(),
    L0BnBRoot(),
    LiuShafieeLodi(),
    CvxpyBest(),
    CvxpyAuthors(),
)

__all__ = ["COMPETITORS", "Answer", "Competitor"]
