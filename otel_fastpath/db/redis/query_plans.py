"""What is worked out once for redis-py: its set-up, and what is stored for a pool of connections or a cluster."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db import conventions, query_plans
from otel_fastpath.db.database import Database
from otel_fastpath.db.options import options_with
from otel_fastpath.db.redis import commands
from otel_fastpath.db.redis.stock_telemetry import StockConventions
from otel_fastpath.db.server_attributes import Server, System
from otel_fastpath.patching import faults
from otel_fastpath.wrapping.call import CallDurations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.db.redis.commands import Command, PipelineCommands
    from otel_fastpath.wrapping.call import Failure

REDIS: Final = System("redis", 6379)
CONNECTION_PLAN: Final = "_otel_fastpath"
# What the stock instrumentation reads of a pool.
_READ: Final = ("host", "port", "path", "db")
_PREFIX: Final = re.compile(r"[A-Z][A-Z0-9_]{1,31}")
_CAUSED: Final = " of pipeline caused error: "
# The prefixes of errors whose classes older releases do not tell by `status_code`, and have cut off from the message.
_PREFIXES: Final = {
    "OutOfMemoryError": "OOM",
    "ExecAbortError": "EXECABORT",
    "BusyLoadingError": "LOADING",
    "NoScriptError": "NOSCRIPT",
    "ReadOnlyError": "READONLY",
    "NoPermissionError": "NOPERM",
    "AskError": "ASK",
    "TryAgainError": "TRYAGAIN",
    "MovedError": "MOVED",
    "ClusterDownError": "CLUSTERDOWN",
    "ClusterCrossSlotError": "CROSSSLOT",
    "MasterDownError": "MASTERDOWN",
    "ResponseError": "ERR",
}
# In messages that have the arguments of a command.
_WITH_ARGUMENTS: Final = (
    "Command # ",
    "unknown command ",
    "unknown subcommand ",
    "No targets were found",
    "No way to ",
)


class StableRedisConventions(conventions.StableConventions):
    """The stable conventions for Redis, under a scope of our own.

    Attributes:
        most: How many commands of a pipeline are read.
    """

    most = commands.MOST_SHOWN

    def key_of(self, kind: str, every: list[Any]) -> Any:
        """What a pipeline's plan is kept by: all that its name and text depend on."""
        if not every:
            return (kind,)
        heads, sizes, is_more = [args[0] for args in every], list(map(len, every)), len(every) > self.most
        if heads.count(heads[0]) < len(heads):
            return kind, tuple(heads[: self.most]), tuple(sizes[: self.most]), is_more
        if sizes.count(sizes[0]) < len(sizes):
            return kind, heads[0], tuple(sizes[: self.most]), is_more, True
        return kind, heads[0], sizes[0], len(every) > 1, True, True

    def of_command(self, command: Command, server: Server, own: Any) -> tuple[str, dict[str, Any]]:  # noqa: ARG002  # as StockConventions's
        """The name and attributes of a command's span."""
        return self._made(command.name, command.text, server)

    def of_batch(self, batch: PipelineCommands, server: Server, own: Any) -> tuple[str, dict[str, Any]]:  # noqa: ARG002  # likewise
        """The name and attributes of a pipeline's span."""
        return self._made(batch.name, batch.text, server)

    def _made(self, name: str, text: str, server: Server) -> tuple[str, dict[str, Any]]:
        found = server.attributes()
        if name:
            found["db.operation.name"] = name
        if text:
            found["db.query.text"] = text
        return name or server.system.name, found


