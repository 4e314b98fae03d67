"""The picture of a path: what is proved, the coefficients, and who is in.

Three panels over one axis, k or the price. Above, the objective of the models and the region in
which the best possible is proved to lie. In the middle, the coefficients (on
standardized columns, where these are) so that they compare. Below, one line per feature in the
order of entry: filled where it is in the model, dark where it is proved to be in every best one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.extras import library
from sparsebounds._support.printable import printable

if TYPE_CHECKING:
    from sparsebounds.paths.result import Path

MODEL, BAND, PROVED, MEMBER, FAINT = "#0072B2", "#BFD9EA", "#0072B2", "#9CC7E0", "#B0B0B0"
"""Okabe and Ito's blue and lighter tints of it: they differ in lightness, for any eye and print."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MOST_NAMES = 25
"""Features with a line of their own in the lowest panel: those in most models."""

AXES = {"k": "k, features or groups at most", "l0": "l0, the price of a feature or group"}
MEMBERS = {"support": "in the model", "fixed_in": "and proved to be in every best one"}
"""Features of a point, and what they are."""


def draw(path: Path, axes: Any = None) -> Any:
    """The three panels; returns their axes."""
    plt = library("matplotlib.pyplot", "plot", "plot needs matplotlib")
    order = entry_order(path)
    if axes is None:
        low = 0.6 + 0.16 * max(len(order), 2)
        shape = {"figsize": (6.5, 5.2 + low), "height_ratios": (2.4, 2.4, low)}
        _, axes = plt.subplots(3, sharex=True, layout="constrained", **shape)
    axes = np.ravel(axes)
    if len(axes) != 3:
        raise InputError(f"axes holds {len(axes)} axes; pass three, such as plt.subplots(3)[1].")
    x = places(path)
    _objective(axes[0], path, x)
    _coefficients(axes[1], path, x, order)
    _members(axes[2], path, order)
    if path.kind == "l0":
        axes[2].set_xscale("log")
        for ax in axes:
            if not ax.xaxis_inverted():
                ax.invert_xaxis()
    else:
        axes[2].xaxis.get_major_locator().set_params(integer=True)
    axes[2].set_xlabel(AXES[path.kind])
    return axes


def places(path: Path) -> Vector:
    """k or l0 of each point."""
    return np.array([point.place for point in path])


def entry_order(path: Path) -> Index:
    """The features in most models (at most 25), ordered by where they first come in."""
    members = np.zeros((len(path), path[0].certificate.shape[1]), dtype=np.bool_)
    for row, point in zip(members, path, strict=True):
        row[point.support] = True
    uses = members.sum(axis=0)
    chosen = np.argsort(-uses, kind="stable")[:MOST_NAMES]
    chosen = np.sort(chosen[uses[chosen] > 0])
    return chosen[np.argsort(np.argmax(members[:, chosen], axis=0), kind="stable")]


def program_coefs(path: Path, features: Index) -> Vector:
    """Coefficients, one row per point: of columns of standard deviation 1, where `standardize`."""
    stated = path[0].certificate.problem.standardize
    scale = np.ones(len(features)) if stated is None else stated[1][features]
    return np.array([point.coef[features] * scale for point in path])


def _objective(ax: Any, path: Path, x: Vector) -> None:
    ax.axhline(path.null, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    _note(ax, "without features", path.null, (-2, -2), ha="right", va="top", color="#707070")
    label = "where the best possible is proved to lie"
    ax.fill_between(x, path.lower, path.upper, color=BAND, linewidth=0, label=label)
    ax.plot(x, path.lower, color=MODEL, linewidth=0.8, linestyle=(0, (1, 1)), label="lower bound")
    ax.plot(x, path.upper, color=MODEL, linewidth=1.4, marker="o", markersize=3, label="model")
    done = np.array([point.status == "optimal" for point in path])
    if done.any():
        ring = {"markersize": 7, "markerfacecolor": "none", "markeredgecolor": "black"}
        ax.plot(x[done], path.upper[done], "o", **ring, label="proved optimal")
    ax.set_ylabel("objective")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _coefficients(ax: Any, path: Path, x: Vector, order: Index) -> None:
    coefs = program_coefs(path, order)
    ax.axhline(0.0, color=FAINT, linewidth=0.8)
    top = np.argsort(-np.abs(coefs[-1]), kind="stable")[: len(COLORS)]
    for i in range(len(order)):
        color = COLORS[list(top).index(i)] if i in top else FAINT
        ax.plot(x, coefs[:, i], color=color, linewidth=1.2, marker=".", markersize=3)
    _names_at_the_end(ax, path, coefs[-1], order, top)
    scaled = path[0].certificate.problem.standardize is not None
    ax.set_ylabel("coefficient" + (" (standardized)" if scaled else ""))
    ax.spines[["top", "right"]].set_visible(False)


def _names_at_the_end(ax: Any, path: Path, last: Vector, order: Index, top: Index) -> None:
    """Names of the largest coefficients on the right, moved apart where they would overlap."""
    shown = [i for i in top[np.argsort(last[top], kind="stable")] if last[i] != 0.0]
    low, high = ax.get_ylim()
    apart, at = 0.085 * (high - low), -np.inf
    heights = []
    for i in shown:
        at = max(float(last[i]), at + apart)
        heights.append(at)
    # Apart, but around where the coefficients are, and no lower than the panel.
    shift = float(np.mean(np.array(heights) - last[shown])) if shown else 0.0
    shift = min(shift, min(heights, default=low) - low)
    for i, height in zip(shown, heights, strict=True):
        name, color = printable(path.label(order[i])), COLORS[list(top).index(i)]
        _note(ax, name, height - shift, (4, 0), va="center", color=color, annotation_clip=False)


def _note(ax: Any, text: str, height: float, shift: tuple[int, int], **look: Any) -> None:
    """A text at the right end of a panel, moved by some points."""
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(text, (1.0, height), xytext=shift, fontsize=8, **place, **look)


def members(path: Path, order: Index, kind: str) -> tuple[list[float], list[int]]:
    """Points of the path and places in the order, for each feature of that kind at a point."""
    place = {feature: row for row, feature in enumerate(order.tolist())}
    cells = [
        (point.place, place[feature])
        for point in path
        for feature in getattr(point, kind).tolist()
        if feature in place
    ]
    return [x for x, _ in cells], [row for _, row in cells]


def _members(ax: Any, path: Path, order: Index) -> None:
    for (kind, label), color in zip(MEMBERS.items(), (MEMBER, PROVED), strict=True):
        x, rows = members(path, order, kind)
        if x:
            ax.scatter(x, rows, marker="s", s=22, color=color, linewidths=0, label=label)
    names = [printable(path.label(feature)) for feature in order]
    ax.set_yticks(range(len(order)), names, fontsize=7)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if len(order):
        ax.legend(
            frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0
        )
