"""Errors a user can cause. Each message says what was wrong with which argument and the remedy."""

from __future__ import annotations


class InputError(ValueError):
    """An argument has a value the problem cannot take."""


class InputTypeError(TypeError):
    """An argument is of a kind the problem cannot take."""


class CertificateError(ValueError):
    """A certificate file is malformed, truncated, oversized or of an unknown version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "empty.json")
    ...     file.touch()
    ...     try:
    ...         sb.Certificate.load(file)
    ...     except sb.certificates.CertificateError as error:
    ...         print("not JSON" in str(error))
    True
    """