class Plans(query_plans.QueryPlans):
    """The plans for one server, by a command's name and the number of its arguments."""

    __slots__ = ()

    def of_command(self, args: Sequence[Any]) -> Any:
        """The plan for a command, given the arguments of the method, `self` first."""
        command = commands.read(args[1], len(args) - 2)
        convention: Any = self.active.convention
        name, attributes = convention.of_command(command, self.server, self.own)
        made = self._plan(name, attributes, command.name)
        self.keep(self.of_queries, (args[1], len(args)), made, sys.getsizeof(args[1]))
        return made

    def of_batch(self, key: Any, kind: str, every: Sequence[Sequence[Any]]) -> Any:
        """The plan for a pipeline, given its key and the arguments of its commands."""
        convention: Any = self.active.convention
        shown = every[: convention.most]
        batch = commands.PipelineCommands(
            kind,
            tuple(commands.read(args[0], len(args) - 1) for args in shown),
            len(every),
            all(args[0] == every[0][0] for args in every),
            all(args[0] == every[0][0] and len(args) == len(every[0]) for args in every),
        )
        name, attributes = convention.of_batch(batch, self.server, self.own)
        made = self._plan(name, attributes, batch.name)
        self.keep(self.of_queries_with_arguments, key, made, 128 * len(shown))
        return made

    def _plan(self, name: str, attributes: dict[str, Any], operation: str) -> Any:
        made = self._durations(operation)
        return self.active.hot.QueryPlan(name, attributes, made, None, False, operation)  # noqa: FBT003  # no keywords

    def _durations(self, operation: str) -> CallDurations | None:
        if self.active.durations is None:
            return None
        attributes = self.server.attributes()
        if operation:
            attributes["db.operation.name"] = operation
        return CallDurations(self.active.durations, self.active.labels.bounded(attributes), "db.response.status_code")


def server_of(holder: Any) -> Server:
    """The server of a pool of connections; of a cluster, the first of its startup nodes in their order by address."""
    manager = holder if hasattr(holder, "startup_nodes") else getattr(holder, "nodes_manager", None)
    if manager is not None:
        given = manager.startup_nodes
        every = tuple(given.values() if isinstance(given, dict) else given)
        nodes = sorted((str(node.host), int(node.port)) for node in every)
        return Server(REDIS, nodes[0] if nodes else None, "0")
    settings = getattr(holder, "connection_kwargs", None)
    if settings is None:
        # A custom connection pool.
        return Server(REDIS)
    return Server(REDIS, _address_of(holder, settings), str(settings.get("db") or 0))


def _address_of(holder: Any, settings: Any) -> Any:
    if settings.get("path"):
        return settings["path"]
    if "host" in settings:
        return settings["host"], int(settings.get("port", REDIS.port))
    # The server of a Sentinel's service is known only once there is a connection.
    return None if hasattr(holder, "service_name") else ("localhost", int(settings.get("port", REDIS.port)))


def _read_of(holder: Any) -> Any:
    """What the stock instrumentation reads of a pool; None: it tells nothing of a cluster, or of somebody's pool."""
    settings = getattr(holder, "connection_kwargs", None)
    if settings is None or hasattr(holder, "startup_nodes") or hasattr(holder, "nodes_manager"):
        return None
    return tuple((name, settings[name]) for name in _READ if name in settings)


def status_code(error: BaseException) -> str | None:
    """The prefix of an error of the server, such as "WRONGTYPE"; None: it is not the server's."""
    found = getattr(error, "status_code", None)
    if isinstance(found, str):
        return found
    if not _is_redis(error, "ResponseError"):
        return None
    # An asynchronous pipeline quotes a tuple.
    prefix = faults.text_of(error).rpartition(_CAUSED)[2].lstrip("('\"").partition(" ")[0]
    if _PREFIX.fullmatch(prefix):
        return prefix
    if prefix.startswith("{"):
        # redis-py 6 forgets to put it there.
        return None
    return _PREFIXES.get(type(error).__name__)


class _Redis(Database):
    """redis-py: some of its errors are none, and some of their messages have the arguments of commands."""

    def _failure(self, error: BaseException) -> Failure:
        found = super()._failure(error)
        if _is_redis(error, "WatchError") and not _is_redis(error.__context__, "ConnectionError", "TimeoutError"):
            # The outcome of a transaction that the application must expect, and repeats.
            return found._replace(type="")
        if _is_redis(error, "RedisError", "RedisClusterException") and any(
            part in faults.text_of(error) for part in _WITH_ARGUMENTS
        ):
            return found._replace(recorded=False)
        return found


def _is_redis(error: BaseException | None, *names: str) -> bool:
    """Whether this is one of redis-py's exceptions of these names."""
    kinds = type(error).__mro__
    return any(kind.__name__ in names and kind.__module__ == "redis.exceptions" for kind in kinds)


DATABASE: Final = _Redis(
    "redis",
    server_of,
    status_code=status_code,
    connection_plan=CONNECTION_PLAN,
    options=options_with(common=("no-metrics", "parameters")),
    stock=StockConventions,
    stable=StableRedisConventions,
    make_plans=Plans,
    own=_read_of,
    has_rows=False,
    is_driver=False,
)
