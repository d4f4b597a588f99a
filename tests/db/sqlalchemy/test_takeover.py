"""In the place of the stock instrumentation: its spans, without its faults."""

from __future__ import annotations

import asyncio
import importlib
import sys

import pytest
import sqlalchemy as sa
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy_tables import DIFFERENT, METADATA, T, select_one, usage, what_both_see

SCOPE = "opentelemetry.instrumentation.sqlalchemy"


def test_there_is_no_span_for_a_checkout(stock_instrumentor, wrap, seen):
    """Of a connection that the pool has; stock's has a `connect` for each."""

    def twice(engine):
        for _ in range(2):
            with engine.connect() as connection:
                select_one(connection)

    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        METADATA.create_all(connection)
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine)
    twice(engine)
    assert [name.partition(" ")[0] for name in seen.names()] == ["connect", "SELECT"] * 2
    wrap(telemetry="same")
    twice(engine)
    assert [name.partition(" ")[0] for name in seen.names()] == ["SELECT"] * 2
    engine.dispose()


def test_told_to_instrument_ours_does_and_told_to_uninstrument_ours_stops(stock_instrumentor, wrap, seen, engine):
    """With telemetry="same"; with "full", ours emits its own again."""
    wrap(telemetry="same")
    with engine.connect() as connection:
        select_one(connection)
        assert seen.spans() == ()
        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
        select_one(connection)
        assert seen.one().instrumentation_scope.name == SCOPE
        stock_instrumentor.uninstrument()
        select_one(connection)
        assert seen.spans() == ()


@pytest.mark.parametrize("telemetry", ["same", "full"])
def test_sqlalchemy_2_1_is_not_refused(wrap, seen, engine, telemetry, monkeypatch, caplog):
    """The stock instrumentor checks its requirements, logs an error and does nothing: with ours, it is replaced."""
    monkeypatch.setattr(SQLAlchemyInstrumentor, "_instance", None)
    refuses = tuple(map(int, sa.__version__.split(".")[:2])) >= (2, 1)
    stock_instrumentor = SQLAlchemyInstrumentor()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    assert stock_instrumentor.is_instrumented_by_opentelemetry is not refuses
    if not refuses:
        stock_instrumentor.uninstrument()
    caplog.clear()
    wrap(telemetry=telemetry)

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine)
    with engine.connect() as connection:
        select_one(connection)

    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert stock_instrumentor.is_instrumented_by_opentelemetry
    assert seen.spans()[0].instrumentation_scope.name == SCOPE
    stock_instrumentor.uninstrument()


ARGUMENTS = {
    "comments": {"enable_commenter": True, "commenter_options": {"opentelemetry_values": False}},
    "fewer": {
        "enable_commenter": True,
        "commenter_options": {"db_driver": False, "db_framework": False, "opentelemetry_values": False},
    },
    "attribute": {
        "enable_commenter": True,
        "commenter_options": {"opentelemetry_values": False},
        "enable_attribute_commenter": True,
    },
}


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_its_comments_are_made(stock_instrumentor, wrap, seen, arguments, ours_first):
    """With its arguments, also if it was given them before ours was there."""
    told = {**ARGUMENTS[arguments], "tracer_provider": seen.tracer_provider}

    def found():
        executed = []

        def run(engine):
            sa.event.listen(engine, "after_cursor_execute", lambda *args: executed.append(args[2]))
            what_both_see(engine)

        engine = sa.create_engine("sqlite:///")
        run(engine)
        engine.dispose()
        return executed, [
            (span.name, span.kind, {key: span.attributes[key] for key in span.attributes.keys() - DIFFERENT})
            for span in seen.spans()
        ]

    stock_instrumentor.instrument(**told)
    expected = found()
    stock_instrumentor.uninstrument()
    if ours_first:
        wrap(telemetry="same")
        stock_instrumentor.instrument(**told)
    else:
        stock_instrumentor.instrument(**told)
        wrap(telemetry="same")

    assert found() == expected


def test_the_trace_context_is_in_its_comment(stock_instrumentor, wrap, seen, engine):
    """That of the statement's span."""
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, enable_commenter=True)
    executed = []
    sa.event.listen(engine, "after_cursor_execute", lambda *args: executed.append(args[2]))

    with engine.connect() as connection:
        select_one(connection)

    context = seen.one().context
    assert f"{context.trace_id:032x}-{context.span_id:016x}" in executed[0]


@pytest.fixture
def imported_late():
    """`sqlalchemy.ext.asyncio` is imported after the instrumentation, as with `opentelemetry-instrument`."""
    names = [name for name in sys.modules if name.startswith("sqlalchemy.ext.asyncio")]
    kept = {name: sys.modules.pop(name) for name in names}
    package = sys.modules["sqlalchemy.ext"]
    before = package.asyncio
    yield lambda: importlib.import_module("sqlalchemy.ext.asyncio")
    sys.modules.update(kept)
    package.asyncio = before


