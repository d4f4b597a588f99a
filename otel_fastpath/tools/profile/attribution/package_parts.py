"""The parts of otel-fastpath: which code each of them replaces, and what is left of its cost."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_fastpath.features import LIBRARIES

# What is left of the cost of OpenTelemetry's code in services, by core, and for one part that is not in all of them.
# `make profile-truth ARGS=--write` measures it, in the run that compares profiles with the truth.
LEFT: Final = Path(__file__).with_name("left.json")


@dataclass(frozen=True)
class ProfiledFeature:
    """A part of otel-fastpath.

    Attributes:
        name: Its name; the patches of the part begin with one of `patches`.
        patches: The beginnings of the names of its patches.
        modules: The modules whose code it replaces.
        ours: The modules of the part.
    """

    name: str
    patches: tuple[str, ...]
    modules: tuple[str, ...]
    ours: tuple[str, ...]

    def left(self, core: str) -> float:
        """What is left of the cost with this core, "c" or "py": that of whole services, if not its own."""
        measured = _measured()
        return measured.get(self.name, measured["services"])["py" if core == "py" else "c"]


@functools.cache
def _measured() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(LEFT.read_text(encoding="utf-8"))["left"]
    return found


_CONTRIB: Final = "opentelemetry.instrumentation"


def _replaced_by(folder: str) -> tuple[str, ...]:
    """The stock instrumentations that the libraries of a folder are for; the names of the patches begin with theirs."""
    modules = [module for part in LIBRARIES.parts if part.place.startswith(f"{folder}.") for module in part.modules]
    found = [module.removeprefix(f"{_CONTRIB}.") for module in modules if module.startswith(f"{_CONTRIB}.")]
    return tuple(dict.fromkeys(found))


_DATABASES: Final = _replaced_by("db")
_HTTP: Final = _replaced_by("http")
# More specific modules come first.
PARTS: Final = (
    ProfiledFeature("version look-ups", ("versions.",), ("importlib.metadata", "importlib_metadata"), ()),
    ProfiledFeature(
        "metrics",
        ("metrics.",),
        ("opentelemetry.sdk.metrics", "opentelemetry.metrics"),
        ("otel_fastpath.metrics",),
    ),
    ProfiledFeature(
        "logs",
        ("logs.",),
        ("opentelemetry.sdk._logs", "opentelemetry._logs", f"{_CONTRIB}.logging"),
        ("otel_fastpath.logs",),
    ),
    ProfiledFeature("OTLP export", ("otlp.",), ("opentelemetry.exporter", "google.protobuf"), ("otel_fastpath.otlp",)),
    ProfiledFeature(
        "databases",
        tuple(f"{name}." for name in _DATABASES),
        tuple(f"{_CONTRIB}.{name}" for name in _DATABASES),
        ("otel_fastpath.db",),
    ),
    ProfiledFeature(
        "OpenAI",
        ("openai.", "genai.", "openllmetry.", "openinference."),
        (f"{_CONTRIB}.openai", f"{_CONTRIB}.openai_v2", f"{_CONTRIB}.genai", "opentelemetry.util.genai"),
        ("otel_fastpath.genai",),
    ),
    ProfiledFeature(
        "HTTP servers and clients",
        tuple(f"{name}." for name in _HTTP),
        (*(f"{_CONTRIB}.{name}" for name in _HTTP), "opentelemetry.util.http"),
        ("otel_fastpath.http",),
    ),
    ProfiledFeature(
        "spans",
        ("trace.", "span.", "tracer.", "propagation.", "batch_processor."),
        ("opentelemetry.sdk.trace", "opentelemetry.trace", "opentelemetry.context", "opentelemetry.sdk.util"),
        ("otel_fastpath.trace",),
    ),
)


def of(module: str) -> tuple[ProfiledFeature, bool] | None:
    """The part that a module of telemetry belongs to, and whether the module is the part's own; None if there is none.

    Args:
        module: Its dotted name.
    """
    for part in PARTS:
        for names, is_ours in ((part.modules, False), (part.ours, True)):
            if any(module == name or module.startswith(f"{name}.") for name in names):
                return part, is_ours
    return None
