"""Envelopes: below their loss, convex, equal to hulls; suprema on the safe side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sparsebounds._support.errors import InputError
from sparsebounds.losses import NONCONVEX, NonConvexLoss, Tukey
from sparsebounds.testing import check_loss

RESPONSES = {
    "ramp": [-1.0, 1.0],
    "sigmoid": [-1.0, 1.0],
    "quartic": [-0.5, 0.0, 0.7, 4.0],
    "amplitude": [0.0, 0.7, 2.0],
}
ROBUST = [-3.0, 0.0, 0.7, 20.0]
LOSSES = sorted(NONCONVEX)


@dataclass(frozen=True)
class Wavy(NonConvexLoss):
    """A loss of one's own: value, derivative and a bound of |second derivative|."""

    name: ClassVar[str] = "wavy"
    smoothness: ClassVar[float] = 2.5

    def value(self, y, z):  # type: ignore[no-untyped-def]
        r = z - y
        return 2.0 * np.sin(0.75 * r) ** 2 + 0.125 * r**2

    def gradient(self, y, z):  # type: ignore[no-untyped-def]
        r = z - y
        return 1.5 * np.sin(1.5 * r) + 0.25 * r


def boxes(name: str, seed: int, rows: int = 200) -> tuple[np.ndarray, ...]:
    """Responses and boxes of all sorts: around y, beside it, narrow, wide, a single point."""
    rng = np.random.default_rng(seed)
    y = rng.choice(RESPONSES.get(name, ROBUST), size=rows)
    center = np.where(rng.random(rows) < 0.5, y, rng.normal(size=rows) * 5)
    width = 10.0 ** rng.uniform(-2, 2, size=(2, rows))
    lo, hi = center - width[0], center + width[1]
    lo[:5] = hi[:5]
    return y, lo, hi


def make(name: str) -> NonConvexLoss:
    return Wavy() if name == "wavy" else NONCONVEX[name]()


