"""The parts of otel-fastpath: which code each of them replaces, and what is left of its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Feature:
    """A part of otel-fastpath, and what it leaves of a cost.

    Attributes:
        name: Its name; the patches of the part begin with one of `patches`.
        patches: The beginnings of the names of its patches.
        modules: The modules whose code it replaces.
        ours: The modules of the part.
        pure: What is left of the cost with the pure core. For metrics, OTLP export and spans it is from the tables
            in docs/performance.md; for the other parts it is a rough assumption that no measurement supports yet.
        compiled: The same with the compiled core.
    """

    name: str
    patches: tuple[str, ...]
    modules: tuple[str, ...]
    ours: tuple[str, ...]
    pure: float
    compiled: float

    def left(self, core: str) -> float:
        """What is left of the cost with this core."""
        return self.pure if core == "py" else self.compiled


_CONTRIB: Final = "opentelemetry.instrumentation"
# More specific modules come first.
PARTS: Final = (
    Feature("version look-ups", ("versions.",), ("importlib.metadata", "importlib_metadata"), (), 0.01, 0.01),
    Feature(
        "metrics",
        ("metrics.",),
        ("opentelemetry.sdk.metrics", "opentelemetry.metrics"),
        ("otel_fastpath.metrics",),
        0.17,
        0.06,
    ),
    Feature(
        "logs",
        ("logs.",),
        ("opentelemetry.sdk._logs", "opentelemetry._logs", f"{_CONTRIB}.logging"),
        ("otel_fastpath.logs",),
        0.3,
        0.2,
    ),
    Feature(
        "OTLP export", ("otlp.",), ("opentelemetry.exporter", "google.protobuf"), ("otel_fastpath.otlp",), 0.34, 0.06
    ),
    Feature(
        "databases",
        ("asyncpg.", "psycopg.", "sqlalchemy.", "redis."),
        tuple(f"{_CONTRIB}.{name}" for name in ("asyncpg", "psycopg", "sqlalchemy", "redis")),
        ("otel_fastpath.libraries.db",),
        0.25,
        0.2,
    ),
    Feature(
        "OpenAI",
        ("openai.", "genai.", "openllmetry.", "openinference."),
        (f"{_CONTRIB}.openai", f"{_CONTRIB}.openai_v2", f"{_CONTRIB}.genai", "opentelemetry.util.genai"),
        ("otel_fastpath.libraries.genai",),
        0.4,
        0.3,
    ),
    Feature(
        "HTTP servers and clients",
        ("asgi.", "wsgi.", "fastapi.", "starlette.", "flask.", "django.", "aiohttp", "httpx.", "requests.", "urllib3."),
        (
            *(
                f"{_CONTRIB}.{name}"
                for name in ("asgi", "wsgi", "fastapi", "starlette", "flask", "django", "aiohttp_server")
            ),
            *(f"{_CONTRIB}.{name}" for name in ("aiohttp_client", "httpx", "requests", "urllib3")),
            "opentelemetry.util.http",
        ),
        ("otel_fastpath.libraries.http",),
        0.35,
        0.15,
    ),
    Feature(
        "spans",
        ("trace.", "propagation."),
        ("opentelemetry.sdk.trace", "opentelemetry.trace", "opentelemetry.context", "opentelemetry.sdk.util"),
        ("otel_fastpath.trace",),
        0.23,
        0.08,
    ),
)


def of(module: str) -> tuple[Feature, bool] | None:
    """The part that a module of telemetry belongs to, and whether the module is the part's own; None if there is none.

    Args:
        module: Its dotted name.
    """
    for part in PARTS:
        for names, is_ours in ((part.modules, False), (part.ours, True)):
            if any(module == name or module.startswith(f"{name}.") for name in names):
                return part, is_ours
    return None
