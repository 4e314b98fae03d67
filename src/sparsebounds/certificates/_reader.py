"""The parts of a certificate's document: features, and arrays in base64.

Compressed arrays are made only where there is room for them, which is in proportion to the file:
a small file never takes much memory, whatever sizes it states.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sparsebounds._support.array import Index, Vector
from sparsebounds._support.documents import Document
from sparsebounds._support.errors import CertificateError

LEAST, SHARE = 1 << 24, 16
"""Bytes that arrays of any file may take when decompressed, and how many more for each of its
bytes. Trees of a search take about two."""


class Room:
    """Memory left for the arrays of one file, and the fields that were read of it."""

    def __init__(self, size: int) -> None:
        """`size` is that of the file, in bytes."""
        self._left = LEAST + SHARE * size
        self._read: dict[int, tuple[Reader, set[str]]] = {}

    def mark(self, reader: Reader, key: str) -> None:
        """A field of an object is read."""
        self._read.setdefault(id(reader.content), (reader, set()))[1].add(key)

    def unread(self) -> Iterator[str]:
        """The names of fields that nobody read, of the objects of which some were."""
        for reader, keys in self._read.values():
            yield from (reader._name(key) for key in reader.content if key not in keys)

    def take(self, name: str, length: int) -> None:
        """Take the room of an array of that many numbers; CertificateError where there is none."""
        self._left -= 8 * length
        if self._left < 0:
            raise CertificateError(
                f"{name} states {length} numbers, more than a file of this size may hold."
            )


class Reader(Document):
    """A certificate's document, and the memory left for its arrays."""

    error = CertificateError

    def __init__(self, content: Any, path: str, room: Room) -> None:
        super().__init__(content, path)
        self.room = room

    def at(self, content: Any, path: str) -> Self:
        return type(self)(content, path, self.room)

    def get(self, key: str) -> Any:
        if key and isinstance(self.content, dict):
            self.room.mark(self, key)
        return super().get(key)

    def integers(self, key: str, least: int, most: int | None) -> Index:
        values, top = self.entries(key), 2**62 if most is None else most
        if not all(type(value) is int and least <= value <= top for value in values):
            for reader in self.items(key):
                reader.integer("", least, most)
        return np.array(values, dtype=np.int64)

    def numbers(self, key: str) -> Vector:
        values = self.entries(key)
        if not all(type(value) is float and abs(value) <= 1e300 for value in values):
            values = [reader.number("") for reader in self.items(key)]
        return np.array(values, dtype=np.float64)

    def features(self, key: str, m: int) -> Index:
        values = self.integers(key, 0, m - 1)
        if len(np.unique(values)) < len(values):
            raise CertificateError(f"{self._name(key)} lists a feature twice.")
        return values

    def vector(self, key: str, length: int) -> Vector:
        """A packed float64 vector of that length, finite."""
        text = self.get(key)
        if not isinstance(text, str) or len(text) != 4 * math.ceil(8 * length / 3):
            raise self._wrong(key, f"{length} packed numbers")
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise self._wrong(key, "base64") from error
        if len(raw) != 8 * length:
            raise self._wrong(key, f"{length} packed numbers")
        values = np.frombuffer(raw, dtype="<f8").astype(np.float64)
        if not np.all(np.isfinite(values)):
            raise self._wrong(key, "finite numbers")
        return values

    def compressed(self, key: str, dtype: str, length: int) -> npt.NDArray[Any]:
        """A compressed array of that type ("<i4", ...) and length."""
        self.room.take(self._name(key), length)
        size = np.dtype(dtype).itemsize * length
        text = self.get(key)
        try:
            packed = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
            stream = zlib.decompressobj()
            raw = stream.decompress(packed, size + 1)
        except (binascii.Error, ValueError, zlib.error) as error:
            raise self._wrong(key, "compressed base64") from error
        if len(raw) != size or not stream.eof:
            raise self._wrong(key, f"{length} compressed numbers")
        return np.frombuffer(raw, dtype=dtype)

    def number_or_vector(self, key: str, length: int) -> float | Vector | None:
        value = self.get(key)
        if value is None:
            return None
        return self.vector(key, length) if isinstance(value, str) else self.number(key)
