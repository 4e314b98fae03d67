"""A dense matrix that is cut into pieces says what it says as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebounds._support import linear, threads
from sparsebounds.matrices import dense
from sparsebounds.matrices.dense import DenseMatrix


@pytest.mark.parametrize("shape", [(7, 30), (90, 4), (1, 40), (40, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces(
    shape: tuple[int, int], dtype: type, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=shape).astype(dtype)
    a, shares = rng.normal(size=(3, shape[0])), rng.random(shape[0])
    shares /= shares.sum()
    for array in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        whole = DenseMatrix(array)
        with monkeypatch.context() as many:
            cuts: list[int] = []
            many.setattr(threads, "threads", lambda cuts=cuts: cuts.append(1) or 3)
            for module in (linear, dense):
                many.setattr(module, "READ", 4)
            many.setattr(linear, "MULTIPLIED", 4)
            cut = DenseMatrix(array)
            found = cut.norms, cut.scores(a[0]), cut.scores_many(a), *cut.moments(shares)
            bits = cut.signature
        expected = whole.norms, whole.scores(a[0]), whole.scores_many(a), *whole.moments(shares)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
        assert np.array_equal(bits, whole.signature)
        assert cut.passes == whole.passes
        assert len(cuts) == 6
