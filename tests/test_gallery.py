"""Every script of examples/ runs, keeps to its form, and its picture says what is true."""

from __future__ import annotations

import ast
import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(ROOT.glob("*/plot_*.py"))
MOST_LINES = 80

Names = dict[str, Any]
"""What a script leaves behind."""

CLAIMS: dict[str, Callable[[Names], bool]] = {
    "beyond_memory": lambda s: np.array_equal(s["spread"].support, s["memory"].support),
    "calibration": lambda s: s["off"][s["sparse"]] < 0.05 < 0.1 < s["off"][s["bayes"]],
    "categories": lambda s: s["whole"].group_support == ("clinic", "drug") and s["strays"] > 0,
    "certify_a_lasso": lambda s: s["best"].status == "optimal" and s["over"] > 0.1,
    "certificate_by_hand": lambda s: abs(s["upper"] - s["lower"]) < 1e-6,
    "compressed_sensing": lambda s: (
        s["proved"].min() == 1 and s["found"].mean() > 2 * s["lasso"].mean()
    ),
    "custom_loss": lambda s: [f.support.tolist()[1] == 1 for f in s["fits"].values()] == [1, 0, 1],
    "equation_discovery": lambda s: (
        np.count_nonzero(s["coefs"]) == 7 and abs(s["coefs"][1, 0] - 28) < 0.1
    ),
    "experiment_1": lambda s: s["extra"].max() == 6,
    "exposure": lambda s: s["with_time"].support.tolist() == [0, 1, 2, 3] and s["wrong"] > 0,
    "grid_search": lambda s: s["model"].status_ == "optimal",
    "index_tracking": lambda s: s["ten"].status == "optimal" and s["match"] > 12,
    "instead_of_stepwise": lambda s: s["worse"] > 2 and set(s["names"][2]) == set("abc"),
    "leukemia": lambda s: s["right"] == 1 and s["result"]["gap"] < 1e-4,
    "numerical_rank": lambda s: np.all(s["table"]["stated_lower"] < s["table"]["lower"]),
    "outliers_proved": lambda s: (s["out"] + 1).tolist() == [1, 3, 4, 21],
    "path_with_band": lambda s: s["path"].at(s["enough"]).upper <= 1.1 * s["path"].lower.min(),
    "phase_retrieval": lambda s: s["error"] < 0.01,
    "poisson": lambda s: s["counts"].status == "optimal" and s["negative"] > 0.1,
    "price_of_a_proof": lambda s: s["cost"] < 1.0 < 5.0 < s["more"],
    "replaceable_genes": lambda s: s["near"].complete and set(s["used"]) == {*range(10), 12},
    "search_watched": lambda s: (
        s["found"].status == "optimal" and np.isclose(s["upper"][0], s["upper"][-1])
    ),
    "shapley_folkman": lambda s: s["primal"].n_fractional == 2 and s["shared"] > 10,
    "splines": lambda s: s["found"].status == "optimal" and len(s["found"].group_support) == 3,
    "text": lambda s: set(s["words"]) <= {*s["complaint"], *s["praise"]} and s["accuracy"] > 0.9,
    "two_models": lambda s: s["near"].complete and s["agree"] > 0.95,
    "weights": lambda s: s["left"][s["weighted"]] < 0.5 < 1.0 < s["left"][s["plain"]],
    "wrong_rows": lambda s: s["robust"].support.tolist() == s["planted"] and s["right"] < 3,
}
"""What the title or the text of each says, of the names that the script leaves."""


def name_of(script: Path) -> str:
    return script.stem.removeprefix("plot_")


def test_the_stored_result_is_that_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "science")
    left = runpy.run_path("plot_leukemia.py")
    try:
        fresh = left["solved"]()
    except ValueError:
        pytest.skip("the leukemia data are not on this machine")
    stored = json.loads(Path("leukemia.json").read_text(encoding="utf-8"))
    assert fresh["genes"] == stored["genes"]
    assert fresh["acute myeloid"] == stored["acute myeloid"]
    for name in ("coef", "scores"):
        assert np.allclose(fresh[name], stored[name], rtol=0, atol=1e-5)


@pytest.fixture(autouse=True)
def _plain_figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    with plt.rc_context({"figure.dpi": 50}):
        yield
    plt.close("all")


def test_the_gallery_is_large_and_each_claim_has_its_script() -> None:
    assert len(SCRIPTS) >= 25
    assert {name_of(script) for script in SCRIPTS} == CLAIMS.keys()
    assert all((script.parent / "GALLERY_HEADER.rst").exists() for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_form(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MOST_LINES
    title, rule, blank, _ = (ast.get_docstring(ast.parse(source)) or "").split("\n", 3)
    assert (rule, blank) == ("=" * len(title), "")
    assert "\n# %%\n" in source
    assert source.endswith("\nplt.show()\n")
    assert 'plt.style.use("sparsebounds.slides")' in source


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_script_runs_and_its_claim_holds(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)  # as the site does
    plt.close("all")
    left = runpy.run_path(str(script))
    assert CLAIMS[name_of(script)](left)
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    figure.canvas.draw()
    titles = [axes.get_title(loc="left") for axes in figure.axes] + [figure.get_suptitle()]
    assert any(titles)
    inside = figure.bbox.padded(1.0)
    texts = [text for axes in figure.axes for text in (*axes.texts, axes._left_title)]
    for text in (*texts, *figure.texts):
        box = text.get_window_extent()
        corners = np.array([box.min, box.max])
        assert not text.get_text() or inside.count_contains(corners) == 2, text.get_text()
