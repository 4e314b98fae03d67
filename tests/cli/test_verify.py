"""sparsebounds verify: exit codes, sentences, and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsebounds
from sparsebounds.bounds import Node, dual_point
from sparsebounds.certificates import Certificate, Leaf
from sparsebounds.cli import app
from sparsebounds.program import Program

NAMES = ["age", "dose", "weight"]


@dataclass(frozen=True)
class Study:
    """Data of twelve rows and a certificate, with and without weights and an offset."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray

    def certificate(self, path: Path, *, extra: bool = False) -> Path:
        options: dict[str, Any] = {"k": 2, "ridge": 0.1, "fit_intercept": True}
        if extra:
            options |= {"sample_weight": self.weights, "offset": self.offset}
        program = Program(self.X, self.y, **options)
        w, b = np.array([0.5, 0.0, -0.25]), 0.125
        point = dual_point(program, program.F.gradient(self.X @ w + b))
        Certificate.build(program, [point.t], [Leaf(Node(), 0)], w, b).save(path)
        return path

    def csv(self, path: Path) -> Path:
        columns = {name: self.X[:, j] for j, name in enumerate(NAMES)}
        extra = {"survival": self.y, "count": self.weights, "exposure": self.offset}
        pl.DataFrame(columns | extra).write_csv(path)
        return path


@pytest.fixture
def study(rng: np.random.Generator) -> Study:
    X = rng.normal(size=(12, 3))
    y = X @ [1.0, 0.0, -0.5] + 0.1 * rng.normal(size=12)
    return Study(X, y, rng.uniform(0.5, 2.0, 12), rng.normal(size=12))


def run(*arguments: Any) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def said(result: Any) -> str:
    """All that was printed, with line breaks made spaces."""
    return " ".join(result.output.split())


