"""What all tests share: how many random examples to draw, a seeded generator, their order."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Derandomized: a failure seen once is seen again. `make test-long` chooses "long".
_common = settings(
    derandomize=True,
    deadline=None,  # the first call of a test pays for imports
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("suite", _common, max_examples=10)
settings.register_profile("long", _common, max_examples=500)
settings.load_profile("long" if os.environ.get("SPARSEBOUNDS_LONG") else "suite")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that starts afresh, with the same seed, in every test."""
    return np.random.default_rng(20220601)


@pytest.fixture
def killed() -> Callable[[str, Path, float], None]:
    """Run a script that saves to a file, and kill it some seconds after the first save."""

    def run(script: str, file: Path, seconds: float) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE, text=True
        ) as process:
            deadline = time.monotonic() + 60.0
            while not file.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(seconds)
            process.kill()
            assert "finished" not in process.communicate()[0]

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Grouped tests first: they are the slow ones (the wheel), and one worker runs each group."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
