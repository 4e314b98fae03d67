"""Where the numbers come from: processor, cores, versions. No date, so that reruns compare."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sparsebounds


def describe(packages: Sequence[str]) -> dict[str, Any]:
    """The machine and the versions of these packages, by name."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads used": 1,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in packages},
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return (
            "not installed"
            if name != "sparsebounds"
            else f"{sparsebounds.__version__} (from its folder)"
        )


def missing_package(packages: Sequence[str]) -> str | None:
    """Why software cannot be run for want of a package, or None."""
    try:
        for package in packages:
            importlib.import_module(package)
    except Exception as error:
        return f"cannot be imported: {error}"
    return None
