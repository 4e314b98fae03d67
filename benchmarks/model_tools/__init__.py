"""Other software that finds sparse models, one tool a file, each with its reason to skip.

`run` is what is timed: from arrays to coefficients. Every support it names is then refitted by us,
untimed, so that nobody loses for want of a ridge or of digits.
"""

from __future__ import annotations

from benchmarks.model_tools.abess_splicing import Abess
from benchmarks.model_tools.base import ModelTool, Suggestion
from benchmarks.model_tools.celer_path import CelerPath
from benchmarks.model_tools.fastsparse import FastSparse
from benchmarks.model_tools.okridge_beam import OKRidgeBeam
from benchmarks.model_tools.omp import MatchingPursuit

MODEL_TOOLS: tuple[ModelTool, ...] = (
    Abess(),
    FastSparse(),
    OKRidgeBeam(),
    CelerPath(),
    MatchingPursuit(),
)

__all__ = ["MODEL_TOOLS", "ModelTool", "Suggestion"]
