"""Our own instrumentation of redis-py: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.redis.observability import configure
from otel_fastpath.db.redis.patches import PATCHES
from otel_fastpath.db.redis.plans import DATABASE
from otel_fastpath.db.redis.stock import given_keywords
from otel_fastpath.wrapping.library import Library, Rival

LIBRARY: Final = Library(
    name="redis",
    why="Commands, pipelines and subscriptions, for a fraction of what the stock instrumentation costs.",
    patches=PATCHES,
    configure=configure,
    read=DATABASE.read,
    stop=DATABASE.stop,
    rivals=(
        Rival(
            "stock",
            "opentelemetry.instrumentation.redis:RedisInstrumentor",
            # Older releases do not support the stable conventions.
            "opentelemetry-instrumentation-redis>=0.64b0,<0.67",
            given_keywords=given_keywords,
            beyond=("redis.*pubsub.*",),
        ),
    ),
    entry_points=frozenset({"redis"}),
)
