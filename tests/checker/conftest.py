"""The checker, as the tests call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.checker.judges import CHECKER, Check


@pytest.fixture(scope="session")
def checker() -> Iterator[ModuleType]:
    sys.path.insert(0, str(CHECKER.parent))
    import check_certificate

    yield check_certificate
    sys.path.remove(str(CHECKER.parent))


@pytest.fixture
def check(checker: ModuleType, tmp_path: Path) -> Check:
    """What the checker says of a document: "" or why it refuses."""

    def run(document: Any, data: dict[str, Any]) -> str:
        (tmp_path / "c.json").write_text(json.dumps(document), encoding="utf-8")
        code, sentence = checker.judged(str(tmp_path / "c.json"), data)
        return str(sentence) if code else ""

    return run
