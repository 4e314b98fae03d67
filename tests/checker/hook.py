"""A plugin: every certificate that tests make, and `verify` accepts, goes to the checker.

    pytest -p tests.checker.hook tests/certificates

A certificate that the checker refuses, or that the schema does not allow, fails the test that made
it. Losses of tests' own, data of more than MOST numbers, and proofs that take more than about a
minute are left out and counted; so are kinds of which the checker says that it does not know them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker.schema import ROOT, SCHEMA, flaws

from sparsebounds.certificates import Certificate, verify
from sparsebounds.certificates.codec import encode

sys.path.insert(0, str(ROOT / "checker"))
import check_certificate
from loss_functions import LOSSES

MOST = 20_000
made = Certificate.build.__func__  # type: ignore[attr-defined]
told: dict[str, Any] = {"checked": 0, "left out": 0, "not known": 0, "longest": 0.0, "known": set()}


def brief(certificate: Certificate, n: int, m: int) -> bool:
    """Whether the checker takes less than about a minute."""
    tree, rows = certificate.tree, certificate.rows
    nodes, branches = (0 if one is None else one.size for one in (tree, rows))
    few = nodes <= 1000 and (len(certificate.duals) + nodes) * n * m <= 20_000_000
    few = few and (tree is None or tree.minorant is None or len(tree.kept) <= 200)
    return few and len(certificate.boxes) * n <= 1000 and branches * n * m <= 200_000


def build(cls: type[Certificate], program: Any, *arguments: Any, **named: Any) -> Certificate:
    certificate: Certificate = made(cls, program, *arguments, **named)
    data = program.data
    n, m = data.matrix.shape
    small = n * m <= MOST and program.loss.name in LOSSES and brief(certificate, n, m)
    if not (small and np.isfinite([certificate.lower, certificate.upper]).all()):
        told["left out"] += 1
        return certificate
    X = np.array(data.matrix.columns(np.arange(m)))
    given = {"X": X, "y": data.y, "sample_weight": data.weights}
    if data.offset is not None:
        given["offset"] = data.offset
    text = encode(certificate)
    if hash(text) in told["known"] or not verify(certificate, **given).ok:
        return certificate
    told["known"].add(hash(text))
    assert not list(flaws(json.loads(text), SCHEMA))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        path.write_text(text, encoding="utf-8")
        start = time.process_time()
        why = check_certificate.refusal(str(path), given)
        told["longest"] = max(told["longest"], time.process_time() - start)
    if why.startswith("this checker does not know"):
        told["not known"] += 1
        return certificate
    told["checked"] += 1
    assert why == "", why
    return certificate


Certificate.build = classmethod(build)  # type: ignore[method-assign, assignment]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        f"Certificates: {told['checked']} proved by the checker, {told['left out']} left out, "
        f"{told['not known']} of a kind that it does not know; "
        f"the longest took {told['longest']:.1f} s."
    )
