"""What each operation of SQLAlchemy emits: one span for what the application asked for."""

from __future__ import annotations

import asyncio
import logging
import os
import threading

import pytest
import sqlalchemy as sa
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy_tables import METADATA, Row, T, select_one


@pytest.mark.proves("sqlalchemy.execute", "sqlalchemy.rollback")
def test_a_select_is_a_span_with_the_stable_conventions(wrap, engine):
    """Its text has a parameter in the place of the value; a checkout is no span."""
    seen = wrap()

    with engine.connect() as connection:
        assert select_one(connection) == [(1, "row 1")]

    select, rollback = seen.spans()
    assert select.name == "SELECT t"
    assert select.kind is trace.SpanKind.CLIENT
    assert dict(select.attributes) == {
        "db.system.name": "sqlite",
        "db.query.text": "SELECT t.id, t.v \nFROM t \nWHERE t.id = ?",
        "db.query.summary": "SELECT t",
    }
    assert select.instrumentation_scope.name == "otel_fastpath.sqlalchemy"
    assert rollback.name == "ROLLBACK"


@pytest.mark.proves("sqlalchemy.commit")
def test_the_end_of_a_transaction_is_a_span_by_option(wrap, engine, instrumentor):
    """As with asyncpg; savepoints, too."""

    def run():
        with engine.begin() as connection, connection.begin_nested():
            select_one(connection)
        return seen.names()

    seen = wrap()
    first = run()
    instrumentor.uninstrument()
    wrap("no-transactions")

    assert [name.partition(" ")[0] for name in first] == ["SAVEPOINT", "SELECT", "RELEASE", "COMMIT"]
    assert run() == ["SELECT t"]


def test_with_autocommit_there_is_no_transaction_to_tell(wrap, engine):
    """The driver sends nothing."""
    seen = wrap()

    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        select_one(connection)

    assert seen.names() == ["SELECT t"]


def test_a_text_with_values_has_them_removed(wrap, engine):
    """Nothing shows that they are no secrets."""
    seen = wrap("no-transactions")

    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT * FROM t WHERE v = 'secret'").all()
        connection.execute(sa.text("SELECT * FROM t WHERE v = 'secret'")).all()

    assert [span.attributes["db.query.text"] for span in seen.spans()] == ["SELECT * FROM t WHERE v = ?"] * 2


def test_a_name_in_double_quotes_is_no_value_if_it_is_a_table(wrap):
    """SQLite takes anything else in double quotes for a string if there is no such column."""
    seen = wrap("no-transactions")
    engine = sa.create_engine("sqlite://")

    with engine.connect() as connection:
        connection.execute(sa.text('CREATE TABLE "order" (v TEXT)'))
        connection.execute(sa.text('INSERT INTO "order" VALUES ("secret")'))
        found = connection.exec_driver_sql('SELECT "order".v FROM "order" WHERE v = "secret"').all()
    engine.dispose()

    assert found == [("secret",)]
    _, insert, select = seen.spans()[1:]
    assert (insert.name, insert.attributes["db.query.text"]) == ('INSERT "order"', 'INSERT INTO "order" VALUES (?)')
    assert select.attributes["db.query.text"] == 'SELECT "order".v FROM "order" WHERE v = ?'


@pytest.mark.parametrize("text", ["-- nothing", "/* x */", "  ", ""])
def test_a_text_without_a_statement_is_no_exception_of_ours(wrap, engine, text):
    """The outcome is the driver's."""
    seen = wrap("no-transactions")

    with engine.connect() as connection:
        connection.exec_driver_sql(text)

    assert seen.names() == ["sqlite"]


def test_executemany_is_one_span_with_its_size(wrap, engine):
    """And one set of parameters is no batch."""
    seen = wrap("no-transactions")
    insert = sa.text("INSERT INTO t (v) VALUES (:v)")

    with engine.connect() as connection:
        connection.execute(insert, [{"v": "a"}, {"v": "b"}])
        connection.execute(insert, [{"v": "c"}])

    two, one = seen.spans()
    assert (two.name, two.attributes["db.operation.batch.size"]) == ("BATCH INSERT t", 2)
    assert (one.name, one.attributes.get("db.operation.batch.size")) == ("INSERT t", None)


