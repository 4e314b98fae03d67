"""The leukemia data of the paper's third experiment: 72 patients, 3571 genes, two classes.

Golub et al. (Science 286, 1999), preprocessed by Dettling (Bioinformatics 20, 2004); 47 patients
with ALL (-1) and 25 with AML (+1), columns of mean 0 and, over n - 1, of variance 1. The paper
writes m = 3751; the data have 3571.

The data are not part of this package. They are taken from the first of: a path given; leukemia.npz
in the folder that SPARSEBOUNDS_DATA names; the cache; the copy in CRAN's package varbvs, at a fixed
commit. Whatever the source, X and y are held to a SHA-256 checksum of their numbers.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sparsebounds._support.array import Vector
from sparsebounds._support.errors import InputError
from sparsebounds._support.files import write_atomically
from sparsebounds.datasets._rdata import LARGEST, read_rdata

URL = (
    "https://raw.githubusercontent.com/cran/varbvs/"
    "547e829ff36af1e22f26eadad4b3615ac9a9d062/data/leukemia.RData"
)
SHA256 = "a3c6249ef55993d2c17823b37ef45a735e1569e6f6ccc754edc1aefeb63970f0"
"""Of X by rows and then y, as little-endian float64."""

Held = tuple[Vector, Vector, tuple[str, ...] | None]
"""X, y and the names of the features, where there are any."""

NAME = "leukemia.npz"
TIMEOUT = 60.0

REMEDY = (
    f"Save a copy yourself, from {URL}, and pass its path; or put {NAME} (arrays X and y) into a "
    "folder and name that folder in the environment variable SPARSEBOUNDS_DATA."
)


@dataclass(frozen=True)
class Leukemia:
    """Expression levels of genes and the classes of patients.

    Attributes
    ----------
    X : array
        72 x 3571, by patient and gene.
    y : array
        -1: ALL, +1: AML.
    class_names : tuple[str, str]
        What -1 and +1 stand for.
    feature_names : tuple of str or None
        One per gene; None where the copy has none.
    source : str
        The file they were read from.

    Examples
    --------
    >>> sb.datasets.load_leukemia().class_names  # doctest: +SKIP
    ('ALL', 'AML')
    """

    X: Vector = field(repr=False)
    y: Vector = field(repr=False)
    class_names: tuple[str, str]
    feature_names: tuple[str, ...] | None = field(repr=False)
    source: str


def load_leukemia(path: str | os.PathLike[str] | None = None, *, download: bool = True) -> Leukemia:
    """The leukemia data of Golub et al. (1999): 72 patients, 3571 genes, two classes.

    Parameters
    ----------
    path : str or path, optional
        A file of your own: .npz with arrays X and y, or the .RData file of the public copy.
    download : bool, default True
        Whether to fetch the public copy where neither SPARSEBOUNDS_DATA nor the cache has one.

    Returns
    -------
    Leukemia
        The data, held to a checksum whatever their source.

    Raises
    ------
    ValueError
        Where there is no copy, or one with other numbers; the sentence says how to get one.

    Examples
    --------
    >>> sb.datasets.load_leukemia().X.shape  # doctest: +SKIP
    (72, 3571)
    """
    if path is not None:
        return _read(Path(path))
    folder = os.environ.get("SPARSEBOUNDS_DATA")
    if folder and (Path(folder) / NAME).exists():
        return _read(Path(folder) / NAME)
    cached = _cache() / NAME
    if cached.exists():
        return _read(cached, f"Delete {cached}, so that the data are downloaded again.")
    if not download:
        raise InputError(f"The leukemia data are not on this machine, and download=False. {REMEDY}")
    found = _leukemia(_fetched(URL), URL, REMEDY)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=found.X, y=found.y)
    cached.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(cached, buffer.getvalue())
    return found


def _cache() -> Path:
    """The user's cache folder."""
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "sparsebounds"


def _fetched(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            return bytes(answer.read(LARGEST))
    except (OSError, http.client.HTTPException) as error:
        raise InputError(
            f"The leukemia data could not be downloaded from {url}: {error}. {REMEDY}"
        ) from error


def _read(path: Path, remedy: str = REMEDY) -> Leukemia:
    if not path.is_file():
        raise InputError(f"path={str(path)!r} is not a file. {remedy}")
    return _leukemia(path.read_bytes(), str(path), remedy)


def _leukemia(data: bytes, source: str, remedy: str) -> Leukemia:
    """The data in a file, by what it begins with, if they are the ones this module is about."""
    try:
        X, y, names = _from_npz(data) if data.startswith(b"PK") else _from_rdata(data)
        X, y = (np.ascontiguousarray(array, dtype="<f8") for array in (X, y))
    except Exception as error:  # a damaged file may fail anywhere in zipfile, zlib and numpy
        reason = str(error.args[0] if error.args else error) or type(error).__name__
        raise InputError(
            f"{source} does not hold the arrays X and y of the leukemia data: "
            f"{reason.rstrip('.')}. {remedy}"
        ) from error
    if hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest() != SHA256:
        raise InputError(
            f"{source} holds other numbers than the leukemia data this experiment is about: the "
            f"checksum of its X and y differs. {remedy}"
        )
    return Leukemia(X, y, ("ALL", "AML"), names, source)


def _from_npz(data: bytes) -> Held:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        names = arrays["feature_names"].tolist() if "feature_names" in arrays else None
        return arrays["X"], arrays["y"], None if names is None else tuple(names)


def _from_rdata(data: bytes) -> Held:
    """X and y of the public copy, whose classes are 0 (ALL) and 1 (AML)."""
    held = read_rdata(data).get("leukemia")
    if not isinstance(held, dict) or not {"x", "y"} <= held.keys():
        raise InputError("it has no list `leukemia` of x and y")
    return held["x"], 2.0 * np.asarray(held["y"], dtype=np.float64).ravel() - 1.0, None
