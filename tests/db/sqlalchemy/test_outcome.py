"""Whatever telemetry raises around a call of SQLAlchemy: the outcome is SQLAlchemy's, and the context as before."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, RAISED, as_ours, broken, broken_logging, plain, raising_once
from sqlalchemy import exc, orm, pool
from sqlalchemy_tables import METADATA, Row, T, select_one

from otel_fastpath.db import calls as db_calls
from otel_fastpath.db import conventions, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.queries import comments
from otel_fastpath.db.sqlalchemy import engines, hooks, pools
from otel_fastpath.wrapping import call as calls

OPTIONS = "acquire,parameters,rows,sqlcommenter,slow=1us,repeats=2"
# The place of a function of ours that every operation or some of them come through.
OWN = {
    "link": (database.Database, "link"),
    "read": (conventions, "read"),
    "plan": (engines.EnginePlans, "plan"),
    "special": (engines.EnginePlans, "special"),
    "tell": (db_calls, "tell"),
    "cause": (hooks, "cause"),
    "count": (hooks, "_count"),
    "failure": (calls.CallDurations, "record_failed"),
    "comment": (comments, "with_comment"),
    "server": (engines, "server_of"),
    "watched": (pools, "watched"),
    "pool metrics": (pools, "metrics_of"),
    "acquire": (db_pools, "begin_acquire"),
}


def program():
    """Each operation once; what comes of it must be SQLAlchemy's own."""
    engine = sa.create_engine("sqlite://", poolclass=pool.QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.01)
    before = context.get_current()
    with engine.connect() as connection:
        METADATA.create_all(connection)
        returned = connection.execute(T.insert().returning(T.c.id), [{"v": "a"}, {"v": "b"}]).all()
        assert sorted(returned) == [(1,), (2,)]
        connection.execute(sa.text("INSERT INTO t (v) VALUES (:v)"), [{"v": "c"}, {"v": "d"}])
        assert select_one(connection) == [(1, "a")]
        with pytest.raises(exc.IntegrityError):
            connection.execute(T.insert(), {"id": 1, "v": "x"})
        connection.commit()
        with pytest.raises(exc.TimeoutError):
            engine.connect()
        assert context.get_current() is before
    with orm.Session(engine) as session:
        assert session.get(Row, 4).v == "d"
    engine.dispose()
    with pytest.raises(exc.OperationalError):
        sa.create_engine("sqlite:////nowhere/at/all.db").connect()
    assert context.get_current() is before


@pytest.fixture
def everything(instrumentor, core):
    """`everything(sabotage, **providers)`: the program, with a sabotaged telemetry."""

    def run(sabotage=lambda: None, **providers):
        instrumentor.instrument(
            core=core, telemetry="full", disabled="exceptions", sqlalchemy_options=OPTIONS, **providers
        )
        sabotage()
        token = context.attach(context.set_value("mine", 1))
        try:
            with broken_logging():
                program()
        finally:
            context.detach(token)

    return run


@pytest.mark.parametrize("saboteur", ABSORBED)
def test_a_foreign_fault_is_not_the_applications(everything, saboteur):
    """Whichever part of the set-up raises, and our log besides."""
    everything(**FOREIGN[saboteur]())


@pytest.mark.parametrize("saboteur", RAISED)
def test_an_error_of_the_set_up_is_raised(instrumentor, core, saboteur):
    """The error of a processor, sampler or id generator is the application's to see, and the next query works."""
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[saboteur]())
        with raising_once():
            connection.exec_driver_sql("SELECT 1")
        instrumentor.uninstrument()
        assert connection.exec_driver_sql("SELECT 2").scalar() == 2  # what was asked for
    engine.dispose()


@pytest.mark.parametrize("place", OWN)
def test_a_fault_of_ours_is_counted_only(everything, no_faults, monkeypatch, place):
    """In whichever function of the wrapper."""
    everything(lambda: monkeypatch.setattr(*OWN[place], as_ours(broken)), **plain())

    assert no_faults.counts()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", ["on_start", "on_end"])
def test_who_asks_to_stop_is_heard(wrap, engine, monkeypatch, seen, stop, at):
    """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
    wrap("no-transactions")

    def interrupted(*_args, **_kwargs):
        raise stop

    with engine.connect() as connection:
        before = context.get_current()
        with monkeypatch.context() as patched:
            patched.setattr(seen.tracer_provider._active_span_processor._span_processors[0], at, interrupted)
            with pytest.raises(stop):
                select_one(connection)
        assert context.get_current() is before
        assert select_one(connection) == [(1, "row 1")]