@pytest.mark.proves("sqlalchemy.insertmany")
def test_insertmanyvalues_is_one_span_for_all_its_pages(wrap, engine):
    """Stock's has one for each page, and no size."""
    seen = wrap("no-transactions,rows")

    with engine.connect() as connection:
        returned = connection.execute(T.insert().returning(T.c.id), [{"v": str(number)} for number in range(2500)])
        assert len(returned.all()) == 2500

    span = seen.one()
    assert span.name == "BATCH INSERT t"
    assert span.attributes["db.operation.batch.size"] == span.attributes["db.response.returned_rows"] == 2500


def test_the_orm_is_traced(wrap, engine):
    """A flush of several rows is one span; `get` of a row that the session has is none."""
    seen = wrap()

    with orm.Session(engine) as session:
        session.add_all([Row(v="new"), Row(v="newer")])
        session.commit()
        row = session.get(Row, 1)
        assert session.get(Row, 1) is row

    assert seen.names() == ["BATCH INSERT t", "COMMIT", "SELECT t", "ROLLBACK"]


@pytest.mark.proves("sqlalchemy.default")
def test_a_default_that_is_queried_first_is_a_span(wrap, engine):
    """SQLAlchemy executes it before the statement of the application."""
    column = sa.Column("id", sa.Integer, default=sa.select(sa.func.max(T.c.id)).scalar_subquery(), primary_key=True)
    other = sa.Table("other", sa.MetaData(), column, implicit_returning=False)
    seen = wrap("no-transactions")

    with engine.connect() as connection:
        other.create(connection)
        seen.spans()
        connection.execute(other.insert())

    assert seen.names() == ["SELECT SELECT t", "INSERT other"]


@pytest.mark.proves("sqlalchemy.connect")
def test_a_new_connection_is_a_span_and_what_the_dialect_asks_is_part_of_it(wrap):
    """On sqlite, it asks nothing; see `test_drivers` for PostgreSQL."""
    seen = wrap("no-transactions")
    engine = sa.create_engine("sqlite://")

    for _ in range(2):
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    engine.dispose()

    assert seen.names() == ["CONNECT", "SELECT", "SELECT"]


def test_a_stream_is_its_first_execution(wrap, engine):
    """Rows that are fetched later belong to no span."""
    seen = wrap("no-transactions")

    with engine.connect().execution_options(yield_per=2) as connection:
        assert [row.id for row in connection.execute(sa.select(T))] == list(range(1, 11))

    assert seen.names() == ["SELECT t"]


def test_parameters_are_attributes_by_option(wrap, engine):
    """Of a single statement; the conventions have none for several sets."""
    seen = wrap("parameters,no-transactions")

    with engine.connect() as connection:
        select_one(connection)
        connection.execute(sa.text("INSERT INTO t (v) VALUES (:v)"), [{"v": "a"}, {"v": "b"}])

    one, many = seen.spans()
    assert one.attributes["db.query.parameter.0"] == "1"
    assert not [key for key in many.attributes if "parameter" in key]


def test_the_comment_is_in_what_the_driver_gets(wrap, engine):
    """By option; the attribute has the text without it."""
    seen = wrap("sqlcommenter,no-transactions")
    executed = []
    sa.event.listen(engine, "after_cursor_execute", lambda *args: executed.append(args[2]))

    with engine.connect() as connection:
        select_one(connection)

    span = seen.one()
    assert f"{span.context.trace_id:032x}-{span.context.span_id:016x}" in executed[0]
    assert "traceparent" not in span.attributes["db.query.text"]


def test_the_span_is_current_while_the_driver_runs(wrap, engine):
    """And not after it."""
    seen = wrap("no-transactions")
    current = []
    sa.event.listen(engine, "before_cursor_execute", lambda *_: current.append(trace.get_current_span()))

    with engine.connect() as connection:
        select_one(connection)
        assert trace.get_current_span() is trace.INVALID_SPAN

    assert [span.get_span_context() for span in current] == [seen.one().context]


def test_suppression_is_honoured(wrap, engine):
    """As by all instrumentations."""
    seen = wrap()

    with suppress_instrumentation(), engine.connect() as connection:
        select_one(connection)

    assert seen.spans() == ()


