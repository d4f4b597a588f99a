"""Our hooks around cassandra-driver with a stub for its session, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'cassandra,*'

Stubs replace the driver's methods, so that only the hooks are counted. A request has its result at once, as one whose
result arrives while it is submitted. The set-ups are `stock`, `pure` and those that start with `compiled`.
"""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import databases

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "INSERT INTO users (id, name) VALUES (?, ?)"
VALUES = ("4711", "x" * 100)
PAGE = [(1,)]


class Host(SimpleNamespace):
    """What the hooks read of a host; the driver's can be referred to weakly, as an object of a class like this."""


HOST = Host(host_id=uuid.UUID(int=1), datacenter="dc1", endpoint=SimpleNamespace(address="127.0.0.1", port=9042))
CLUSTER = SimpleNamespace(contact_points=["127.0.0.1"], port=9042, _prepared_statements={})


def _execute_async(session: Any, _query: Any, _parameters: Any = None) -> Any:
    future = session.made()
    future._set_final_result(PAGE)
    return future


def _execute(session: Any, query: Any, parameters: Any = None) -> Any:
    return session.execute_async(query, parameters).result()


def _set_final_result(future: Any, _response: Any) -> None:
    future._event.is_there = True


def _result(_future: Any) -> Any:
    return PAGE


def _prepare(_session: Any, _query: Any) -> Any:
    return None


def _connect(_cluster: Any, _keyspace: Any = None) -> Any:
    return None


def _start_fetching_next_page(future: Any) -> None:
    future._set_final_result(PAGE)


def _add(_future: Any, _fn: Any, *_args: Any) -> None:
    pass


class _Event:
    is_there = False

    def is_set(self) -> bool:
        """Whether the result is there."""
        return self.is_there


def _made(session: Any, statement: Any) -> Any:
    """A future as the driver makes it, without a connection."""
    from cassandra.cluster import ResponseFuture  # noqa: PLC0415  # only where it is measured

    future = object.__new__(ResponseFuture)
    future.__dict__.update(
        session=session, query=statement, message=SimpleNamespace(consistency_level=1, fetch_size=5000)
    )
    future.__dict__.update(coordinator_host=HOST, _event=_Event(), _paging_state=b"more", _final_result=PAGE)
    return future


def _stub() -> None:
    from cassandra import cluster  # noqa: PLC0415  # only where it is measured

    session: Any = cluster.Session
    session.execute_async, session.execute, session.prepare = _execute_async, _execute, _prepare
    future: Any = cluster.ResponseFuture
    future._set_final_result, future.result = _set_final_result, _result
    future.start_fetching_next_page = _start_fetching_next_page
    future.add_callback = future.add_errback = _add
    cluster.Cluster.connect = _connect


class Given:
    """The objects that the callables of this file use.

    Attributes:
        session: A session, whose methods are the hooks around the stubs.
        cluster: A cluster, likewise.
        statement: A prepared statement.
        batch: A batch of a hundred statements.
        future: A future, whose methods are likewise.
    """

    def __init__(self) -> None:
        from cassandra import cluster, query  # noqa: PLC0415  # only where it is measured

        self.session: Any = object.__new__(cluster.Session)
        self.session.__dict__.update(cluster=CLUSTER, keyspace="shop")
        self.cluster: Any = object.__new__(cluster.Cluster)
        self.cluster.__dict__.update(contact_points=["127.0.0.1"], port=9042)
        self.statement: Any = object.__new__(query.PreparedStatement)
        self.statement.__dict__.update(query_string=TEXT, is_idempotent=False)
        self.batch = query.BatchStatement()
        CLUSTER._prepared_statements[b"1"] = self.statement
        self.batch._statements_and_parameters = [(True, b"1", VALUES)] * 100
        self.future = _made(self.session, self.statement)
        self.session.__dict__["made"] = self._again

    def _again(self) -> Any:
        self.future._event.is_there = False
        return self.future


def _given(mode: str, core: str) -> Given:
    _stub()
    databases.instrument("cassandra", mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def stock() -> Given:
    """The stock instrumentation's hook, with traces."""
    _stub()
    from opentelemetry.instrumentation.cassandra import CassandraInstrumentor  # noqa: PLC0415  # likewise

    CassandraInstrumentor().instrument(tracer_provider=databases.providers("stock")["tracer_provider"])
    return Given()


def in_a_span(make: Callable[[], Given]) -> Given:
    """The same in the context of a span, as in a request of a service."""
    from opentelemetry import trace  # noqa: PLC0415  # likewise
    from opentelemetry.context import attach  # noqa: PLC0415  # likewise

    given = make()
    span = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1)))
    attach(trace.set_span_in_context(span))
    return given


def compiled_in_a_span() -> Given:
    """`compiled`, likewise."""
    return in_a_span(compiled)


def execute_async_bare(given: Given) -> None:
    """The stub."""
    _execute_async(given.session, given.statement, VALUES)


def execute_async(given: Given) -> None:
    """The hooks around it."""
    given.session.execute_async(given.statement, VALUES)


def execute_bare(given: Given) -> None:
    """The stub."""
    _execute_async(given.session, given.statement, VALUES)
    _result(given.future)


def execute(given: Given) -> None:
    """The hooks around it."""
    given.session.execute(given.statement, VALUES)


def batch_bare(given: Given) -> None:
    """The stub."""
    _execute_async(given.session, given.batch)


def batch(given: Given) -> None:
    """The hooks around it."""
    given.session.execute_async(given.batch)


def prepare_bare(given: Given) -> None:
    """The stub."""
    _prepare(given.session, TEXT)


def prepare(given: Given) -> None:
    """The hook around it."""
    given.session.prepare(TEXT)


def connect_bare(given: Given) -> None:
    """The stub."""
    _connect(given.cluster, "shop")


def connect(given: Given) -> None:
    """The hook around it."""
    given.cluster.connect("shop")


def page_bare(given: Given) -> None:
    """The stub."""
    given.future._event.is_there = False
    _start_fetching_next_page(given.future)


def page(given: Given) -> None:
    """The hooks around it."""
    given.future._event.is_there = False
    given.future.start_fetching_next_page()


def callbacks_bare(given: Given) -> None:
    """The stub."""
    _add(given.future, print)
    _add(given.future, print)


def callbacks(given: Given) -> None:
    """The hooks around it."""
    given.future.add_callback(print)
    given.future.add_errback(print)
