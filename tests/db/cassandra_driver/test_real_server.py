"""A real Cassandra: pages, batches, lightweight transactions, CQL's own errors. `make suite NAME=cassandra` runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cassandra import AlreadyExists, InvalidRequest, Unauthorized
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from opentelemetry import trace

sys.path.insert(0, str(Path(__file__).parent))

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("OTEL_FASTPATH_TESTS") != "cassandra", reason="`make suite NAME=cassandra` runs it"
    ),
    pytest.mark.timeout(900),
]
KEYSPACE = "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """That of the server."""
    from real_server import Cassandra

    started = Cassandra(tmp_path_factory.mktemp("cassandra"))
    with Cluster(["127.0.0.1"], port=started.port) as cluster:
        session = cluster.connect()
        session.execute(KEYSPACE)
        session.execute("CREATE TABLE shop.users (id int PRIMARY KEY, name text, visits set<text>)")
        session.execute("CREATE TABLE shop.hits (id int PRIMARY KEY, number counter)")
        execute_concurrent_with_args(
            session, "INSERT INTO shop.users (id, name) VALUES (%s, %s)", [(number, "a") for number in range(25)]
        )
    yield started.port
    started.stop()


@pytest.fixture(params=["libev", "asyncio"])
def session(request, port):
    """A session, with each reactor that does not need monkey patching."""
    module = pytest.importorskip(f"cassandra.io.{request.param}reactor")
    kind = {"libev": "LibevConnection", "asyncio": "AsyncioConnection"}[request.param]
    with Cluster(["127.0.0.1"], port=port, connection_class=getattr(module, kind)) as cluster:
        yield cluster.connect("shop")


def test_each_page_is_a_span(wrap, session):
    """Whoever asks for it: iteration, the method, a callback."""
    seen = wrap("rows")
    statement = SimpleStatement("SELECT id FROM users", fetch_size=10)

    assert len(list(session.execute(statement))) == 25
    assert [span.attributes["db.response.returned_rows"] for span in seen.spans()] == [10, 10, 5]

    result = session.execute(statement)
    result.fetch_next_page()
    assert [span.name for span in seen.spans()] == ["SELECT users"] * 2

    prepared = session.prepare("SELECT id FROM users")
    prepared.fetch_size = 20
    assert len(session.execute(prepared).all()) == 25
    assert [span.attributes.get("cassandra.page.size") for span in seen.spans()] == [None, 20, 20]


def test_pages_in_callbacks_are_in_the_trace(wrap, session):
    """As the driver's documentation reads them."""
    import threading

    seen = wrap()
    tracer = trace.get_tracer("app", tracer_provider=seen.tracer_provider)
    done, rows = threading.Event(), []

    def page(found):
        rows.extend(found)
        if future.has_more_pages:
            future.start_fetching_next_page()
        else:
            done.set()

    with tracer.start_as_current_span("request"):
        future = session.execute_async(SimpleStatement("SELECT id FROM users", fetch_size=5))
        future.add_callbacks(page, print)
        assert done.wait(30)

    *pages, root = seen.spans()
    assert len(rows) == 25
    assert [span.name for span in pages] == ["SELECT users"] * len(pages)
    assert len(pages) >= 5
    assert {span.parent.span_id for span in pages} == {root.context.span_id}


def test_statements_of_cql(wrap, session):
    """Batches, counters, lightweight transactions, collections, definitions."""
    seen = wrap()
    insert = session.prepare("INSERT INTO users (id, name) VALUES (?, ?) IF NOT EXISTS")
    assert session.execute(insert, (1000, "a")).was_applied in {True, False}
    assert not session.execute(insert, (1000, "a")).was_applied
    session.execute("UPDATE users SET visits = visits + {'secret'} WHERE id = 1000")
    counters = BatchStatement(BatchType.COUNTER)
    for number in range(3):
        counters.add("UPDATE hits SET number = number + 1 WHERE id = %s", (number,))
    session.execute(counters)
    session.execute("BEGIN BATCH INSERT INTO users (id) VALUES (1001); DELETE FROM users WHERE id = 1001; APPLY BATCH")
    session.execute("CREATE TABLE IF NOT EXISTS other (id uuid PRIMARY KEY)")
    session.execute("SELECT * FROM other WHERE id = 550e8400-e29b-41d4-a716-446655440000")

    spans = seen.spans()
    assert [span.name for span in spans] == [
        "PREPARE INSERT users",
        "INSERT users",
        "INSERT users",
        "UPDATE users",
        "BATCH UPDATE hits",
        "BATCH INSERT users DELETE users",
        "CREATE TABLE other",
        "SELECT other",
    ]
    assert "secret" not in str([span.attributes for span in spans])
    assert {span.status.status_code.name for span in spans} == {"UNSET"}


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("SELEC 1", SyntaxException, "2000"),
        ("SELECT nothing FROM users", InvalidRequest, "2200"),
        ("CREATE TABLE users (id int PRIMARY KEY)", AlreadyExists, "2400"),
        ("DROP TABLE system.local", Unauthorized, "2100"),
    ],
)
def test_errors_of_the_server(wrap, session, text, kind, code):
    """Each with its code."""
    seen = wrap()

    with pytest.raises(kind):
        session.execute(text)

    assert seen.one().attributes["error.type"] == code


def test_a_trace_of_the_server_is_the_drivers_own(wrap, session):
    """Fetching it makes no span."""
    seen = wrap()

    result = session.execute("SELECT id FROM users WHERE id = 1", trace=True)

    assert result.get_query_trace().events
    assert seen.names() == ["SELECT users"]
