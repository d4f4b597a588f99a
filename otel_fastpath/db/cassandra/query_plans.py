"""What is worked out once for the driver: its set-up, and what is stored for a session, as an attribute of it."""

from __future__ import annotations

import weakref
from typing import Any, Final

from otel_fastpath.db import query_plans
from otel_fastpath.db.cassandra import cql, statements
from otel_fastpath.db.cassandra.stock_telemetry import StockConventions
from otel_fastpath.db.conventions import BATCH, QueryText
from otel_fastpath.db.database import Database
from otel_fastpath.db.options import options_with
from otel_fastpath.db.server_attributes import Server, System

CASSANDRA: Final = System("cassandra", 9042)
# The hot module of requests.
CONNECTION_PLAN: Final = "_otel_fastpath"
# Attributes of a future: its call in progress; its result or exception; the plan, for its further pages; the number of
# speculative executions; the number of retries before this page.
CALL: Final = "_otel_fastpath_call"
OUTCOME: Final = "_otel_fastpath_outcome"
PLAN: Final = "_otel_fastpath_plan"
SPECULATIVE: Final = "_otel_fastpath_speculative"
RETRIES: Final = "_otel_fastpath_retries"
_MOST_ENDS: Final = 256
# The driver's exceptions for errors of the server that do not have its code themselves -> the codes of the protocol.
_CODES: Final = {
    "Unavailable": 0x1000,
    "WriteTimeout": 0x1100,
    "ReadTimeout": 0x1200,
    "ReadFailure": 0x1300,
    "FunctionFailure": 0x1400,
    "WriteFailure": 0x1500,
    "CDCWriteFailure": 0x1600,
    "Unauthorized": 0x2100,
    "InvalidRequest": 0x2200,
    "ConfigurationException": 0x2300,
    "AlreadyExists": 0x2400,
}


class Plans(query_plans.QueryPlans):
    """The plans for one cluster and keyspace.

    Attributes:
        ends: Attributes set when requests end, by coordinator and consistency: see `end`.
    """

    __slots__ = ("ends",)

    def __init__(self, active: Any, server: Server, own: Any) -> None:
        super().__init__(active, server, own)
        if isinstance(self.convention, StockConventions):
            self.convention = self.convention.of_session(*own)
        self.ends: dict[Any, Any] = {}

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once."""
        return cql.read(text, has_arguments=has_arguments) if issubclass(type(text), str) else QueryText("")

    def of_batch(self, batch: statements.StatementBatch) -> Any:
        """The plan for a batch."""
        if len(batch.texts) == 1:
            return self.plan(batch.texts[0], BATCH if batch.size > 1 else "", batch.has_arguments)
        key = (BATCH, batch.has_arguments, batch.texts)
        made = self.of_others.get(key)
        if made is None:
            made = self._make(key, self._joined(batch), BATCH)
            self.keep(self.of_others, key, made, sum(map(len, batch.texts)) * 2)
        return made

    def _joined(self, batch: statements.StatementBatch) -> QueryText:
        """The statements of a batch as one: "BATCH" if they are different operations."""
        found = [self.query(text, batch.has_arguments) for text in batch.texts]
        summaries = dict.fromkeys(query.summary for query in found)
        return QueryText(
            "; ".join(batch.texts),
            "; ".join(query.text for query in found),
            summary=next(iter(summaries)) if len(summaries) == 1 else "",
        )

    def end(self, coordinator: Any, contacted: Any, key: Any) -> dict[str, Any]:
        """Attributes set when a request ends; cached if a coordinator responded.

        Args:
            coordinator: The host that answered, or None.
            contacted: The one that was asked last.
            key: What it is kept by: the coordinator's id, and the request's consistency, page size and idempotence.
        """
        from cassandra import ConsistencyLevel  # noqa: PLC0415  # a wrapper does not import its library: it is there

        _, level, fetch_size, is_idempotent = key
        found: dict[str, Any] = {"cassandra.query.idempotent": bool(is_idempotent)}
        name = ConsistencyLevel.value_to_name.get(level)
        if name is not None:
            found["cassandra.consistency.level"] = name.lower()
        if isinstance(fetch_size, int):
            found["cassandra.page.size"] = fetch_size
        if coordinator is not None:
            found["cassandra.coordinator.id"] = str(coordinator.host_id)
            found["cassandra.coordinator.dc"] = str(coordinator.datacenter)
        host = coordinator or contacted
        if host is not None:
            found["network.peer.address"] = str(host.endpoint.address)
            found["network.peer.port"] = int(host.endpoint.port)
        if coordinator is not None:
            if len(self.ends) >= _MOST_ENDS:
                self.ends.pop(next(iter(self.ends), None), None)
            # These plans outlive the cluster that the host belongs to.
            self.ends[key] = weakref.ref(coordinator), found
        return found


def server_of(session: Any) -> Server:
    """The first contact point of a session, or of a cluster, and the session's keyspace."""
    cluster = getattr(session, "cluster", session)
    return Server(CASSANDRA, address_of(cluster), getattr(session, "keyspace", None))


def address_of(cluster: Any) -> tuple[str, int] | None:
    """The host and port of a cluster's first contact point."""
    point = next(iter(cluster.contact_points or ()), None)
    if isinstance(point, str):
        return point, int(cluster.port)
    if isinstance(point, tuple):
        return str(point[0]), int(point[1])
    address = getattr(point, "address", None)
    return None if address is None else (str(address), int(getattr(point, "port", None) or cluster.port))


def status_code(error: BaseException) -> str | None:
    """The code of the native protocol for an error of the server, in hexadecimal; None: the error is the driver's."""
    code = getattr(error, "error_code", None)
    for kind in type(error).__mro__:
        if code is None and kind.__module__ == "cassandra":
            code = _CODES.get(kind.__name__)
    return f"{code:04X}" if isinstance(code, int) else None


def own_of(cluster: Any, keyspace: Any) -> Any:
    """What the plans depend on besides the server: what the stock instrumentation tells of a session."""
    return keyspace, tuple(cluster.contact_points or ())


def _own_of_session(session: Any) -> Any:
    return own_of(getattr(session, "cluster", session), getattr(session, "keyspace", None))


DATABASE: Final = Database(
    "cassandra",
    server_of,
    status_code=status_code,
    connection_plan=CONNECTION_PLAN,
    # CQL has no transactions.
    options=options_with(common=("no-metrics", "parameters", "rows")),
    stock=StockConventions,
    make_plans=Plans,
    own=_own_of_session,
    is_driver=False,
)
