"""The checker in `checker/`: it proves what the package made, and nothing that is false."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.certificates import FOLDER, draw_genuine, falsehood
from tests.hostile.draw import chance, draw_spec, pick
from tests.hostile.forge import KINDS, Document, Genuine, sign
from tests.hostile.forgeries import FORGERIES
from tests.hostile.losses import CONVEX
from tests.hostile.nonconvex import NAMES
from tests.hostile.programs import DOCUMENTED
from tests.hostile.reference import precise
from tests.hostile.spec import Spec

import sparsebounds as sb
from sparsebounds._support.errors import CertificateError

sys.path.insert(0, str(Path(__file__).parents[2] / "checker"))
import check_certificate

Rng = np.random.Generator
UNKNOWN = "where exponentials are not evaluated"


class Checker(Attack):
    """Certificates of nasty programs, which must be accepted, and forged ones."""

    name, weight = "checker", 4.0

    def case(self, rng: Rng) -> Finding | None:
        if chance(rng, 0.5):
            return accepted(draw_spec(rng, (*CONVEX, *NAMES), most=5), rng)
        source, words = draw_genuine(rng), []
        document = source.document
        with contextlib.suppress(TypeError, LookupError, ValueError, AttributeError):
            for _ in range(int(rng.integers(1, 3))):
                words.append(pick(rng, *FORGERIES)(rng, document, source))
        what = f"{source.kind} ({KINDS.index(source.kind)}): {'; '.join(words)}"
        return forged(source, document, what)


def said(content: bytes, spec: Spec) -> str:
    """What the checker says of a file."""
    path = Path(FOLDER.name) / "checked.json"
    path.write_bytes(content)
    data = {name: np.asarray(x) for name, x in spec.data.items() if x is not None}
    return str(check_certificate.judged(str(path), data)[1])


def accepted(spec: Spec, rng: Rng) -> Finding | None:
    """The certificate of a nasty program."""
    what = spec.words()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exact = pick(rng, False, "auto", True)
            solution = sb.solve(**spec.data, **spec.problem, exact=exact, node_limit=60)
    except DOCUMENTED:
        return None
    try:
        path = Path(FOLDER.name) / "made.json"
        solution.certificate.save(path)
        answer = said(path.read_bytes(), spec)
    except CertificateError:
        return None
    except Exception as error:
        return crash(what, error)
    if answer.startswith("Proved: ") or UNKNOWN in answer:
        return None
    return Finding("the checker refuses what the package made", f"{what}: {answer}")


@precise
def forged(source: Genuine, document: Document, what: str) -> Finding | None:
    """A forger who writes the bounds that a refusal tells."""
    for _ in range(3):
        try:
            answer = said(sign(document), source.spec)
            if answer.startswith("Proved: "):
                return told_truth(source, json.loads(sign(document)), what)
        except Exception as error:
            return crash(what, error)
        told = re.search(r"(lower|upper) bound .* (?:has|give) (-?[0-9.e+-]+)\.$", answer)
        if told is None:
            return None
        side = told.group(1)
        document[side] = float(
            np.nextafter(float(told.group(2)), -np.inf if side == "lower" else np.inf)
        )
    return None


def told_truth(source: Genuine, document: Document, what: str) -> Finding | None:
    """What is false in a document that the checker accepted."""
    model = document["model"]
    claims: dict[str, Any] = {key: document[key] for key in ("lower", "upper")}
    problem = SimpleNamespace(level=document["problem"].get("level", 0.0))
    stored = SimpleNamespace(
        support=model["support"], coef=model["coef"], intercept=model["intercept"],
        problem=problem, **claims,
    )  # fmt: skip
    return falsehood(source, stored, SimpleNamespace(**claims), document, what)  # type: ignore[arg-type]
