"""The patches of third-party instrumentations."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature

_OPENLLMETRY: Final = "opentelemetry.instrumentation.openai"

FEATURE: Final = Feature(
    "others",
    parts=(
        Declarations("others.propagators.patches_b3", "opentelemetry.propagators.b3"),
        Declarations("others.propagators.patches_jaeger", "opentelemetry.propagators.jaeger"),
        Declarations("others.propagators.patches_aws_xray", "opentelemetry.propagators.aws"),
        Declarations("others.suppression.patches_suppression", "opentelemetry.instrumentation.utils"),
        Declarations(
            "others.patches_version_lookups",
            "opentelemetry.instrumentation._semconv",
            "opentelemetry.instrumentation.dbapi",
            "opentelemetry.instrumentation.groq",
            _OPENLLMETRY,
        ),
        Declarations("others.genai_calls.patches_genai", "opentelemetry.util.genai"),
        Declarations("others.patches_openllmetry", _OPENLLMETRY),
        Declarations("others.patches_openinference", "openinference.instrumentation.openai"),
    ),
)
