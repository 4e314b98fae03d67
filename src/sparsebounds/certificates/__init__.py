"""Certificates: build, save, load and verify, without any solver."""

from __future__ import annotations

from sparsebounds._support.errors import CertificateError
from sparsebounds.certificates.certificate import (
    Certificate,
    Leaf,
    leaf_bound,
    leaf_claim,
)
from sparsebounds.certificates.cover import uncovered
from sparsebounds.certificates.verification import Verdict, verify
from sparsebounds.problem import Problem

__all__ = [
    "Certificate",
    "CertificateError",
    "Leaf",
    "Problem",
    "Verdict",
    "leaf_bound",
    "leaf_claim",
    "uncovered",
    "verify",
]
