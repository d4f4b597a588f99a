"""The JSON schema of a TOML file with budgets, made from what its parser accepts: `otel-fastpath budget schema`."""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.tools.budget import declare, limits
from otel_fastpath.tools.budget.reference import REFERENCES

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_TEXT: Final = {"type": "string", "minLength": 1}
_PLACE: Final = {"type": "string", "pattern": f"^{declare.PLACE.pattern}$"}
_SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "reference": {"enum": list(REFERENCES), "description": "The frozen workload that is the unit of overheads, `ref`."},
    "path": {"items": _TEXT, "description": "Folders that the measured modules are imported from."},
    "source": {"items": _TEXT, "description": "Folders of the code that a comparison takes from each version."},
    "share": {"items": _TEXT, "description": "Modules that both versions of a comparison share."},
    "lock": {"type": "string", "pattern": r"\.toml$", "description": "The file of the calibrated values."},
    "distributions": {
        "items": _TEXT,
        "description": "Distributions on whose versions the counts depend; * and ? match.",
    },
    "functions": {
        "type": "integer",
        "minimum": 0,
        "description": "How many functions of a scenario are recorded, to say later which have grown.",
    },
}
_SCENARIO: Final[dict[str, dict[str, Any]]] = {
    "bare": {**_PLACE, "description": "The work without the hook, as module:function, sync or async."},
    "instrumented": {**_PLACE, "description": "The same work with the hook."},
    "setup": {**_PLACE, "description": "Called once in each measuring process."},
    "variants": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": _PLACE,
        "description": "Name of a variant -> its set-up, instead of one set-up.",
    },
}


def schema() -> dict[str, Any]:
    """The schema of a file of its own; in a pyproject.toml it is that of the table `tool.otel-fastpath.budgets`."""
    settings = {name: {"type": "array", **each} if "items" in each else each for name, each in _SETTINGS.items()}
    scenarios = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": _scenario(),
        "description": "Name of a scenario -> what is measured, and its limits.",
    }
    return {
        "$schema": _DRAFT,
        "title": "Overhead budgets of otel-fastpath",
        **_table({**settings, "scenarios": scenarios}, ["scenarios"]),
    }


def _scenario() -> dict[str, Any]:
    found = _table({**_SCENARIO, **{metric: _limits(metric) for metric in limits.DECLARED}}, ["bare", "instrumented"])
    found["anyOf"] = [{"required": [metric]} for metric in limits.DECLARED]
    found["not"] = {"required": ["setup", "variants"]}
    return found


def _limits(metric: str) -> dict[str, Any]:
    one = {"type": "string", "anyOf": [{"pattern": f"^{pattern}$"} for pattern in limits.patterns(metric)]}
    some = {"anyOf": [one, {"type": "array", "items": one}]}
    by_variant = {"type": "object", "additionalProperties": some}
    return {
        "anyOf": [*some["anyOf"], by_variant],
        "description": f"{limits.describe_syntax(metric)}, a list, or one by variant.",
    }


def _table(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
