"""Our own instrumentation of redis-py: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.redis.observability import configure
from otel_fastpath.db.redis.patches import PATCHES
from otel_fastpath.db.redis.query_plans import DATABASE
from otel_fastpath.db.redis.stock_telemetry import given_keywords

LIBRARY: Final = DATABASE.library(
    "Commands, pipelines and subscriptions, for a fraction of what the stock instrumentation costs.",
    PATCHES,
    "RedisInstrumentor",
    "0.64b0",
    configure=configure,
    given_keywords=given_keywords,
    beyond=("redis.*pubsub.*",),
)