def test_an_async_engine_has_one_span_each(stock_instrumentor, wrap, seen, imported_late, tmp_path):
    """Imported late, stock's starts two for each statement, ends one, and counts connections twice."""

    def run(create):
        async def main():
            engine = create(f"sqlite+aiosqlite:///{tmp_path}/file.db")
            async with engine.connect() as connection:
                await connection.execute(sa.text("SELECT 1"))
                found = usage(seen)
            await engine.dispose()
            return found

        return asyncio.run(main())

    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, meter_provider=seen.meter_provider)

    used = [value for (_, state), value in run(imported_late().create_async_engine).items() if state == "used"]

    assert used == [1]
    assert seen.started == len(seen.spans()) == 2


def test_the_name_has_the_database_of_an_async_engine_too(stock_instrumentor, wrap, seen, url):
    """Stock's names its spans over asyncpg after the operation alone, and others with the database, too."""
    target = url("asyncpg")

    async def main():
        engine = create_async_engine(target)
        for instrument in seen_by:
            instrument(engine=engine.sync_engine, tracer_provider=seen.tracer_provider)
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        await engine.dispose()
        return [name for name in seen.names() if name.startswith("SELECT")]

    seen_by = [stock_instrumentor.instrument]
    assert asyncio.run(main()) == ["SELECT"]
    seen_by.clear()
    wrap("no-transactions")
    assert asyncio.run(main()) == [f"SELECT {target.database}"]


def test_an_engine_from_before_has_spans(stock_instrumentor, wrap, seen, engine):
    """Stock's sees those that it is given, and those that are made later."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
    # Its hook of the method `Engine.connect` is one of all engines.
    assert seen.names() == ["connect"]
    wrap(telemetry="same")

    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))

    assert "SELECT" in {name.partition(" ")[0] for name in seen.names()}


def test_an_engine_that_was_instrumented_twice_is_so_once(stock_instrumentor, wrap, seen, tmp_path):
    """Both of stock's listeners are removed, whatever that raises, when ours takes its place."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/file.db")
    wrap(telemetry="same")

    async def main():
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        await engine.dispose()

    asyncio.run(main())

    assert [name.partition(" ")[0] for name in seen.names()] == ["connect", "SELECT"]


def test_uninstrumented_ours_gives_back_what_it_took(stock_instrumentor, wrap, seen, engine, instrumentor):
    """Engines that stock's had, it has again, with its arguments."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine, enable_commenter=True)
    wrap(telemetry="same")
    with engine.connect() as connection:
        select_one(connection)
    assert len(seen.spans()) == 1

    instrumentor.uninstrument()

    executed = []
    sa.event.listen(engine, "after_cursor_execute", lambda *args: executed.append(args[2]))
    with engine.connect() as connection:
        select_one(connection)
    assert [name.partition(" ")[0] for name in seen.names()] == ["connect", "SELECT"]
    assert "db_driver" in executed[0]


def test_the_faults_of_stock_in_errors_are_not_ours(stock_instrumentor, wrap, seen, engine):
    """Its status has the row in it; with `skip_user_error_events`, its span never ends."""
    secret = {"id": 1, "v": "the secret"}

    def run():
        with engine.connect() as connection:
            with pytest.raises(exc.IntegrityError):
                connection.execute(T.insert(), secret)
            with pytest.raises(exc.IntegrityError):
                connection.execution_options(skip_user_error_events=True).execute(T.insert(), secret)
        return [span for span in seen.spans() if span.name != "connect"]

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine)
    theirs = run()
    wrap(telemetry="same")
    ours = run()

    assert len(theirs) == 1
    assert "UNIQUE constraint failed" in theirs[0].status.description
    assert [span.status.description for span in ours] == ["IntegrityError"] * 2


@pytest.mark.parametrize("text", ["-- nothing", "/* x */", "  "])
def test_a_text_without_a_statement_is_no_exception(stock_instrumentor, wrap, seen, engine, text):
    """Whichever convention names the span."""
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    with engine.connect() as connection:
        connection.exec_driver_sql(text)

    assert seen.one().instrumentation_scope.name == SCOPE


def test_a_large_insert_is_one_span(stock_instrumentor, wrap, seen, engine):
    """Stock's has one for each page."""
    rows = [{"v": str(number)} for number in range(2500)]
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine)
    with engine.connect() as connection:
        connection.execute(T.insert().returning(T.c.id), rows).all()
    assert len([name for name in seen.names() if name.startswith("INSERT")]) > 1
    wrap(telemetry="same")

    with engine.connect() as connection:
        connection.execute(T.insert().returning(T.c.id), rows).all()

    assert seen.names() == ["INSERT"]
