"""Minorants on regions of good models: in files, and forged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

import sparsebounds as sb
from sparsebounds.bounds import Region
from sparsebounds.certificates import Certificate, tree_arrays, tree_from
from sparsebounds.certificates.codec import encode
from sparsebounds.certificates.tree_codec import REGION, texts
from sparsebounds.testing import brute_force

N, M = 70, 7
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, M)) + RNG.normal(size=(N, 1))
SIGNAL = X @ np.array([0.6, -0.7, 0.5, -0.4, 0.3, 0.0, 0.0])
CLASSES = np.where(RNG.random(N) < 1.0 / (1.0 + np.exp(-SIGNAL)), 1.0, -1.0)
COUNTS = RNG.poisson(np.exp(0.5 * SIGNAL)).astype(float)
WEIGHTS, OFFSET = RNG.uniform(0.5, 2.0, N), 0.3 * RNG.normal(size=N)
PROBLEMS: dict[str, dict[str, Any]] = {
    "logistic": {"y": CLASSES, "loss": "logistic", "k": 3, "ridge": 0.01, "fit_intercept": True},
    "poisson": {
        "y": COUNTS,
        "loss": "poisson",
        "l0": 0.02,
        "ridge": 0.02,
        "fit_intercept": True,
        "sample_weight": WEIGHTS,
        "offset": OFFSET,
    },
    "asked": {
        "y": CLASSES,
        "loss": "logistic",
        "k": 2,
        "ridge": 0.02,
        "offset": OFFSET,
        "standardize": True,
        "always": [4],
        "never": [6],
        "positive": np.arange(M) == 0,
    },
}


class Proved:
    """A certificate, what proves it, its data, and the optimum that no bound may exceed."""

    def __init__(self, name: str) -> None:
        problem = PROBLEMS[name]
        solution = sb.solve(X, exact=False, **problem)
        self.certificate, self.program = solution.certificate, solution.program
        assert self.certificate.tree is not None
        assert self.certificate.tree.minorant is not None
        self.tree, self.minorant = self.certificate.tree, self.certificate.tree.minorant
        assert self.minorant.region is not None
        self.region: Region = self.minorant.region
        self.optimum = brute_force(self.program).value
        assert solution.relaxation.lower < solution.lower <= self.optimum
        self.y, self.more = (
            problem["y"],
            {key: problem.get(key) for key in ("sample_weight", "offset")},
        )

    def verified(self, certificate: Certificate) -> Any:
        return certificate.verify(X, self.y, **self.more)

    def forged(self, minorant: Any = None, **fields: Any) -> Certificate:
        """With another region, and another minorant."""
        region = replace(self.region, **fields)
        minorant = replace(minorant or self.minorant, region=region)
        return replace(self.certificate, tree=replace(self.tree, minorant=minorant))


@pytest.fixture(scope="module", params=PROBLEMS)
def proved(request: pytest.FixtureRequest) -> Proved:
    return Proved(request.param)


def test_files(proved: Proved, tmp_path: Path) -> None:
    proved.certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded.tree is not None
    assert loaded.tree.minorant is not None
    for name, value in vars(proved.region).items():
        np.testing.assert_array_equal(getattr(loaded.tree.minorant.region, name), value)
    verdict = proved.verified(loaded)
    assert verdict.ok
    assert proved.certificate.lower <= verdict.lower <= proved.optimum
    assert not loaded.verify(X[::-1], proved.y, **proved.more).ok


def test_checkpoints(proved: Proved) -> None:
    arrays = tree_arrays(proved.tree, "here_")
    found = tree_from(arrays, proved.program, "here_").minorant
    assert found is not None
    for name, value in vars(proved.region).items():
        np.testing.assert_array_equal(getattr(found.region, name), value)
    for wrong in (proved.region.bend[:-1], proved.region.bend * math.nan):
        with pytest.raises(ValueError, match="bend"):
            tree_from(arrays | {"here_region_bend": wrong}, proved.program, "here_")


def test_other_storages_prove_the_claim(proved: Proved) -> None:
    """Sums in another order: a claim leaves the room for that."""
    for other in (np.asfortranarray(X), csc_array(X), X[:, ::-1].copy()[:, ::-1]):
        assert proved.certificate.verify(other, proved.y, **proved.more).ok


def forgeries(region: Region) -> Iterator[tuple[str, dict[str, Any]]]:
    """Numbers that are larger, smaller, swapped, or none."""
    for value in (1.0 + 1e-9, 1.001, 1.1, 2.0, -1.0, math.nan, math.inf):
        yield f"level * {value}", {"level": region.level * value}
    for name in ("center", "share", "bend"):
        array = getattr(region, name)
        for value in (1.0 + 1e-6, 1.01, 0.9, 2.0, 0.0, -1.0, math.nan, math.inf):
            with np.errstate(invalid="ignore"):
                yield f"{name} * {value}", {name: array * value}
            one = array.copy()
            one[int(np.argmax(np.abs(array)))] *= value
            yield f"one of {name} * {value}", {name: one}
        yield f"{name} swapped", {name: array[::-1].copy()}
        yield f"{name} of another length", {name: array[:-1]}
    yield "no region", {"bend": np.full(len(region.bend), 0.25), "share": 0.0 * region.share}
    for value in (1e-6, 0.1, 1e6, math.nan):
        yield f"intercept + {value}", {"intercept": region.intercept + value}


def test_forged_regions_prove_nothing_that_is_false(proved: Proved) -> None:
    refused = 0
    for what, fields in forgeries(proved.region):
        verdict = proved.verified(proved.forged(**fields))
        refused += not verdict.ok
        # NaN where it is no proof at all.
        assert not verdict.lower > proved.optimum, what
    assert refused >= 25


def test_a_higher_level_and_claim_are_refused(proved: Proved) -> None:
    for part in (1e-9, 1e-3, 1.0):
        level = proved.optimum + part * abs(proved.optimum)
        forged = replace(proved.forged(level=level), lower=level)
        assert not proved.verified(forged).ok
    # With curvatures that would follow from a lower level.
    lower = np.full(N, float(np.max(proved.region.bend)))
    assert not proved.verified(proved.forged(bend=lower)).ok


def test_forged_minorants_on_a_region_are_refused(proved: Proved) -> None:
    minorant = proved.minorant
    for fields in (
        {"factor": 1.001 * minorant.factor},
        {"ridge": 1.001 * minorant.ridge},
        {"target": -minorant.target},
        {"factor": minorant.factor * math.nan},
        {"region": None},
    ):
        tree = replace(proved.tree, minorant=replace(minorant, **fields))
        verdict = proved.verified(replace(proved.certificate, tree=tree))
        assert not verdict.ok, fields
    tree = replace(proved.tree, removal=0.5 * proved.tree.removal)
    assert not proved.verified(replace(proved.certificate, tree=tree)).ok


def test_files_with_forged_regions(proved: Proved, forge: Any) -> None:
    document = json.loads(encode(proved.certificate))
    minorant = document["tree"]["minorant"]

    def with_region(region: Any) -> Any:
        return document | {"tree": document["tree"] | {"minorant": minorant | {"region": region}}}

    assert proved.verified(forge(with_region(minorant["region"]))).ok
    for name in REGION:
        values = {key: np.atleast_1d(value).copy() for key, value in vars(proved.region).items()}
        values[name][-1] = math.nan
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            forge(with_region(texts(values, REGION)))
        without = {key: text for key, text in minorant["region"].items() if key != name}
        with pytest.raises(ValueError, match=name):
            forge(with_region(without))
    for region in (None, [], "region", {}):
        with pytest.raises(ValueError, match="region"):
            forge(with_region(region))
