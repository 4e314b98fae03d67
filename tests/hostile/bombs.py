"""Bombs: small certificates that would cost much memory or time."""

from __future__ import annotations

import numpy as np
from tests.hostile.attack import Attack, Finding
from tests.hostile.certificates import draw_genuine, load
from tests.hostile.draw import chance, pick
from tests.hostile.forge import Document, Genuine, sign, zeros
from tests.hostile.sandbox import forked

Rng = np.random.Generator
SECONDS, MEGABYTES = 1.0, 200.0
"""What refusing a hostile file may cost."""


class Bombs(Attack):
    """Small certificates that would cost much memory or time."""

    name, weight, patience = "bombs", 1.0, 120.0

    def case(self, rng: Rng) -> Finding | None:
        how = pick(rng, *BOMBS)
        source = draw_genuine(rng, "wide" if how is many_leaves else "tree")
        content = how(rng, source)
        what = f"{how.__name__}, {len(content)} bytes"

        def attempt() -> str:
            certificate = load(content)
            return "" if certificate is None else str(certificate.verify(**source.spec.data).ok)

        outcome = forked(attempt, 15.0)
        if outcome.error:
            return Finding(f"{outcome.error.split(':')[0]} ({how.__name__})", f"{what}: {outcome}")
        if outcome.result == "True" and how is not many_leaves:  # these may well cover
            return Finding("a bomb verifies", what)
        # Of leaves, each takes its time; and what proves something, that of the proof.
        seconds = SECONDS + 5e-6 * len(content) * (how is many_leaves)
        if outcome.seconds > 1.5 * seconds or outcome.megabytes > MEGABYTES:
            return Finding(f"a costly file ({how.__name__})", f"{what}: {outcome}")
        return None


def many_leaves(rng: Rng, source: Genuine) -> bytes:
    """Random leaves on many features."""
    document, m = source.document, source.spec.X.shape[1]
    width = int(rng.integers(4, 9))

    def leaf() -> Document:
        chosen = rng.choice(m, size=width, replace=False).tolist()
        cut = int(rng.integers(width + 1))
        return {"inside": chosen[:cut], "outside": chosen[cut:], "low": 0, "high": None, "dual": 0}

    document["leaves"] = [leaf() for _ in range(int(rng.integers(2000, 4001)))]
    return sign(document)


def large_tree(rng: Rng, source: Genuine) -> bytes:
    """A tree that claims many columns, and packs as many zeros."""
    document, count = source.document, 2 ** int(rng.integers(22, 26))
    document["data"]["shape"][1] = 2**40
    document["tree"] |= {"kept_count": count, "kept": zeros(count, "<i8"), "splits": count // 2}
    return sign(document)


def large_counts(rng: Rng, source: Genuine) -> bytes:
    """A tree of many splits, all zeros."""
    document, splits = source.document, 2 ** int(rng.integers(21, 25))
    document["tree"] |= {
        "splits": splits,
        "counts": zeros(1 + 2 * splits, "<i4"),
        "fixed_counts": zeros(1 + 2 * splits, "<i4"),
        "parent": zeros(splits, "<i8"),
        "feature": zeros(splits, "<i4"),
        "intercept": zeros(1 + 2 * splits, "<f8"),
    }
    return sign(document)


def odd_sizes(rng: Rng, source: Genuine) -> bytes:
    """Claimed sizes near the limits of integers."""
    document = source.document
    size = int(pick(rng, 2**31, 2**32, 2**40, 2**60, 2**61, 2**62 - 1, 2**62))
    if chance(rng, 0.5):
        document["data"]["shape"] = [size, 4] if chance(rng, 0.5) else [4, size]
    else:
        document["data"]["shape"][1] = size
        document["tree"][pick(rng, "kept_count", "splits")] = size
    return sign(document)


def nested(rng: Rng, source: Genuine) -> bytes:
    """Brackets within brackets, long numbers, keys twice, numbers that are none."""
    text = sign(source.document).decode()
    depth = int(rng.integers(10_000, 300_000))
    return pick(
        rng,
        text.replace('"lower":', '"lower": ' + "[" * depth + "]" * depth + ', "x":', 1),
        text.replace('"lower":', '"lower": 1e999, "x":', 1),
        text.replace('"lower":', f'"lower": {"9" * depth}, "x":', 1),
        text.replace('"lower":', '"lower": NaN, "x":', 1),
        text.replace('"lower":', '"lower": -Infinity, "lower":', 1),
        text.replace('"lower":', '"\\ud800": 1, "lower":', 1),
        "[" * depth,
        '{"format":' * depth,
        text * 2,
        "\ufeff" + text,
    ).encode("utf-8", "surrogatepass")


BOMBS = (many_leaves, large_tree, large_counts, odd_sizes, odd_sizes, nested)
