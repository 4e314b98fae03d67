"""A reader of R's saved workspaces (.RData, gzip, XDR), as far as lists of numbers go.

The format is that of "R Internals", section 1.8: after a header, items of a flag word (a type in
the lowest byte, bits for attributes and a tag) and their contents, big-endian. Read are pairlists,
symbols and references to them, strings, and vectors of logicals, integers, doubles, strings and
of items; a `dim` attribute shapes an array, `names` make a list a dictionary.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from sparsebounds._support.errors import InputError

LARGEST = 1 << 27
"""More bytes than this are refused: no data set here is near it."""

_NIL, _REFERENCE = 254, 255
_SYMBOL, _PAIRLIST, _CHARS, _LOGICAL, _INTEGER, _REAL, _STRINGS, _LIST = 1, 2, 9, 10, 13, 14, 16, 19
_NUMBERS = {_LOGICAL: ">i4", _INTEGER: ">i4", _REAL: ">f8"}


def read_rdata(data: bytes) -> dict[str, Any]:
    """The objects of a workspace by name: arrays, lists of strings, dictionaries."""
    try:
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, LARGEST)
        return dict(_Reader(plain).item())
    except Exception as error:  # a damaged file may raise anything
        raise InputError(f"it is not an .RData file of plain lists: {error}") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        if data[:7] not in (b"RDX2\nX\n", b"RDX3\nX\n"):
            raise ValueError("it does not begin as one")
        self._data, self._at = data, 7
        self._symbols: list[str] = []
        version, _, _ = (self._int() for _ in range(3))
        if version == 3:
            self._bytes(self._int())  # the name of the encoding

    def _bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def _int(self) -> int:
        return int(struct.unpack(">i", self._bytes(4))[0])

    def item(self) -> Any:
        flags = self._int()
        kind = flags & 0xFF
        if kind == _NIL:
            return None
        if kind == _REFERENCE:
            return self._symbols[(flags >> 8 or self._int()) - 1]
        if kind == _SYMBOL:
            self._symbols.append(self.item())
            return self._symbols[-1]
        if kind == _CHARS:
            length = self._int()
            return None if length == -1 else self._bytes(length).decode("utf-8", "replace")
        if kind == _PAIRLIST:
            return self._pairs(flags)
        if kind in _NUMBERS:
            code = np.dtype(_NUMBERS[kind])
            raw = self._bytes(self._int() * code.itemsize)
            value: Any = np.frombuffer(raw, dtype=code).astype(code.newbyteorder("="))
        elif kind in (_STRINGS, _LIST):
            value = [self.item() for _ in range(self._int())]
        else:
            raise ValueError(f"it holds an item of type {kind}")
        attributes = dict(self.item()) if flags & 0x200 else {}
        if "dim" in attributes:
            return value.reshape(attributes["dim"], order="F")
        names = attributes.get("names")
        return value if names is None or kind != _LIST else dict(zip(names, value, strict=True))

    def _pairs(self, flags: int) -> list[tuple[Any, Any]]:
        """(tag, value) of a pairlist, whose items follow one another."""
        found = []
        while flags & 0xFF == _PAIRLIST:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else None
            found.append((tag, self.item()))
            flags = self._int()
        if flags & 0xFF != _NIL:
            raise ValueError("a list does not end")
        return found
