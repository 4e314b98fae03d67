"""Every call on torch tensors, on X and on all that goes with it: the numbers of NumPy."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

import sparsebounds as sb
from sparsebounds._support.errors import InputError
from sparsebounds.datasets import make_correlated
from sparsebounds.program import Form, Program

torch = pytest.importorskip("torch", reason="torch, the extra `gpu`, is not installed")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DATA = make_correlated(40, 12, nonzeros=3, random_state=0)
ROWS = np.arange(40)
SIZES: dict[Form, dict[str, Any]] = {
    "k+ridge": {"k": 3, "ridge": np.linspace(0.05, 0.1, 12)},
    "l0+ridge": {"l0": np.linspace(0.1, 0.2, 12), "ridge": 0.1},
    "k+ball": {"k": 3, "ball": 2.0},
    "l0+ball": {"l0": 0.1, "ball": 2.0},
}
EXTRA: list[dict[str, Any]] = [
    {},
    {"sample_weight": 1.0 + ROWS % 3, "fit_intercept": True, "standardize": True},
    {"offset": 0.1 * np.sin(ROWS), "positive": np.arange(12) % 2 == 0, "never": np.array([4])},
    {"sample_weight": (ROWS % 5 > 0).astype(float), "always": np.array([1, 5])},
]


def there(value: Any) -> Any:
    """Arrays as tensors, whatever they hold."""
    return torch.as_tensor(value, device=DEVICE) if isinstance(value, np.ndarray) else value


def both(form: Form, extra: dict[str, Any], loss: str = "squared") -> tuple[Program, Program]:
    y = DATA.y if loss == "squared" else (DATA.y > 0).astype(float)
    options = SIZES[form] | extra | {"loss": loss}
    moved = {name: there(value) for name, value in options.items()}
    return Program(DATA.X, y, **options), Program(there(DATA.X), there(y), **moved)


def close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


# Every form with either loss, and with all that may go with it.
CASES = [
    (form, EXTRA[(i + j) % 4], loss)
    for i, form in enumerate(get_args(Form))
    for j, loss in enumerate(["squared", "logistic"])
]


@pytest.mark.parametrize(("form", "extra", "loss"), CASES)
def test_relax_solve_certify(form: Form, extra: dict[str, Any], loss: str) -> None:
    host, moved = both(form, extra, loss)
    assert moved.fingerprint == host.fingerprint
    one, other = sb.relax(host, 1e-10), sb.relax(moved, 1e-10)
    close((other.value, other.lower), (one.value, one.lower))
    options = SIZES[form] | extra | {"loss": loss}
    y = DATA.y if loss == "squared" else (DATA.y > 0).astype(float)
    found = sb.solve(
        there(DATA.X), there(y), **{name: there(value) for name, value in options.items()}
    )
    expected = sb.solve(DATA.X, y, **options)
    close((found.upper, found.lower), (expected.upper, expected.lower))
    close(found.coef, expected.coef)
    rows = {name: extra.get(name) for name in ("sample_weight", "offset")}
    tensors = {name: there(value) for name, value in rows.items()}
    assert found.certificate.verify(DATA.X, y, **rows).ok
    assert expected.certificate.verify(there(DATA.X), there(y), **tensors).ok
    # Each with its own model: one on the edge of the ball may be outside in the other's units.
    ours = sb.certify(moved, there(found.coef), found.intercept)
    theirs = sb.certify(host, expected.coef, expected.intercept)
    close((ours.upper, ours.lower), (theirs.upper, theirs.lower))


@pytest.mark.parametrize("size", [{"ridge": 0.1}, {"ball": 2.0}])
@pytest.mark.parametrize("grid", [{"ks": [1, 2, 4]}, {"l0s": [0.5, 0.1, 0.02]}])
def test_path(grid: dict[str, Any], size: dict[str, Any]) -> None:
    options = grid | size | {"fit_intercept": True, "standardize": True}
    moved = {name: there(np.array(value)) for name, value in grid.items()}
    found = sb.path(there(DATA.X), there(DATA.y), **options)
    expected = sb.path(DATA.X, DATA.y, **options)
    close(found.upper, expected.upper)
    close(found.lower, expected.lower)
    close(found.coefs, expected.coefs)
    assert all(verdict.ok for verdict in expected.verify(there(DATA.X), there(DATA.y)))
    close(
        sb.path(both("k+ridge", {})[1], **moved).lower,
        sb.path(both("k+ridge", {})[0], **grid).lower,
    )


@pytest.mark.parametrize("form", get_args(Form))
def test_rank_bounds(form: Form) -> None:
    host, moved = both(form, {})
    for method in ("svd", "randomized"):
        one, other = (sb.rank_bounds(each, [3, 12], method=method) for each in (host, moved))
        close([row.lower for row in other.rows], [row.lower for row in one.rows])


def test_what_is_wrong_is_said() -> None:
    X, y = there(DATA.X), there(DATA.y)
    for options, sentence in (
        ({"ridge": there(np.ones(11))}, "ridge has 11 entries, but X has 12 features"),
        ({"ridge": 0.1, "positive": there(np.ones(12))}, "positive must be True, False or a bool"),
        ({"ridge": 0.1, "always": there(np.array([12]))}, "always holds 12, but columns go from 0"),
        ({"ridge": 0.1, "always": there(np.array([0.5]))}, "always holds"),
        ({"ridge": 0.1, "sample_weight": there(-np.ones(40))}, "sample_weight holds -1"),
        ({"ridge": 0.1, "offset": there(np.ones((40, 1)))}, "offset must be one-dimensional"),
    ):
        with pytest.raises((InputError, TypeError), match=sentence):
            Program(X, y, k=2, **options)
    with pytest.raises(InputError, match="y has 39 entries, but X has 40 rows"):
        Program(X, y[:39], k=2, ridge=0.1)
    with pytest.raises(TypeError, match="complex"):
        Program(X, y + 0j, k=2, ridge=0.1)
