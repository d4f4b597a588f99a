"""What each operation of the driver emits."""

from __future__ import annotations

import pytest
from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, SimpleStatement, dict_factory, tuple_factory
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

SCOPE = "otel_fastpath.cassandra"


def milliseconds(span):
    """How long the span took."""
    return (span.end_time - span.start_time) / 1e6


@pytest.mark.proves("cassandra.execute", "cassandra.result")
def test_a_request_is_a_span(traced, server):
    """With the conventions' attributes."""
    session, seen = traced
    server.answer("SELECT name FROM users", rows=[{"name": "a"}], types={"name": "varchar"})

    rows = session.execute("SELECT name FROM users").all()

    assert [row.name for row in rows] == ["a"]
    span = seen.one()
    attributes = dict(span.attributes)
    assert attributes.pop("cassandra.coordinator.id").count("-") == 4
    assert attributes.pop("network.peer.port") in server.ports
    assert attributes == {
        "db.system.name": "cassandra",
        "db.namespace": "shop",
        "db.query.text": "SELECT name FROM users",
        "db.query.summary": "SELECT users",
        "server.address": "127.0.0.1",
        "server.port": server.ports[0],
        "network.peer.address": "127.0.0.1",
        "cassandra.consistency.level": "local_one",
        "cassandra.coordinator.dc": "dc1",
        "cassandra.page.size": 5000,
        "cassandra.query.idempotent": False,
    }
    assert (span.name, span.kind, span.status.status_code) == ("SELECT users", SpanKind.CLIENT, StatusCode.UNSET)
    assert span.instrumentation_scope.name == SCOPE


@pytest.mark.parametrize("how", ["execute", "execute_async"])
def test_a_span_ends_when_its_result_is_there(traced, server, how):
    """And not when it is submitted."""
    session, seen = traced
    server.answer("SELECT slow", delay=80)

    if how == "execute":
        session.execute("SELECT slow")
    else:
        future = session.execute_async("SELECT slow")
        assert seen.spans() == ()
        future.result()

    assert 75 < milliseconds(seen.one()) < 2000


@pytest.mark.parametrize(("module", "kind"), [("libev", "LibevConnection"), ("asyncio", "AsyncioConnection")])
def test_each_reactor_brings_the_result(wrap, connect, server, module, kind):
    """In its own thread; gevent's has a test of its own."""
    reactor = pytest.importorskip(f"cassandra.io.{module}reactor", exc_type=ImportError)
    server.answer("SELECT slow", delay=80)
    session = connect(connection_class=getattr(reactor, kind))
    seen = wrap()

    with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
        execute_concurrent_with_args(session, "SELECT a FROM b WHERE c = %s", [(1,)] * 50, concurrency=5)
        session.execute("SELECT slow")

    *many, slow, request = seen.spans()
    assert {span.name for span in many} == {"SELECT b"}
    assert len(many) == 50
    assert milliseconds(slow) > 75
    assert {span.parent.span_id for span in (*many, slow)} == {request.context.span_id}


def test_the_query_may_be_a_keyword(traced):
    """Which the stock instrumentation takes for an error."""
    session, seen = traced

    session.execute_async(query="SELECT a FROM b").result()
    session.execute(query="SELECT a FROM b", parameters=None)

    assert seen.names() == ["SELECT b"] * 2


@pytest.mark.parametrize("text", ["", " ", "-- only a comment", "/* only a comment */", "// only a comment", ";"])
def test_a_text_without_a_statement_is_no_exception(traced, text):
    """It is for the server to judge it."""
    session, seen = traced

    session.execute(text)

    assert seen.names() == ["shop"]


@pytest.mark.proves("cassandra.prepare")
def test_a_prepared_statement(traced):
    """Its preparation is a span; its text is told, its values are not."""
    session, seen = traced

    statement = session.prepare("INSERT INTO users (id, name) VALUES (?, ?) USING TTL 60")
    session.execute(statement, ["a", "secret"])
    session.execute(statement.bind(["b", "secret"]))

    spans = seen.spans()
    assert [span.name for span in spans] == ["PREPARE INSERT users", "INSERT users", "INSERT users"]
    assert {span.attributes["db.query.text"] for span in spans} == {
        "INSERT INTO users (id, name) VALUES (?, ?) USING TTL 60"
    }
    assert "secret" not in str([span.attributes for span in spans])


