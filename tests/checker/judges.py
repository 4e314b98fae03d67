"""What the package and the checker say of a document, and whether it is true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from tests.checker.schema import ROOT
from tests.truncated import candidates

from sparsebounds._support.level import level_of
from sparsebounds.bounds import objective_up
from sparsebounds.certificates import Certificate, CertificateError
from sparsebounds.certificates.codec import _checksum, decode
from sparsebounds.losses import NONCONVEX, REGISTRY
from sparsebounds.program import Program
from sparsebounds.testing import brute_force

CHECKER = ROOT / "checker" / "check_certificate.py"
Check = Callable[[Any, dict[str, Any]], str]
known: dict[tuple[int, str], float] = {}
held: list[Any] = []
"""The data of what is known: no other array has the same id."""


def program_of(certificate: Certificate, data: dict[str, Any]) -> Program:
    """The problem that a certificate states."""
    problem, given = certificate.problem, {"sample_weight": None, "offset": None} | data
    if problem.level:  # that of the data is subtracted without rounding
        problem = replace(problem, level=level_of(given["y"], given["offset"]))
    loss = (REGISTRY | NONCONVEX)[problem.loss](**problem.loss_parameters)
    return problem.program(**given, m=data["X"].shape[1], loss=loss)


def searched(program: Program) -> float:
    """The least objective of local searches on every support: of a smooth loss, with a ridge."""
    free, rng = np.flatnonzero(program.free), np.random.default_rng(0)
    most = len(free) if program.k is None else min(program.k, len(free))
    best = np.inf
    for size in range(most + 1):
        for chosen in combinations(free.tolist(), size):
            held = program.always.copy()
            held[list(chosen)] = True
            used = np.flatnonzero(held)

            def objective(v: Any, used: Any = used) -> float:
                w = np.zeros(program.m)
                w[used] = np.where(program.positive[used], np.abs(v[:-1]), v[:-1])
                return objective_up(program, w, float(v[-1]) if program.fit_intercept else 0.0)

            for _ in range(3):
                start = rng.normal(size=len(used) + 1)
                best = min(best, minimize(objective, start, method="Nelder-Mead").fun)
    return float(best)


def optimum(certificate: Certificate, data: dict[str, Any], key: str) -> float:
    """The least objective found on the supports of the problem: of a model, so never too low."""
    place = id(data["X"]), key
    if place not in known:
        held.append(data["X"])
        program = program_of(certificate, data)
        if program.loss.name == "truncated":
            known[place] = candidates(program).best()
        elif program.loss.name in NONCONVEX:
            known[place] = searched(program)
        else:
            known[place] = brute_force(program).value
    return known[place]


def adapted(document: Any, ours: str, theirs: str) -> Iterator[Any]:
    """The document with the bounds that its refusals tell: what a forger would try next."""
    for message in (ours, theirs):
        told = re.search(r"(lower|upper) bound .* (?:has|give) (-?[0-9.e+-]+)\.$", message)
        if told is not None:
            side = told.group(1)
            near = np.nextafter(float(told.group(2)), -np.inf if side == "lower" else np.inf)
            changed = document | {side: float(near)}
            yield changed | {"sha256": _checksum(changed)}


def verdicts(document: Any, data: dict[str, Any], check: Check) -> tuple[str, str]:
    """Why the package and the checker refuse a document, "" where they do not.

    What either accepts is true: some model is found by trying every support, and it is not below
    `lower`; and the stored one is not above `upper`.
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
        least = optimum(certificate, data, json.dumps(document["problem"]))
        assert certificate.lower <= least
        w = np.zeros(data["X"].shape[1])
        w[certificate.support] = certificate.coef
        program = program_of(certificate, data)
        level = certificate.problem.level - program.level
        value = objective_up(program, w, certificate.intercept + level)
        assert value <= certificate.upper + 1e-12 * abs(value)
    return theirs, ours
