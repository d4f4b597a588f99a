"""The patches of third-party instrumentations."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.parts import Part
from otel_fastpath.patching.room import Room

_OPENLLMETRY: Final = "opentelemetry.instrumentation.openai"

ROOM: Final = Room(
    "others",
    parts=(
        Part(
            "others.patches_version_lookups",
            "opentelemetry.instrumentation._semconv",
            "opentelemetry.instrumentation.dbapi",
            "opentelemetry.instrumentation.groq",
            _OPENLLMETRY,
        ),
        Part("others.patches_openllmetry", _OPENLLMETRY),
        Part("others.patches_openinference", "openinference.instrumentation.openai"),
    ),
)