def test_values_in_the_text_are_not_told(traced):
    """Parameters of a text are put there by the driver."""
    session, seen = traced

    session.execute("SELECT * FROM users WHERE name = 'secret' AND id = 550e8400-e29b-41d4-a716-446655440000")
    session.execute("SELECT * FROM users WHERE name = %s", ["secret"])
    session.execute(SimpleStatement("SELECT * FROM users WHERE name = %(name)s"), {"name": "secret"})

    assert [span.attributes["db.query.text"] for span in seen.spans()] == [
        "SELECT * FROM users WHERE name = ? AND id = ?",
        "SELECT * FROM users WHERE name = %s",
        "SELECT * FROM users WHERE name = %(name)s",
    ]


def test_parameters_are_told_on_request(wrap, session):
    """Of a prepared statement and of a text."""
    seen = wrap("parameters")
    statement = session.prepare("SELECT * FROM users WHERE id = ?")
    seen.spans()

    session.execute(statement, ["a"])
    session.execute("SELECT * FROM users WHERE id = %(id)s", {"id": "b" * 1000})

    first, second = seen.spans()
    assert first.attributes["db.query.parameter.0"] == "a"
    assert second.attributes["db.query.parameter.id"] == "b" * 256


def test_a_slow_query_has_its_parameters(wrap, session):
    """Also one whose result arrives later; not a batch."""
    seen = wrap("slow=1us,repeats=2")
    statement = session.prepare("SELECT * FROM users WHERE id = ?")
    with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
        session.execute(statement, ["a"])
        session.execute_async("SELECT * FROM users WHERE id = %(id)s", {"id": "b" * 1000}).result()
        session.execute(BatchStatement().add(statement, ["c"]).add(statement, ["d"]))

    found = seen.spans()
    told = [
        (span.attributes.get("otel_fastpath.db.slow"), *(v for k, v in span.attributes.items() if "parameter" in k))
        for span in found[1:]
    ]
    assert told == [(True, "a"), (True, "b" * 256), (True,), (None,)]
    assert found[-1].attributes["otel_fastpath.db.repeated.count"] == 2


def test_a_batch_is_a_span(traced):
    """With its size; of one text, it is named after that."""
    session, seen = traced
    statement = session.prepare("INSERT INTO users (id, name) VALUES (?, ?)")
    same, different, one = BatchStatement(), BatchStatement(), BatchStatement()
    for number in range(100):
        same.add(statement, [str(number), "secret"])
    different.add(statement, ["a", "secret"]).add("DELETE FROM carts WHERE id = %s", ["secret"])
    one.add(statement.bind(["a", "secret"]))
    seen.spans()

    for batch in (same, different, one):
        session.execute(batch)

    spans = seen.spans()
    assert [(span.name, span.attributes.get("db.operation.batch.size")) for span in spans] == [
        ("BATCH INSERT users", 100),
        ("BATCH", 2),
        ("INSERT users", None),
    ]
    assert [span.attributes["db.query.text"] for span in spans] == [
        "INSERT INTO users (id, name) VALUES (?, ?)",
        "INSERT INTO users (id, name) VALUES (?, ?); DELETE FROM carts WHERE id = ?",
        "INSERT INTO users (id, name) VALUES (?, ?)",
    ]
    assert "secret" not in str([span.attributes for span in spans])


def test_a_batch_shows_a_bounded_number_of_texts(traced):
    """Whatever its size."""
    session, seen = traced
    batch, empty = BatchStatement(), BatchStatement()
    for number in range(1000):
        batch.add(f"TRUNCATE table{number}")

    session.execute(batch)
    session.execute(empty)

    first, second = seen.spans()
    assert first.attributes["db.operation.batch.size"] == 1000
    assert len(first.attributes["db.query.text"]) < 1000
    assert (first.name, second.name) == ("BATCH", "BATCH")


@pytest.mark.proves("cassandra.page", "cassandra.wait.page")
def test_each_page_is_a_span(traced, server):
    """Simulacron has no pages: it is asked again. `make suite NAME=cassandra` has a server that does."""
    session, seen = traced
    server.answer("SELECT id FROM users", rows=[{"id": 1}], types={"id": "int"}, delay=30)

    with trace.get_tracer("app", tracer_provider=seen.tracer_provider).start_as_current_span("request"):
        result = session.execute("SELECT id FROM users")
        for _ in range(2):
            result.response_future._paging_state = b"more"
            result.fetch_next_page()

    *pages, root = seen.spans()
    assert [page.name for page in pages] == ["SELECT users"] * 3
    assert {page.parent.span_id for page in pages} == {root.context.span_id}
    assert all(milliseconds(page) > 25 for page in pages)
    with pytest.raises(Exception, match=r"^$"):
        result.response_future.start_fetching_next_page()
    assert seen.spans() == ()


