"""Solving: a model, both bounds and their certificate, from a program; or from others' models."""

from __future__ import annotations

from sparsebounds.solving.certify import certify
from sparsebounds.solving.noise import Scale as Scale
from sparsebounds.solving.noise import noise_scale
from sparsebounds.solving.noise import scaled_loss as scaled_loss
from sparsebounds.solving.nonconvex import check_search as check_search
from sparsebounds.solving.nonconvex import solve_nonconvex as solve_nonconvex
from sparsebounds.solving.outliers import Outliers as Outliers
from sparsebounds.solving.predicting import Predicting as Predicting
from sparsebounds.solving.proof import best_leaves as best_leaves
from sparsebounds.solving.proof import better_root as better_root
from sparsebounds.solving.proof import certificate_from as certificate_from
from sparsebounds.solving.proof import proved as proved
from sparsebounds.solving.proof import wide_gap as wide_gap
from sparsebounds.solving.reach import reach_sentence as reach_sentence
from sparsebounds.solving.sentences import bounds_sentence as bounds_sentence
from sparsebounds.solving.sentences import classes_sentence as classes_sentence
from sparsebounds.solving.sentences import depends as depends
from sparsebounds.solving.sentences import features_sentence as features_sentence
from sparsebounds.solving.sentences import status_words as status_words
from sparsebounds.solving.solution import Solution, SolutionStats
from sparsebounds.solving.solve import CLOSED as CLOSED
from sparsebounds.solving.solve import posed as posed
from sparsebounds.solving.solve import solve, solve_program

__all__ = ["Solution", "SolutionStats", "certify", "noise_scale", "solve", "solve_program"]
