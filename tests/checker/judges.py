"""What the package and the checker say of a document, and whether it is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.checker.schema import ROOT
from tests.truncated import candidates

from sparsebounds.certificates import Certificate, CertificateError
from sparsebounds.certificates.codec import decode
from sparsebounds.losses import NONCONVEX, REGISTRY
from sparsebounds.testing import brute_force

CHECKER = ROOT / "checker" / "check_certificate.py"
Check = Callable[[Any, dict[str, Any]], str]


def optimum(certificate: Certificate, data: dict[str, Any]) -> float:
    """The least objective of the problem that a certificate states, by exhaustive search."""
    problem = certificate.problem
    loss = (REGISTRY | NONCONVEX)[problem.loss](**problem.loss_parameters)
    given = {"sample_weight": None, "offset": None} | data
    program = problem.program(**given, m=data["X"].shape[1], loss=loss)
    return candidates(program).best() if problem.loss == "truncated" else brute_force(program).value


def verdicts(document: Any, data: dict[str, Any], check: Check) -> tuple[str, str]:
    """Why the package and the checker refuse a document, "" where they do not.

    What either accepts is true, by exhaustive search.
    """
    ours = check(document, data)
    try:
        certificate = decode(json.dumps(document).encode())
    except CertificateError as error:
        theirs = f"file: {error}"
        if not ours:
            return theirs, ours
    else:
        verdict = certificate.verify(**data)
        theirs = "" if verdict.ok else verdict.message
    if not (theirs and ours):
        least = optimum(certificate, data)
        slack = 1e-7 * max(1.0, abs(least))  # of the exhaustive search, which is in floats
        assert certificate.lower <= least + slack
        assert least <= certificate.upper + slack
    return theirs, ours