@pytest.mark.proves("cassandra.connect")
def test_making_a_session_is_a_span(wrap, connect):
    """Each of them; one that cannot be made is an error."""
    from cassandra.cluster import Cluster, NoHostAvailable

    seen = wrap()

    session = connect("shop")
    session.cluster.connect()
    with pytest.raises(NoHostAvailable), Cluster(["127.0.0.1"], port=1) as cluster:
        cluster.connect("shop")

    first, second, refused = seen.spans()
    assert (first.name, second.name, refused.name) == ("CONNECT",) * 3
    assert (first.attributes["db.namespace"], "db.namespace" in second.attributes) == ("shop", False)
    assert (refused.status.status_code, refused.attributes["server.port"]) == (StatusCode.ERROR, 1)


def test_the_keyspace_is_the_sessions(traced):
    """Also after it has changed."""
    session, seen = traced

    session.execute("SELECT a FROM b")
    session.set_keyspace("other")
    session.execute("SELECT a FROM b")

    assert [span.attributes["db.namespace"] for span in seen.spans()] == ["shop", "shop", "other"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"consistency_level": ConsistencyLevel.QUORUM}, "quorum"), ({"consistency_level": ConsistencyLevel.ANY}, "any")],
)
def test_the_consistency_is_the_statements(traced, settings, expected):
    """And whether it is idempotent, and the size of its pages."""
    session, seen = traced

    session.execute(SimpleStatement("SELECT a FROM b", is_idempotent=True, fetch_size=10, **settings))

    attributes = seen.one().attributes
    assert attributes["cassandra.consistency.level"] == expected
    assert (attributes["cassandra.query.idempotent"], attributes["cassandra.page.size"]) == (True, 10)


def test_durations_and_rows_are_metrics(wrap, session, server):
    """With the server's attributes, whatever the row factory makes."""
    from cassandra.cluster import EXEC_PROFILE_DEFAULT

    seen = wrap("rows")
    server.answer("SELECT id FROM users", rows=[{"id": 1}, {"id": 2}], types={"id": "int"})
    profile = session.get_execution_profile(EXEC_PROFILE_DEFAULT)

    for factory in (dict_factory, tuple_factory, lambda _columns, rows: iter(rows)):
        profile.row_factory = factory
        session.execute("SELECT id FROM users")

    assert [span.attributes.get("db.response.returned_rows") for span in seen.spans()] == [2, 2, None]
    (durations,) = seen.metrics()["db.client.operation.duration"]
    assert durations.count == 3
    assert durations.attributes == {
        "db.system.name": "cassandra",
        "db.namespace": "shop",
        "db.query.summary": "SELECT users",
        "server.address": "127.0.0.1",
        "server.port": server.ports[0],
    }
    (rows,) = seen.metrics()["db.client.response.returned_rows"]
    assert (rows.count, rows.sum) == (2, 4)


def test_cqlengine_is_seen(wrap, server):
    """Its statements, named after their tables."""
    from cassandra.cqlengine import columns, connection, models

    class User(models.Model):
        __keyspace__ = "shop"
        id = columns.Text(primary_key=True)
        name = columns.Text()

    connection.setup(["127.0.0.1"], "shop", port=server.ports[0], protocol_version=4)
    try:
        seen = wrap()
        User.create(id="a", name="secret")
        assert list(User.objects(id="a")) == []
    finally:
        connection.unregister_connection("default")

    spans = seen.spans()
    assert [span.name for span in spans] == ["INSERT shop.user", "SELECT shop.user"]
    assert "secret" not in str([span.attributes for span in spans])


def test_a_request_in_a_statement_of_sqlalchemy_is_seen(traced):
    """As in a listener of its events: Cassandra's driver is none of SQLAlchemy's."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    session, seen = traced
    engine = sqlalchemy.create_engine("sqlite://")
    sqlalchemy.event.listen(engine, "after_cursor_execute", lambda *_: session.execute("SELECT a FROM b"))

    with engine.connect() as connection:
        seen.spans()
        connection.execute(sqlalchemy.text("SELECT 1 FROM sqlite_master"))
        request, statement = seen.spans()
    engine.dispose()

    assert (request.name, statement.name) == ("SELECT b", "SELECT sqlite_master")
    assert request.parent.span_id == statement.context.span_id


def test_a_million_characters_take_no_longer(wrap, session):
    """They are cut before they are read, and not kept."""
    seen = wrap()

    session.execute("SELECT a FROM b WHERE c = '" + "x" * 1_000_000 + "'")
    session.execute("INSERT INTO b (c) VALUES (" + "1," * 500_000 + "1)")

    assert [span.name for span in seen.spans()] == ["SELECT b", "INSERT b"]
