"""SQLAlchemy does what every wrapper of a database library does."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from contracts.databases import Outcome, Takeover
from opentelemetry import context
from sqlalchemy import exc, orm, pool
from sqlalchemy_tables import DIFFERENT, METADATA, Row, T, select_one, what_both_see

from otel_fastpath.db import conventions, database
from otel_fastpath.db import pools as db_pools
from otel_fastpath.db.queries import comments
from otel_fastpath.db.queries import parameters as db_parameters
from otel_fastpath.db.sqlalchemy import engines, hooks, pools
from otel_fastpath.wrapping import call as calls


def _ask(connection):
    assert connection.exec_driver_sql("SELECT 7").scalar() == 7


@pytest.mark.proves("sqlalchemy.execute", "sqlalchemy.connect")
class TestContract(Outcome, Takeover):
    """SQLAlchemy, on sqlite."""

    query = staticmethod(_ask)
    asked = [select_one]
    options = "acquire,parameters,rows,sqlcommenter,slow=1us,repeats=2"
    quiet = "no-transactions"

    own = {
        "connection plan": (database.Database, "connection_plan"),
        "read": (conventions, "read"),
        "plan": (engines.EnginePlans, "plan"),
        "special": (engines.EnginePlans, "special"),
        "tell": (db_parameters, "put_parameters"),
        "cause": (hooks, "cause"),
        "count": (hooks, "_count"),
        "failure": (calls.CallDurations, "record_failed"),
        "comment": (comments, "with_comment"),
        "server": (engines, "server_of"),
        "watched": (pools, "watched"),
        "pool metrics": (pools, "metrics_of"),
        "acquire": (db_pools, "begin_acquire"),
    }

    @pytest.fixture
    def program(self):
        """Each operation once; what comes of it must be SQLAlchemy's own."""

        def call():
            settings = {"poolclass": pool.QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": 0.01}
            engine = sa.create_engine("sqlite://", **settings)
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

        return call

    ignored = DIFFERENT

    opt_ins = ("", "database", "database/dup", "http,database")

    @pytest.fixture
    def both_runs(self):
        """Run the program on a new engine; the first statement brings the pool's one connection."""

        def call():
            engine = sa.create_engine("sqlite:///")
            self.program_of_both(engine)
            engine.dispose()

        return call

    program_of_both = staticmethod(what_both_see)

    def events_of(self, span):
        """The driver's message, which may have data of a row in it, is not ours."""
        return len(span.events)

    def check_stock(self, names):
        """All statements."""
        assert len(names) > 8

    def test_where_ours_stands_back_stock_does_its_work(self, stock_instrumentor, wrap, seen, engine):
        """It refuses SQLAlchemy, or not, as without us."""
        wrap(sqlalchemy="defer")

        stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, engine=engine)
        with engine.connect() as connection:
            select_one(connection)

        assert "connect" in seen.names()
        assert stock_instrumentor.instrumentation_dependencies() != ("sqlalchemy >= 2.0, < 2.2",)
