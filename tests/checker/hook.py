"""A plugin: every certificate that tests make, and `verify` accepts, goes to the checker.

    pytest -p tests.checker.hook tests/certificates

A certificate that the checker refuses, or that the schema does not allow, fails the test that made
it. Losses of tests' own, data of more than MOST numbers, and proofs that take more than about ten
seconds are left out and counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
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

MOST, LONG = 20_000, 2e7
made = Certificate.build.__func__  # type: ignore[attr-defined]
proved: Counter[str] = Counter()
left_out: Counter[str] = Counter()
known: dict[int, float] = {}
"""The seconds that each certificate took."""


def why_not(certificate: Certificate, program: Any) -> str:
    """Why a certificate is left out; "" where it is not."""
    n, m = program.data.matrix.shape
    tree, rows, boxes = certificate.tree, certificate.rows, len(certificate.boxes)
    size = (len(certificate.duals) + (0 if tree is None else tree.size)) * n * m
    size += 0 if tree is None or tree.minorant is None else n * len(tree.kept) ** 2
    ends = 0 if rows is None else sum(len(one.row) for part in rows.spans for _, one in part.rounds)
    size += 1000 * boxes * n + 20 * (0 if rows is None else (rows.size + ends) * n * (m + 20))
    if program.loss.name not in LOSSES:
        return "a loss of the test's own"
    if not np.isfinite([certificate.lower, certificate.upper]).all():
        return "not finite"
    if tree is not None and len(tree.kept) > m:
        return "no proof"
    return "many entries of X" if n * m > MOST else "long" if size > LONG else ""


def kinds(certificate: Certificate) -> Iterator[str]:
    """What a certificate is, and what its proof holds."""
    tree, problem = certificate.tree, certificate.problem
    yield problem.loss
    if certificate.boxes:
        yield "boxes"
    if len(problem.groups):
        yield "groups"
    if problem.standardize is not None:
        yield "standardized"
    if certificate.rows is not None:
        yield f"rows of {problem.loss}"
        if certificate.rows.spans:
            yield "spans"
    elif tree is None:
        yield "leaves"
    else:
        yield "tree"
        if tree.shifts:
            yield "shifts"
        if len(tree.exhausted):
            yield "exhausted"
        if tree.minorant is not None:
            yield "minorant" if tree.minorant.region is None else "region"


def build(cls: type[Certificate], program: Any, *arguments: Any, **named: Any) -> Certificate:
    certificate: Certificate = made(cls, program, *arguments, **named)
    reason = why_not(certificate, program)
    if reason:
        left_out[reason] += 1
        return certificate
    data = program.data
    X = np.array(data.matrix.columns(np.arange(data.matrix.shape[1])))
    given = {"X": X, "y": data.y, "sample_weight": data.weights}
    if data.offset is not None:
        given["offset"] = data.offset
    text = encode(certificate)
    if hash(text) in known or not verify(certificate, **given).ok:
        return certificate
    assert not list(flaws(json.loads(text), SCHEMA))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        path.write_text(text, encoding="utf-8")
        start = time.process_time()
        code, sentence = check_certificate.judged(str(path), given)
        known[hash(text)] = time.process_time() - start
    assert code == 0, sentence
    proved.update(kinds(certificate))
    return certificate


Certificate.build = classmethod(build)  # type: ignore[method-assign, assignment]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    longest = max(known.values(), default=0.0)
    for line in (
        f"Certificates put to the checker: {len(known)}; the longest took {longest:.1f} s.",
        f"Proved: {dict(proved.most_common())}.",
        f"Left out: {dict(left_out.most_common())}.",
    ):
        terminalreporter.write_line(line)