@pytest.mark.proves("sqlalchemy.*")
def test_uninstrument_restores(wrap, engine, instrumentor):
    """Every method is the very same, and engines that were used go on without telemetry."""
    from sqlalchemy.engine import base, default
    from sqlalchemy.pool import base as pool

    def methods():
        return [
            vars(owner)[name]
            for owner, names in (
                (base.Connection, ("_exec_single_context", "_exec_insertmany_context", "_cursor_execute")),
                (base.Connection, ("_commit_impl", "_rollback_impl")),
                (base.Engine, ("raw_connection",)),
                (default.DefaultDialect, ("_do_ping_w_event",)),
                (pool._ConnectionRecord, ("checkin", "_ConnectionRecord__connect")),
            )
            for name in names
        ]

    before = methods()
    seen = wrap()
    assert all(one is not other for one, other in zip(before, methods(), strict=True))
    with engine.connect() as connection:
        select_one(connection)
        seen.spans()
        instrumentor.uninstrument()
        select_one(connection)

    assert methods() == before
    assert seen.spans() == ()


def test_a_changed_set_up_holds_for_engines_in_use(wrap, engine, instrumentor):
    """Their connection plans are made again."""
    seen = wrap()
    with engine.connect() as connection:
        select_one(connection)
        instrumentor.uninstrument()
        wrap("parameters")
        seen.spans()
        select_one(connection)
        assert seen.one().attributes["db.query.parameter.0"] == "1"


def test_it_is_off_where_nobody_asked(wrap, engine):
    """With telemetry="same", and no stock instrumentation."""
    seen = wrap(telemetry="same")

    with engine.connect() as connection:
        select_one(connection)

    assert seen.spans() == ()


def test_threads_do_not_mix(wrap, tmp_path):
    """Each statement is a child of its own thread's span."""
    seen = wrap("no-transactions")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/file.db", pool_size=8)
    tracer = seen.tracer_provider.get_tracer("application")

    def work(number):
        for _ in range(25):
            with tracer.start_as_current_span(f"thread {number}"), engine.connect() as connection:
                connection.execute(sa.text("SELECT :n"), {"n": number})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.dispose()

    spans = seen.spans()
    parents = {span.context.span_id: span for span in spans}
    selects = [span for span in spans if span.name == "SELECT"]
    assert len(selects) == 200
    assert len({span.parent.span_id for span in selects}) == 200
    assert all(parents[span.parent.span_id].name.startswith("thread") for span in selects)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_goes_on(wrap, tmp_path):
    """With the engine that it was given, disposed of as SQLAlchemy's documentation says."""
    seen = wrap()
    engine = sa.create_engine(f"sqlite:///{tmp_path}/file.db")
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
    seen.spans()

    child = os.fork()
    if child == 0:
        status = 1
        try:
            logging.disable()
            engine.dispose(close=False)
            with engine.connect() as connection:
                connection.execute(sa.text("SELECT 2"))
            status = 0 if seen.names() == ["CONNECT", "SELECT", "ROLLBACK"] else 2
        finally:
            os._exit(status)

    assert os.waitpid(child, 0)[1] == 0
    engine.dispose()


def test_200_tasks_of_an_async_engine(wrap, tmp_path):
    """Each statement is a child of its own task's span; as many spans end as are started."""
    seen = wrap("no-transactions")
    tracer = seen.tracer_provider.get_tracer("application")

    async def main():
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/file.db")
        async with engine.begin() as connection:
            await connection.run_sync(METADATA.create_all)

        async def work(number):
            with tracer.start_as_current_span(f"task {number}"):
                async with engine.connect() as connection:
                    found = await connection.execute(sa.select(sa.literal(number)))
                    assert found.scalar() == number

        await asyncio.gather(*(work(number) for number in range(200)))
        await engine.dispose()

    asyncio.run(main())

    spans = seen.spans()
    assert seen.started == len(spans)
    own = {span.context.span_id: span for span in spans if span.name.startswith("task")}
    selects = [span for span in spans if span.name == "SELECT"]
    assert len(selects) == len({span.parent.span_id for span in selects}) == 200
    assert all(span.parent.span_id in own for span in selects)
