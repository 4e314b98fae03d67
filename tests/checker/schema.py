"""The schema of certificates, and as much of JSON Schema as it uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def flaws(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """What a value has that a schema does not allow: as much of JSON Schema as ours uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema and all(any(flaws(value, one, path)) for one in schema["anyOf"]):
        yield f"{path}: none of the kinds"
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r}"
    kind = schema.get("type")
    if kind in ("number", "integer"):
        fits = type(value) is int or (kind == "number" and type(value) is float)
        if not fits or value < schema.get("minimum", value):
            yield f"{path}: {value!r} is no {kind}"
    elif kind is not None and type(value) is not TYPES[kind]:
        yield f"{path}: {value!r} is no {kind}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{path}: {value[:40]!r}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for i, one in enumerate(value):
            yield from flaws(one, schema.get("items", {}), f"{path}[{i}]")
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{path}.{key} is missing"
        for key, one in value.items():
            if key in known or isinstance(others, dict):
                yield from flaws(one, known.get(key, others), f"{path}.{key}")
            elif not others:
                yield f"{path}.{key} is not known"
