"""Which few groups gain the most: against all of them, with bounds that are no smaller."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from tests.cases import seeds

from sparsebounds.bounds.choices import Choices, TooMany


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Where there is no bound, it is infinite; whoever asks expects that."""
    with np.errstate(all="ignore"):
        yield


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """(M, v, blocks): groups of one to four columns, some collinear, equal or nearly so."""
    rng = np.random.default_rng(seed)
    shapes = [(int(rng.integers(1, 7)), int(d)) for d in rng.permutation(4)[:2] + 1]
    count = sum(groups * width for groups, width in shapes)
    X = rng.normal(size=(int(rng.integers(3, 30)), count)) @ np.diag(
        np.exp2(rng.integers(-3, 4, count))
    )
    if seed % 3 == 0:  # neighbours are alike
        X = np.cumsum(X, axis=1)
    if seed % 3 == 1:
        X[:, count // 2 :] = X[:, : count - count // 2]
    matrix = X.T @ X / len(X) + 10.0 ** -(seed % 7) * np.eye(count)
    vector = X.T @ rng.normal(size=len(X)) / len(X) if seed % 2 else rng.normal(size=count)
    blocks, start = [], 0
    for groups, width in shapes:
        blocks.append(start + np.arange(groups * width).reshape(groups, width))
        start += groups * width
    return matrix, vector, blocks


def gain(matrix: np.ndarray, vector: np.ndarray, columns: np.ndarray) -> float:
    """v.M^-1 v on some columns."""
    return float(
        vector[columns] @ np.linalg.solve(matrix[np.ix_(columns, columns)], vector[columns])
    )


def test_against_all_choices() -> None:
    for seed in seeds(60, "choices"):
        matrix, vector, blocks = drawn(seed)
        groups = [row for block in blocks for row in block]
        choices = Choices.of(matrix, vector, blocks)
        assert choices is not None
        assert choices.names.tolist() == [row[0] for row in groups]
        near = 1.0 - 1e-9 * np.linalg.cond(matrix)
        for size in range(min(3, len(groups)) + 1):
            every = {
                some: gain(matrix, vector, np.concatenate([groups[i] for i in some]))
                if some
                else 0.0
                for some in itertools.combinations(range(len(groups)), size)
            }
            most = max(every.values())
            found, names, _ = choices.best(size)
            place = tuple(sorted(int(np.flatnonzero(choices.names == j)[0]) for j in names))
            assert near * most <= found
            assert found * near <= every[place] * (1.0 + 1e-9)
            assert near * most <= every[place]
            bar = float(np.quantile(list(every.values()), 0.7))
            listed: dict[tuple[int, ...], float] = {}
            for sets, gains, _ in choices.above(size, bar):
                for some, value in zip(np.sort(sets, axis=1).tolist(), gains, strict=True):
                    assert tuple(some) not in listed
                    listed[tuple(some)] = float(value)
            for some, value in every.items():
                if value > bar * (1.0 + 1e-9):
                    assert listed[some] >= near * value
            for some, value in listed.items():
                assert value >= near * every[some]


def test_bounds_are_no_smaller() -> None:
    sieved = finite = 0
    for seed in seeds(60, "bounds of choices"):
        matrix, vector, blocks = drawn(seed)
        choices = Choices.of(matrix, vector, blocks)
        assert choices is not None
        groups = [row for block in blocks for row in block]
        near = 1.0 - 1e-9 * np.linalg.cond(matrix)
        for i, j in itertools.permutations(range(len(groups)), 2):
            both = gain(matrix, vector, np.concatenate((groups[i], groups[j])))
            assert choices.pairs[i, j] >= near * both
            if len(groups[i]) == len(groups[j]) == 1 and np.linalg.cond(matrix) < 1e4:
                assert choices.pairs[i, j] == pytest.approx(both, rel=1e-7)
        every = {
            some: gain(matrix, vector, np.concatenate([groups[i] for i in some]))
            for some in itertools.combinations(range(len(groups)), 3)
        }
        if every:
            assert len(choices._triples(-np.inf, np.inf)[0]) == len(every)
            # Above what one group gains, so that two more have to add something.
            bar = float(np.max(choices.single)) * 1.001
            sets, bounds = choices._triples(bar, np.inf)
            listed = {tuple(sorted(some)): x for some, x in zip(sets.tolist(), bounds, strict=True)}
            assert len(listed) == len(sets)
            for some, value in every.items():
                assert listed.get(some, bar) >= near * value
                sieved += some not in listed
                finite += np.isfinite(listed.get(some, np.inf))
    assert sieved > 20
    assert finite > 100


def test_operations_are_those_of_what_is_factored(monkeypatch: pytest.MonkeyPatch) -> None:
    factored: list[int] = []
    plain = Choices.gains

    def gains(choices: Choices, sets: np.ndarray) -> np.ndarray:
        factored.append(len(sets))
        return plain(choices, sets)

    monkeypatch.setattr(Choices, "gains", gains)
    counts = []
    for seed in seeds(30, "operations"):
        choices = Choices.of(*drawn(seed))
        assert choices is not None
        for size in range(min(3, len(choices.names)) + 1):
            factored.clear()
            columns = size * int(np.max(choices.widths))
            operations = choices.best(size).operations
            count = operations / (columns**2 * (16.0 + columns)) if size else operations
            # The greedy choice has two groups already, and a pair is compared with itself.
            assert abs(count - sum(factored)) <= 2.0
            counts.append(count)
    assert max(counts) > 100


def test_too_many() -> None:
    matrix, vector, blocks = drawn(
        next(s for s in itertools.count() if sum(map(len, drawn(s)[2])) > 6)
    )
    choices = Choices.of(matrix, vector, blocks)
    assert choices is not None
    with pytest.raises(TooMany):
        list(choices.above(3, -np.inf, most=1.0))
    assert choices.best(2, most=1.0).gain > 0.0


def test_a_group_without_a_factor() -> None:
    assert Choices.of(np.diag([1.0, -1.0]), np.ones(2), [np.array([[0], [1]])]) is None
