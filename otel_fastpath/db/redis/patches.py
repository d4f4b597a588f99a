"""The patches of redis-py, and the hook of this folder that each one uses."""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.db.redis import hooks, observability, stock_telemetry
from otel_fastpath.db.redis.query_plans import DATABASE

_REDIS: Final = ("redis>=5,<9",)
# The first with metrics of its own.
_OBSERVABILITY: Final = ("redis>=7.2,<9",)
_STOCK: Final = ("opentelemetry-instrumentation-redis>=0.64b0",)


_COMMAND: Final = "A command is a span."
_PIPELINE: Final = "A pipeline, or a transaction, is one span."
_PUBSUB: Final = "Subscribing or unsubscribing is a span."

# The name of a patch, the method, why, and where the connection plan of such a client is.
_SYNC: Final = (
    ("command", "Redis.execute_command", _COMMAND, hooks.POOL),
    ("pipeline.command", "client.Pipeline.immediate_execute_command", _COMMAND, hooks.POOL),
    ("cluster.command", "cluster.RedisCluster.execute_command", _COMMAND, hooks.CLUSTER),
    ("pubsub.command", "client.PubSub.execute_command", _PUBSUB, hooks.POOL),
    ("cluster_pubsub.command", "cluster.ClusterPubSub.execute_command", _PUBSUB, hooks.CLUSTER_PUBSUB),
)
_ASYNC: Final = (
    ("async_command", "asyncio.Redis.execute_command", _COMMAND, hooks.POOL),
    ("async_pipeline.command", "asyncio.client.Pipeline.immediate_execute_command", _COMMAND, hooks.POOL),
    ("async_cluster.command", "asyncio.cluster.RedisCluster.execute_command", _COMMAND, hooks.ASYNC_CLUSTER),
    ("async_pubsub.command", "asyncio.client.PubSub.execute_command", _PUBSUB, hooks.POOL),
)
_SYNC_PIPELINES: Final = (
    ("pipeline", "client.Pipeline.execute", _PIPELINE, hooks.POOL),
    ("cluster_pipeline", "cluster.ClusterPipeline.execute", _PIPELINE, hooks.CLUSTER),
)
_ASYNC_PIPELINES: Final = (
    ("async_pipeline", "asyncio.client.Pipeline.execute", _PIPELINE, hooks.POOL),
    ("async_cluster_pipeline", "asyncio.cluster.ClusterPipeline.execute", _PIPELINE, hooks.ASYNC_CLUSTER_OF),
)

# Below "redis", so that they are applied once the whole package is imported.
PATCHES: Final = (
    *(
        DATABASE.patch(name, f"redis:{target}", why, functools.partial(around, method, holder), budget, requires=_REDIS)
        for methods, around, method, budget in (
            (_SYNC, hooks.around, stock_telemetry.COMMAND, "command"),
            (_ASYNC, hooks.around_async, stock_telemetry.ASYNC_COMMAND, "command, async"),
            (_SYNC_PIPELINES, hooks.around, stock_telemetry.PIPELINE, "pipeline of ten"),
            (_ASYNC_PIPELINES, hooks.around_async, stock_telemetry.ASYNC_PIPELINE, "pipeline of ten, async"),
        )
        for name, target, why, holder in methods
    ),
    *(
        DATABASE.patch(
            f"observability.{name}",
            f"redis:observability.providers.ObservabilityInstance.{name}",
            "The durations of commands are recorded by redis-py or by otel-fastpath, not by both.",
            observability.make_change,
            "command",
            requires=_OBSERVABILITY,
        )
        for name in ("init", "shutdown")
    ),
    *(
        DATABASE.patch(
            f"official.{name}",
            f"opentelemetry.instrumentation.redis:{factory}",
            "Clients that the stock instrumentation instruments one by one: each command has one span.",
            hooks.make_factory,
            "command of a stock client",
            requires=_STOCK,
        )
        for name, factory in stock_telemetry.FACTORIES.items()
    ),
)
