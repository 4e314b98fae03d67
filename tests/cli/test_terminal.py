"""Whatever stands in names, labels, files and certificates: a terminal gets text, not orders."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import polars as pl
import pytest

from sparsebounds.cli import _output
from sparsebounds.cli._output import in_options

Invoke = Callable[..., Any]

ESCAPE = "\x1b[31mred\x1b]0;title\x07\x9b2J"
BIDI = "\u202edlog\u2066\u2069\u200f"
MARKUP = "[b]x[/][link=e][/no]:smile:\\"
NAMES = (ESCAPE, BIDI, MARKUP, "größe 年齢 👩‍🔬", "new\nline\u2028\r")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A table whose names, labels and own name are orders."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, len(NAMES)))
    z = X @ np.arange(1.0, 6.0)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    columns["y\x1b[8m"] = z
    labels = np.where(z + rng.normal(size=40) > 0, f"yes{ESCAPE}", f"no{BIDI}")
    path = tmp_path / "evil\x1b[2J\u202e.parquet"
    pl.DataFrame(columns | {"label": labels}).write_parquet(path)
    return path


def shown(result: Any) -> str:
    """Output of both kinds, in which nothing is obeyed."""
    text: str = result.stdout + result.stderr
    wrong = {c for c in text if category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n", "\u200d"}
    assert not wrong, (wrong, text)
    return text


NUMBER = ("--target", "y\x1b[8m", "--exclude", "label", "-k", 5)
LABEL = ("--target", "label", "--exclude", "y\x1b[8m", "--loss", "logistic", "-k", 5)


def test_every_command(invoke: Invoke, hostile: Path, tmp_path: Path) -> None:
    model, proof = tmp_path / "m\x1b[1m.json", tmp_path / "c\x1b[1m.json"
    saved = ("--out", model, "--certificate", proof)
    text = shown(invoke("solve", hostile, *LABEL, *saved))
    flat = "".join(text.split())
    for name in ("\\x1b[31mred\\x1b]0;title\\x07\\x9b2J", "\\u202edlog", "größe年齢👩‍🔬"):
        assert name in flat
    assert MARKUP in flat  # as it is: no colour, no link, no emoji
    assert "new\\nline\\u2028\\r" in flat
    table = LABEL[:4]
    assert "Verified" in shown(invoke("verify", proof, hostile, *table))
    shown(invoke("certify", model, hostile, *table))
    path = ("path", hostile, *NUMBER[:4], "--ks", "1:5")
    assert "+\\u202edlog" in "".join(shown(invoke(*path)).split())
    shown(invoke("rank", hostile, *NUMBER, "--ranks", "1:2"))
    # Programs get the names as they are.
    document = json.loads(invoke("solve", hostile, *LABEL, "--json").stdout)
    assert set(document["features"]) == set(NAMES)
    assert set(json.loads(model.read_text())["features"]) == set(NAMES)
    printed = invoke("predict", model, hostile)
    header = next(csv.reader(io.StringIO(printed.stdout)))
    assert header == ["prediction", f"probability of yes{ESCAPE}"]


def test_predictions_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    _output.print_csv(f"a{ESCAPE}\nb\n")
    assert ESCAPE in screen.getvalue()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    screen.truncate(0)
    _output.print_csv(f"a{ESCAPE}\nb\n")
    assert "\x1b" not in screen.getvalue()
    assert screen.getvalue().endswith("\nb\n")


def test_errors(invoke: Invoke, hostile: Path, tmp_path: Path) -> None:
    """Of ours, of typer, of the system; also where a text is a name of nothing."""
    evil = f"{ESCAPE}{BIDI}"
    for run in (
        ("solve", hostile),
        ("solve", hostile, "--target", evil),
        ("solve", hostile, *NUMBER, "--features", evil),
        ("solve", hostile, *NUMBER, "--loss", evil),
        ("solve", hostile, *NUMBER, "--ridge", evil),
        ("solve", hostile, *NUMBER, f"--{evil}"),
        ("solve", hostile, *NUMBER, evil),
        ("solve", hostile, *NUMBER, "--out", tmp_path / evil / "x"),
        ("solve", tmp_path / evil, *NUMBER),
        ("path", hostile, *NUMBER[:4], "--ks", evil),
        (evil,),
        ("reproduce", evil),
    ):
        result = invoke(*run)
        assert result.exit_code == 2
        assert "Error" in shown(result)


@pytest.mark.parametrize("field", ["loss", "made_by", "format", "version"])
def test_hostile_certificates(invoke: Invoke, hostile: Path, tmp_path: Path, field: str) -> None:
    proof = tmp_path / "c.json"
    invoke("solve", hostile, *NUMBER, "--certificate", proof)
    document = json.loads(proof.read_text())
    evil = f"squared{ESCAPE}{BIDI}\n"
    if field == "loss":
        document["problem"]["loss"] = evil
    else:
        document[field] = evil
    proof.write_text(json.dumps(document))
    result = invoke("verify", proof, hostile, *NUMBER[:4])
    assert result.exit_code in (0, 1, 2)
    shown(result)


def test_warnings_are_remarks(
    invoke: Invoke, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = sys.modules["sparsebounds.cli.solve"]
    real = home.solve_program

    def warning(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"the file {ESCAPE} was not written", stacklevel=2)
        return real(*args, **kwargs)

    monkeypatch.setattr(home, "solve_program", warning)
    text = shown(invoke("solve", hostile, *NUMBER))
    assert "was not written" in text
    assert "UserWarning" not in text


def test_memory_errors_are_sentences(
    invoke: Invoke, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = sys.modules["sparsebounds.cli.solve"]

    def huge(*_: Any, **__: Any) -> Any:
        return np.zeros((2**40, 2**10))

    monkeypatch.setattr(home, "solve_program", huge)
    result = invoke("solve", hostile, *NUMBER)
    assert result.exit_code == 2
    assert shown(result).startswith("Error: There is too little memory. Unable to allocate")


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = _output.PlainConsole(file=screen, force_terminal=True, **_output.PLAIN)
    monkeypatch.setattr(_output, "errors", console)
    evil = f"{ESCAPE}{BIDI}[red]x[/nothing]"
    with _output.spinner(evil):
        pass
    spun = len(screen.getvalue())
    with _output.bar(evil, 2) as advance:
        advance()
    written = screen.getvalue()
    assert "\x1b[31mred" not in written
    assert "\u202e" not in written
    assert "[red]x[/nothing]" in written[:spun]
    assert "[red]x[/nothing]" in written[spun:]


def test_errors_name_options(refused: Any, numbers: Path, tmp_path: Path) -> None:
    common = ("solve", numbers, "--target", "score")
    assert "--weights holds -" in refused(*common, "--weights", "pulse")
    assert "-k -2 is negative" in refused(*common, "-k", -2)
    assert "--ridge '-1' must be" in refused(*common, "--ridge", -1)
    frame = pl.read_csv(numbers)
    frame.with_columns(none=pl.lit(0.0)).write_csv(tmp_path / "none.csv")
    common = ("solve", tmp_path / "none.csv", "--target", "score")
    assert "--weights is all zero" in refused(*common, "--weights", "none")


def test_names_from_the_data_stay_as_they_are() -> None:
    said = "--always 'k=5' is not a column of t.csv; it has a, k=5, ridge=1."
    assert in_options(said) == said
    assert in_options("k=5 is too many") == "-k 5 is too many"
    assert in_options("cannot be posed on these data: sample_weight is") == (
        "cannot be posed on these data: --weights is"
    )