def refused(*arguments: Any) -> str:
    """The sentence of an input error: exit code 2, on standard error, and nothing else."""
    result = run("verify", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said(result).startswith("Error: ")
    return said(result)


# Verified.


def test_npz(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json")
    np.savez(tmp_path / "data.npz", X=study.X, y=study.y, other=study.weights)
    result = run("verify", certificate, tmp_path / "data.npz")
    assert result.exit_code == 0
    assert said(result).startswith("Verified: squared loss on 12 x 3 data with at most 2 nonzero")
    assert run("verify", certificate, tmp_path / "data.npz", "--target", "y").exit_code == 0


def test_npz_compressed_with_named_arrays(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json", extra=True)
    np.savez_compressed(
        tmp_path / "data.npz", X=study.X, t=study.y, s=study.weights, o=study.offset
    )
    options = ("--target", "t", "--weights", "s", "--offset", "o")
    assert run("verify", certificate, tmp_path / "data.npz", *options).exit_code == 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(study: Study, tmp_path: Path, order: Any) -> None:
    certificate = study.certificate(tmp_path / "c.json", extra=True)
    columns = [study.X[:, 0], study.y, study.X[:, 1:], study.weights, study.offset]
    np.save(tmp_path / "data.npy", np.asarray(np.column_stack(columns), order=order))
    options = ("--target", 1, "--weights", 4, "--offset", 5)
    result = run("verify", certificate, tmp_path / "data.npy", *options)
    assert result.exit_code == 0
    assert "Verified: squared loss on 12 x 3 data" in said(result)


@pytest.mark.parametrize("suffix", [".csv", ".txt", ""])
def test_csv(study: Study, tmp_path: Path, suffix: str) -> None:
    certificate = study.certificate(tmp_path / "c.json", extra=True)
    data = study.csv(tmp_path / f"data{suffix}")
    options = ("--target", "survival", "--weights", "count", "--offset", "exposure")
    assert run("verify", certificate, data, *options).exit_code == 0


def test_csv_of_classes(study: Study, tmp_path: Path) -> None:
    labels = np.where(study.y > 0, "alive", "dead")
    program = Program(study.X, labels, k=1, ridge=0.1, loss="logistic")
    point = dual_point(program, program.F.gradient(np.zeros(12)))
    certificate = Certificate.build(program, [point.t], [Leaf(Node(), 0)], np.zeros(3))
    certificate.save(tmp_path / "c.json")
    columns = {name: study.X[:, j] for j, name in enumerate(NAMES)}
    pl.DataFrame(columns | {"fate": labels}).write_csv(tmp_path / "data.csv")
    result = run("verify", tmp_path / "c.json", tmp_path / "data.csv", "--target", "fate")
    assert result.exit_code == 0
    assert "logistic loss" in said(result)


def test_json(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json")
    np.savez(tmp_path / "data.npz", X=study.X, y=study.y)
    result = run("verify", certificate, tmp_path / "data.npz", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    stored = Certificate.load(certificate)
    assert answer["ok"] is True
    assert stored.lower <= answer["lower"] <= answer["upper"] <= stored.upper
    assert answer["message"].startswith("Verified: ")
    assert result.stdout.count("\n") == 1


# Refused.


def test_other_data_are_refused(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json")
    np.savez(tmp_path / "data.npz", X=study.X, y=study.y[::-1])
    result = run("verify", certificate, tmp_path / "data.npz")
    assert result.exit_code == 1
    assert said(result) == (
        "Refused: the data (X, y, weights or offset) are not those of the certificate."
    )
    result = run("verify", certificate, tmp_path / "data.npz", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "ok": False,
        "lower": None,
        "upper": None,
        "message": said(run("verify", certificate, tmp_path / "data.npz")),
    }


def test_forgotten_weights_are_refused(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json", extra=True)
    np.savez(tmp_path / "data.npz", X=study.X, y=study.y)
    result = run("verify", certificate, tmp_path / "data.npz")
    assert result.exit_code == 1
    assert "are not those of the certificate" in said(result)
    # In a table, the columns left over are features.
    data = study.csv(tmp_path / "data.csv")
    result = run("verify", certificate, data, "--target", "survival")
    assert result.exit_code == 1
    assert said(result) == "Refused: the data have 5 columns, but the certificate is about 3."


def test_data_with_holes_are_refused(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json")
    lines = study.csv(tmp_path / "data.csv").read_text().splitlines()
    fields = lines[4].split(",")
    fields[1] = ""
    lines[4] = ",".join(fields)
    frame = [",".join(line.split(",")[:4]) for line in lines]
    (tmp_path / "data.csv").write_text("\n".join(frame))
    sentence = refused(certificate, tmp_path / "data.csv", "--target", "survival")
    assert "has missing values: 'dose' (1)." in sentence


def test_text_in_the_data_is_refused(study: Study, tmp_path: Path) -> None:
    certificate = study.certificate(tmp_path / "c.json")
    columns = {"age": study.X[:, 0], "dose": ["low", "high"] * 6, "weight": study.X[:, 2]}
    pl.DataFrame(columns | {"survival": study.y}).write_csv(tmp_path / "data.csv")
    sentence = refused(certificate, tmp_path / "data.csv", "--target", "survival")
    assert "has columns that are not numbers: 'dose' (text, 2 values)." in sentence


# Files that cannot be read.


@pytest.fixture
def good(study: Study, tmp_path: Path) -> tuple[Path, Path]:
    """A certificate and a data file that go together."""
    np.savez(tmp_path / "good.npz", X=study.X, y=study.y)
    return study.certificate(tmp_path / "good.json"), tmp_path / "good.npz"


def test_missing_files(good: tuple[Path, Path], tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert "No such file or directory" in refused(nowhere, good[1])
    assert refused(good[0], nowhere) == f"Error: {nowhere} does not exist."
    for suffix in (".npz", ".npy", ".csv"):
        path = nowhere.with_suffix(suffix)
        assert refused(good[0], path, "--target", "y") == f"Error: {path} does not exist."


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is not a certificate: it is not JSON"),
        (b"\x80\x81", "is not a certificate: it is not JSON"),
        (b"[" * 100_000, "is not a certificate: it is not JSON"),
        (b"{}", "is not a valid certificate: format is missing."),
        (b'{"format": "[/red]"}', "is not a valid certificate: format must be"),
    ],
)
def test_broken_certificates(
    content: bytes, text: str, good: tuple[Path, Path], tmp_path: Path
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert text in refused(path, good[1])


def test_a_certificate_changed_by_hand(good: tuple[Path, Path]) -> None:
    certificate, data = good
    document = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(document | {"lower": -1.0}))
    assert refused(certificate, data).endswith(
        "the checksum does not match: it was changed after it was written."
    )


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("content", ["empty", "text", "zip", "npy", "pickle"])
def test_broken_arrays(
    suffix: str, content: str, good: tuple[Path, Path], study: Study, tmp_path: Path
) -> None:
    path = tmp_path / f"broken{suffix}"
    np.save(tmp_path / "matrix.npy", study.X)
    np.save(tmp_path / "object.npy", np.array([{}, None], dtype=object))
    path.write_bytes(
        {
            "empty": b"",
            "text": b"age,dose\n1,2\n",
            "zip": good[1].read_bytes()[:300],
            "npy": (tmp_path / "matrix.npy").read_bytes()[:150],
            "pickle": (tmp_path / "object.npy").read_bytes(),
        }[content]
    )
    assert f"{path} cannot be read as {suffix}: " in refused(good[0], path, "--target", "0")


def test_a_corrupted_archive(good: tuple[Path, Path], study: Study, tmp_path: Path) -> None:
    path = tmp_path / "compressed.npz"
    np.savez_compressed(path, X=study.X, y=study.y)
    content = bytearray(path.read_bytes())
    for at in range(30, 330, 25):
        changed = content.copy()
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        assert run("verify", good[0], path).exit_code in (0, 1, 2)
        # A flipped bit of the name, the header or the data never passes for the data.
        assert run("verify", good[0], path).exit_code != 0 or at < 60


def test_array_files_with_the_wrong_suffix(
    good: tuple[Path, Path], study: Study, tmp_path: Path
) -> None:
    np.save(tmp_path / "matrix.npy", study.X)
    one = (tmp_path / "matrix.npy").rename(tmp_path / "matrix.npz")
    assert refused(good[0], one).endswith("holds one array, not an archive; name it .npy.")
    archive = good[1].rename(tmp_path / "archive.npy")
    assert refused(good[0], archive, "--target", "0").endswith(
        "is an archive of arrays; name it .npz."
    )
    np.save(tmp_path / "vector.npy", study.y)
    assert refused(good[0], tmp_path / "vector.npy", "--target", "0").endswith(
        "must hold a matrix; its shape is (12,)."
    )


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b'a,b\n"1,2\n'])
def test_broken_csv(content: bytes, good: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    sentence = refused(good[0], path, "--target", "b")
    assert str(path) in sentence


def test_a_missing_target(good: tuple[Path, Path], study: Study, tmp_path: Path) -> None:
    data = study.csv(tmp_path / "data.csv")
    assert refused(good[0], data) == (
        f"Error: --target is missing: which column of {data} is the response?"
    )


def test_unknown_columns(good: tuple[Path, Path], study: Study, tmp_path: Path) -> None:
    data = study.csv(tmp_path / "data.csv")
    assert refused(good[0], data, "--target", "height") == (
        f"Error: --target 'height' is not a column of {data}; it has age, dose, weight, survival, "
        "count, exposure. Did you mean 'weight'?"
    )
    assert "--weights 'w' is not a column" in refused(
        good[0], data, "--target", "survival", "--weights", "w"
    )
    assert "--offset '[bold]' is not a column" in refused(
        good[0], data, "--target", "survival", "--offset", "[bold]"
    )
    np.save(tmp_path / "wide.npy", np.ones((2, 20)))
    assert refused(good[0], tmp_path / "wide.npy", "--target", "20").endswith(
        "it has 0, 1, 2, 3, 4, 5, 6, 7 and 12 more."
    )
    assert "has no array 'z'; it holds X, y." in refused(good[0], good[1], "--target", "z")
    np.savez(tmp_path / "nothing.npz")
    assert "has no array 'X'; it holds nothing." in refused(good[0], tmp_path / "nothing.npz")
    (tmp_path / "one.csv").write_text("b\n1\n2\n")
    assert "has no column left for the features." in refused(
        good[0], tmp_path / "one.csv", "--target", "b"
    )


@pytest.mark.parametrize("name", ["[red]data.csv", "data[/].csv", "[bold", "a b.csv"])
def test_names_that_look_like_markup(name: str, good: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / name if "/" not in name else tmp_path / "data[" / "].csv"
    assert refused(good[0], path) == f"Error: {path} does not exist."


# The program itself.


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"sparsebounds {sparsebounds.__version__}\n"


def test_help_shows_the_commands() -> None:
    for arguments in (("--help",), ()):
        text = said(run(*arguments))
        assert "verify" in text
        assert "demo" in text
        assert "Sparse models with a proof" in text
    text = said(run("verify", "--help"))
    for option in ("--target", "--weights", "--offset", "--json", "Exit code 0: verified"):
        assert option in text


def test_missing_arguments_are_a_usage_error() -> None:
    assert run("verify").exit_code == 2
    assert run("verify", "only-one").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_in_a_process_of_its_own(good: tuple[Path, Path]) -> None:
    """The installed entry point, with its exit code and its streams."""
    code = "from sparsebounds.cli import app; app()"
    command = [sys.executable, "-c", code, "verify", *map(str, good)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("Verified: ")
    assert done.stderr == ""
    done = subprocess.run(
        [*command[:-1], "nowhere.npz"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "Error: nowhere.npz does not exist.\n"