def lower_hull(z: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The lower hull of the points (z, f), at every z."""
    kept: list[int] = []
    for j in range(len(z)):
        while len(kept) > 1:
            i, m = kept[-2], kept[-1]
            if (f[m] - f[i]) * (z[j] - z[i]) >= (f[j] - f[i]) * (z[m] - z[i]):
                kept.pop()
            else:
                break
        kept.append(j)
    return np.interp(z, z[kept], f[kept])


@pytest.mark.parametrize("name", [*LOSSES, "wavy"])
@pytest.mark.parametrize("seed", range(2))
def test_below_the_loss_without_tolerance(name: str, seed: int) -> None:
    loss, (y, lo, hi) = make(name), boxes(name, seed)
    envelopes = [loss.envelope(y, lo, hi)]
    envelopes.append(envelopes[0].smoothed())
    rng = np.random.default_rng(seed)
    shares = [*np.linspace(0, 1, 201), *rng.random(50)]
    for share in shares:
        z = np.clip(lo + share * (hi - lo), lo, hi)
        for envelope in envelopes:
            assert np.all(envelope.value(y, z) <= loss.value(y, z))


@pytest.mark.parametrize("name", [*LOSSES, "wavy"])
@pytest.mark.parametrize("seed", range(2))
def test_convex_with_the_slope_it_states(name: str, seed: int) -> None:
    loss, (y, lo, hi) = make(name), boxes(name, seed)
    rng = np.random.default_rng(seed + 100)
    for envelope in (loss.envelope(y, lo, hi), loss.envelope(y, lo, hi).smoothed()):
        for _ in range(60):
            # Also beyond the box.
            a, b = (lo + rng.uniform(-0.2, 1.2, len(y)) * (hi - lo) for _ in range(2))
            share = rng.random(len(y))
            middle = envelope.value(y, share * a + (1 - share) * b)
            chord = share * envelope.value(y, a) + (1 - share) * envelope.value(y, b)
            size = 1.0 + np.abs(chord) + envelope.value_terms(y, a)
            assert np.all(middle <= chord + 1e-12 * size)
            tangent = envelope.value(y, a) + envelope.gradient(y, a) * (b - a)
            assert np.all(tangent <= envelope.value(y, b) + 1e-11 * size)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(1))
def test_equal_to_discrete_hulls(name: str, seed: int) -> None:
    loss, (y, lo, hi) = make(name), boxes(name, seed, rows=20)
    hi = np.minimum(hi, lo + 10.0)
    for i in range(len(y)):
        row = slice(i, i + 1)
        z = np.linspace(lo[i], hi[i], 8_001)
        # Where the loss bends abruptly.
        extra = np.concatenate([np.ravel(loss.cores(y[row])), [y[i], -y[i], 0.0]])
        z = np.unique(np.concatenate((z, extra[(extra > lo[i]) & (extra < hi[i])])))
        hull = lower_hull(z, loss.value(y[i], z))
        envelope = loss.envelope(y[row], lo[row], hi[row]).value(y[row], z)
        assert np.max(np.abs(envelope - hull)) <= 1e-6 * max(1.0, float(np.max(np.abs(hull))))


@pytest.mark.parametrize("name", [*LOSSES, "wavy"])
@pytest.mark.parametrize("seed", range(2))
def test_suprema_are_never_too_small(name: str, seed: int) -> None:
    loss, (y, lo, hi) = make(name), boxes(name, seed)
    rng = np.random.default_rng(seed + 200)
    envelope = loss.envelope(y, lo, hi)
    t = rng.normal(size=len(y)) * 10.0 ** rng.uniform(-2, 1, len(y))
    t = np.where(
        rng.random(len(y)) < 0.5, t, envelope.gradient(y, lo + rng.random(len(y)) * (hi - lo))
    )
    top, terms = loss.supremum(y, t, lo, hi)
    found = np.full(len(y), -np.inf)
    for share in [*np.linspace(0, 1, 1001), *rng.random(100)]:
        z = np.clip(lo + share * (hi - lo), lo, hi)
        found = np.maximum(found, t * z - loss.value(y, z))
    assert np.all(found <= top + 2.0**-50 * terms)
    # And not too large: the grid is within h^2 of it.
    h, bend = (hi - lo) / 1000, np.full(len(y), 2.5)
    if name == "quartic":
        bend = 3 * np.maximum(lo**2, hi**2) + np.abs(y)
    kink = h * (1 + np.abs(y)) if name in {"ramp", "amplitude", "truncated"} else 0.0
    assert np.all(top - found <= bend * h * h + kink * 2 + 1e-11 * terms)


@pytest.mark.parametrize("name", LOSSES)
def test_touches_where_it_says(name: str) -> None:
    """The envelope's conjugate at its own slope gives back its value: no room is left anywhere."""
    loss, (y, lo, hi) = make(name), boxes(name, 7)
    envelope = loss.envelope(y, lo, hi)
    for share in np.linspace(0, 1, 41):
        z = np.clip(lo + share * (hi - lo), lo, hi)
        slope, value = envelope.gradient(y, z), envelope.value(y, z)
        room = value + loss.supremum(y, slope, lo, hi)[0] - slope * z
        size = 1.0 + np.abs(slope * z) + envelope.value_terms(y, z)
        assert np.all(np.abs(room) <= 1e-12 * size)


def test_tukey_in_a_small_box_has_no_formula_but_a_root() -> None:
    loss = Tukey(c=1.0)
    y, hi = np.zeros(3), np.array([0.5, 0.7, 0.99])
    envelope = loss.envelope(y, -hi, hi)
    slope = (loss.at(hi) - loss.at(envelope.q)) / (hi - envelope.q)
    assert np.allclose(slope, loss.gradient(y, envelope.q), rtol=1e-9)
    assert np.all(envelope.q < loss.turn)


@pytest.mark.parametrize("name", [*LOSSES, "wavy"])
@pytest.mark.parametrize("seed", range(2))
def test_promises(name: str, seed: int) -> None:
    check_loss(make(name), np.array(RESPONSES.get(name, ROBUST)), random_state=seed)


@pytest.mark.parametrize("c", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("name", ["truncated", "tukey", "geman_mcclure", "welsch", "cauchy"])
def test_promises_at_other_scales(name: str, c: float) -> None:
    check_loss(NONCONVEX[name](c=c), np.array(ROBUST))  # type: ignore[call-arg]


@dataclass(frozen=True)
class _TooSmooth(Wavy):
    """Claims less curvature than it has."""

    smoothness: ClassVar[float] = 0.05


@dataclass(frozen=True)
class _WrongCore(Tukey):
    """Takes all of a concave tail for convex."""

    @property
    def turn(self) -> float:
        return self.c


@dataclass(frozen=True)
class _WrongHeight(Tukey):
    @property
    def height(self) -> float:
        return 0.5 * self.c**2 / 6.0


@dataclass(frozen=True)
class _WrongSlope(Tukey):
    def gradient(self, y, z):  # type: ignore[no-untyped-def]
        return z - y


@pytest.mark.parametrize("broken", [_TooSmooth(), _WrongCore(), _WrongHeight(), _WrongSlope()])
def test_a_broken_loss_is_caught(broken: NonConvexLoss) -> None:
    with pytest.raises(AssertionError, match="The loss breaks a promise"):
        check_loss(broken, np.array(ROBUST))


def test_a_loss_without_a_bound_of_its_curvature_is_refused() -> None:
    @dataclass(frozen=True)
    class Unbounded(Wavy):
        smoothness: ClassVar[float] = float("nan")

    with pytest.raises(InputError, match="set it to a bound of its absolute second derivative"):
        Unbounded().envelope(np.zeros(1), -np.ones(1), np.ones(1))


@pytest.mark.parametrize("c", [0.0, -1.0, float("inf"), float("nan")])
def test_scales_must_be_positive(c: float) -> None:
    with pytest.raises(InputError, match=r"c=.* must be a positive finite number"):
        Tukey(c=c)


def test_a_supremum_along_a_flat_part_ends() -> None:
    """On a loss that is 0 over most of the box no cell can be discarded."""

    @dataclass(frozen=True)
    class Dead(NonConvexLoss):
        name: ClassVar[str] = "dead zone"
        smoothness: ClassVar[float] = 1.0

        def value(self, y, z):  # type: ignore[no-untyped-def]
            return 0.5 * np.maximum(np.abs(z - y) - 10.0, 0.0) ** 2

        def gradient(self, y, z):  # type: ignore[no-untyped-def]
            return np.sign(z - y) * np.maximum(np.abs(z - y) - 10.0, 0.0)

    y = np.zeros(50)
    top, _ = Dead().supremum(y, np.zeros(50), y - 11.0, y + 11.0)
    assert np.all((top >= 0.0) & (top <= 1e-6))
