"""Certificates: forged, signed again, verified. A claim that verifies must be true."""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.draw import chance, pick
from tests.hostile.forge import (
    KINDS,
    Document,
    Genuine,
    above,
    genuine,
    sign,
    stated,
)
from tests.hostile.forgeries import FORGERIES
from tests.hostile.reference import decimal, precise, stored_intercept
from tests.truncated import candidates

import sparsebounds as sb
from sparsebounds._support.errors import CertificateError

Rng = np.random.Generator
SECONDS = 1.0
"""What refusing a hostile file may cost."""

FOLDER = tempfile.TemporaryDirectory(prefix="hostile")


def draw_genuine(rng: Rng, *kinds: str) -> Genuine:
    number = int(rng.integers(3 * len(KINDS)))
    if kinds:
        number = KINDS.index(pick(rng, *kinds)) + len(KINDS) * (number % 3)
    return genuine(number, FOLDER.name)


class Certificates(Attack):
    """Documents with changed claims, proofs, models and problems, signed again."""

    name, weight = "certificates", 5.0

    def case(self, rng: Rng) -> Finding | None:
        source = draw_genuine(rng)
        document = source.document
        words: list[str] = []
        # The first may leave something that the second cannot work on.
        with contextlib.suppress(TypeError, LookupError, ValueError, AttributeError):
            for _ in range(int(rng.integers(1, 3))):
                words.append(pick(rng, *FORGERIES)(rng, document, source))
        what = f"{source.kind} ({KINDS.index(source.kind)}): {'; '.join(words)}"
        return judged(source, document, what, adapt=chance(rng, 0.5))


def load(content: bytes) -> sb.Certificate | None:
    """The certificate in these bytes; None where it is refused as it should be."""
    path = Path(FOLDER.name) / "forged.json"
    path.write_bytes(content)
    try:
        return sb.Certificate.load(path)
    except CertificateError:
        return None


@precise
def judged(
    source: Genuine, document: Document, what: str, *, adapt: bool = False
) -> Finding | None:
    """Load, verify, and hold what verifies against the truth. A forger who adapts writes the
    bounds that a refusal tells."""
    try:
        for _ in range(3 if adapt else 1):
            began = time.process_time()
            certificate = load(sign(document))
            verdict = None if certificate is None else certificate.verify(**source.spec.data)
            spent = time.process_time() - began
            if spent > 2.0 * SECONDS:
                return Finding("slow to judge a forgery", f"{what}: {spent:.1f} s")
            if certificate is None or verdict is None:
                return None
            if verdict.ok:
                return falsehood(source, certificate, verdict, document, what)
            if not verdict.message.startswith("Refused: "):
                return Finding("a refusal that does not say so", f"{what}: {verdict.message}")
            if not np.all(np.isfinite([verdict.lower, verdict.upper])):
                return None
            document |= {"lower": verdict.lower, "upper": verdict.upper}
    except Exception as error:
        return crash(what, error)
    return None


def falsehood(
    source: Genuine, certificate: sb.Certificate, verdict: Any, document: Document, what: str
) -> Finding | None:
    """What is false in a certificate that verified."""
    reference = stated(source, document)
    m = source.spec.X.shape[1]
    told = f"{what}: claims {certificate.lower!r} to {certificate.upper!r}, found " + (
        f"{verdict.lower!r} to {verdict.upper!r}"
    )
    coef = np.zeros(m)
    coef[certificate.support] = certificate.coef
    broken = reference.broken(coef)
    if broken is not None:
        return Finding("a verified model breaks a constraint", f"{told}; {broken}")
    attained = reference.objective(coef, stored_intercept(certificate), user=False)
    rounding = reference.rounding(coef, stored_intercept(certificate))
    if attained > decimal(verdict.upper) or attained - rounding > decimal(certificate.upper):
        return Finding("a verified upper bound is not attained", f"{told}; {attained:.20g}")
    optimum = above(attained)
    if reference.spec.convex and m <= 9:
        optimum = min(optimum, above(reference.best.high))
    if reference.spec.loss == "truncated" and not reference.spec.standardize and m <= 3:
        program = sb.Program(**reference.spec.data, **reference.spec.problem)
        optimum = min(optimum, candidates(program).best())
    if verdict.lower > optimum:
        return Finding("a recomputed lower bound is false", f"{told}; optimum {optimum!r}")
    if certificate.lower > optimum or certificate.lower > certificate.upper:
        return Finding("a forged claim verifies", f"{told}; optimum {optimum!r}")
    if certificate.lower > verdict.lower:
        return Finding("a claim above what is found verifies", told)
    return None
