"""Groups: programs with groups of one to four columns through every way, and forged proofs."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
from tests.hostile import nonconvex, programs
from tests.hostile.attack import Attack, Finding, crash
from tests.hostile.certificates import FOLDER, judged
from tests.hostile.draw import chance, draw_spec, pick
from tests.hostile.forge import GROUPED, Document, Genuine, genuine
from tests.hostile.forgeries import FORGERIES
from tests.hostile.spec import Spec

import sparsebounds as sb
from sparsebounds.certificates.codec import encode
from sparsebounds.testing._conic import conic_relaxation

Rng = np.random.Generator


class Groups(Attack):
    """Random programs with groups through `solve` and its kin."""

    name, weight = "groups", 3.0

    def case(self, rng: Rng) -> Finding | None:
        if chance(rng, 0.1):
            return nonconvex.attack_spec(draw_spec(rng, nonconvex.NAMES, 4, grouped=True), rng)
        spec = draw_spec(rng, grouped=True)
        if chance(rng, 0.05):
            return attempted(alone, spec)
        if chance(rng, 0.1):
            return attempted(against_the_conic_solver, spec)
        return programs.attack_spec(spec, pick(rng, *programs.WAYS), rng)


class GroupCertificates(Attack):
    """Certificates of programs with groups, forged and signed again."""

    name, weight = "group-certificates", 2.0

    def case(self, rng: Rng) -> Finding | None:
        source = genuine(int(rng.integers(3)), FOLDER.name, pick(rng, *GROUPED))
        document, words = source.document, list[str]()
        with contextlib.suppress(TypeError, LookupError, ValueError, AttributeError):
            for _ in range(int(rng.integers(1, 3))):
                words.append(pick(rng, *FORGERIES, regroup, regroup)(rng, document, source))
        return judged(
            source, document, f"{source.kind}: {'; '.join(words)}", adapt=chance(rng, 0.5)
        )


def regroup(rng: Rng, document: Document, source: Genuine) -> str:
    """Other groups than those of the proof."""
    problem, m = document["problem"], source.spec.X.shape[1]
    how = pick(rng, "none", "merged", "split", "wild")
    if how == "none":
        del problem["groups"]
    elif how == "merged":
        heads = sorted(set(problem["groups"]))
        first, second = sorted(rng.choice(heads, 2, replace=False).tolist())
        problem["groups"] = [first if g == second else g for g in problem["groups"]]
    elif how == "split":
        j = int(rng.integers(m))
        problem["groups"] = [j if i == j else g for i, g in enumerate(problem["groups"])]
    else:
        problem["groups"] = rng.integers(0, m, size=m).tolist()
    problem.pop("group_names", None)
    return f"groups {how}"


def attempted(check: Any, spec: Spec) -> Finding | None:
    """One check, whose program may be refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check(spec)
    except programs.DOCUMENTED:
        return None
    except Exception as error:
        return crash(spec.words(), error)


def alone(spec: Spec) -> Finding | None:
    """Groups of one column change no digit of an answer."""
    plain = spec.but(groups=None, l0=spec.l0 if np.ndim(spec.l0) == 0 else float(spec.l0[0]))
    if np.ndim(spec.ridge) and len(spec.ridge) < spec.X.shape[1]:
        plain = plain.but(ridge=float(spec.ridge[0]))
    each = plain.but(groups=tuple(range(spec.X.shape[1])))
    found = [sb.solve(**one.data, **one.problem) for one in (plain, each)]
    if encode(found[0].certificate) != encode(found[1].certificate):
        return Finding("groups of one change the answer", plain.words())
    return None


def against_the_conic_solver(spec: Spec) -> Finding | None:
    """The relaxation has the value that an interior-point solver finds, where it can."""
    program = sb.Program(**spec.data, **spec.problem)
    relaxed = sb.relax(program, tol=1e-8)
    sizes = program.matrix.norms
    size = np.asarray(program.ridges if program.ball is None else program.ball)
    tame = np.all((sizes > 1e-2) & (sizes < 1e3)) and np.all((size > 1e-3) & (size < 1e3))
    if not tame or np.max(np.abs(program.y)) > 1e3 or abs(program.null) < 1e-3:
        return None
    near = 5e-6 * max(abs(relaxed.value), abs(program.null)) + 1e-9
    if relaxed.status != "optimal":
        return Finding("a relaxation ends early", f"{spec.words()}: {relaxed.status}")
    conic = conic_relaxation(program)
    other = conic.value
    if not abs(other - relaxed.value) <= near and not conic.accurate:
        # Its value is no referee, but its dual vector proves a bound, and so does ours.
        point = sb.bounds.dual_point(program, conic.a)
        other = max(sb.bounds.bound_at(program, point, lagrangian=True), relaxed.dual_value)
    if not abs(other - relaxed.value) <= near:
        return Finding(
            "not the relaxation's value", f"{spec.words()}: {relaxed.value!r}, conic {other!r}"
        )
    return None
