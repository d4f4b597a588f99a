"""Cassandra's driver does what every wrapper of a database library does."""

from __future__ import annotations

import pytest
from cassandra import AlreadyExists, InvalidRequest, ReadTimeout, Unavailable, WriteTimeout, cluster
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement
from contracts.databases import Errors, Outcome, Takeover, Transparency, by_hand
from opentelemetry import context
from sabotage import FOREIGN, broken_logging

from otel_fastpath.db import database
from otel_fastpath.db.cassandra import cql, future_callbacks, futures, hooks, query_plans, statements
from otel_fastpath.wrapping import call as calls

TIMEOUT = {"consistency_level": "ONE", "received": 0, "block_for": 1}
ANSWERS = {
    "unavailable": ("unavailable", {"consistency_level": "ONE", "required": 2, "alive": 1}),
    "read timeout": ("read_timeout", {**TIMEOUT, "data_present": False}),
    "write timeout": ("write_timeout", {**TIMEOUT, "write_type": "SIMPLE"}),
    "syntax": ("syntax_error", {"message": "no viable alternative"}),
    "invalid": ("invalid", {"message": "unconfigured table"}),
    "exists": ("already_exists", {"keyspace": "shop", "table": "users", "message": ""}),
}
ERRORS = {
    "unavailable": (Unavailable, "1000"),
    "read timeout": (ReadTimeout, "1200"),
    "write timeout": (WriteTimeout, "1100"),
    "syntax": (SyntaxException, "2000"),
    "invalid": (InvalidRequest, "2200"),
    "exists": (AlreadyExists, "2400"),
}
HOW = {"": lambda s, text: s.execute(text), " later": lambda s, text: s.execute_async(text).result()}


def _statements(session):
    statement = session.prepare("INSERT INTO users (id) VALUES (?)")
    found = session.execute(statement, ["a"]).all()
    session.execute(BatchStatement().add(statement, ["a"]).add("DELETE FROM a"))
    results = execute_concurrent_with_args(session, statement, [("a",)] * 30, concurrency=5)
    return found, {result.success for result in results}


def _errors(session):
    found = []
    for call in HOW.values():
        with pytest.raises(InvalidRequest, match="mine"):
            call(session, "SELECT wrong")
        found.append("mine")
    return found


def _pages(session):
    result = session.execute("SELECT a FROM b")
    result.response_future._paging_state = b"more"
    result.fetch_next_page()
    found = result.current_rows[0].a
    session.execute("SELECT a FROM b").response_future._on_speculative_execute()
    session.execute_async("SELECT a FROM b").add_callback(lambda _: None)
    return found


def _ask(session):
    assert session.execute("SELECT a FROM b").one().a == 1


@pytest.mark.proves("cassandra.exception")
class TestContract(Errors, Outcome, Takeover, Transparency):
    """Cassandra's driver, with Simulacron."""

    query = staticmethod(_ask)
    entries = {
        "select": (lambda s: s.execute("SELECT a FROM b").one().a, 1),
        "statements": (_statements, ([], {True})),
        "errors": (_errors, ["mine", "mine"]),
        "pages": (_pages, 1),
    }
    asked = [lambda s: s.execute("SELECT a FROM b")]
    options = "parameters,slow=1us,repeats=2"

    errors = {
        name + how: (lambda s, name=name, ask=ask: ask(s, f"SELECT '{name}'"), *ERRORS[name])
        for name in ERRORS
        for how, ask in HOW.items()
    }
    settings = {
        "execution_profiles": {
            EXEC_PROFILE_DEFAULT: ExecutionProfile(
                retry_policy=FallthroughRetryPolicy(), load_balancing_policy=RoundRobinPolicy()
            )
        }
    }
    read = ("select", "statements")
    reader = (cql, "read")

    @pytest.fixture(autouse=True)
    def answers(self, server):
        """What the cluster answers."""
        server.answer("SELECT a FROM b", rows=[{"a": 1}], types={"a": "int"})
        server.answer("SELECT wrong", error=("invalid", {"message": "mine"}))
        for name, answer in ANSWERS.items():
            server.answer(f"SELECT '{name}'", error=answer)

    def check_error(self, name, span):  # noqa: ARG002  # of each
        """Its coordinator is known."""
        assert span.attributes["cassandra.coordinator.dc"] == "dc1"

    own = {
        "new connection plan": (database.Database, "new_connection_plan"),
        "read": (cql, "read"),
        "plan": (query_plans.Plans, "plan"),
        "batch": (query_plans.Plans, "of_batch"),
        "statements": (statements, "of_batch"),
        "server": (query_plans, "address_of"),
        "end": (query_plans.Plans, "end"),
        "look": (hooks, "_look"),
        "callback": (future_callbacks, "carrying"),
        "speculative": (futures, "_attempts"),
        "series": (calls.CallDurations, "record_failed"),
    }
    # A request ends in the driver's thread.
    raised = ("on_start", "processor", "sampler", "ids")
    stopped_at = ("on_start",)
    raising = [
        (cluster.Session, "execute_async", asked[0]),
        (cluster.ResponseFuture, "result", asked[0]),
    ]

    @pytest.fixture
    def program(self, connect):
        """Each entry once, with a connect."""

        async def main():
            before = context.get_current()
            session = connect()
            await self.ask_everything(session)
            session.set_keyspace("other")
            session.cluster.shutdown()
            assert context.get_current() is before

        return lambda: by_hand(main())

    @pytest.mark.parametrize("absorbed", ["on_ending", "on_end"])
    def test_the_result_arrives_whatever_a_processor_raises(self, instrumentor, core, run, absorbed):
        """A request ends in the driver's thread, which brings the result all the same."""

        def main(session):
            instrumentor.instrument(core=core, telemetry="full", disabled="exceptions", **FOREIGN[absorbed]())
            with broken_logging():
                _ask(session)

        run(main)

    variants = [{}, {"include_db_statement": True}]
    stock_settings = variants[1]
    ignored = {"error.type"}
    stood_back = (lambda s: s.prepare("SELECT a FROM b") and s.execute("SELECT a FROM b"), ["Cassandra"])

    opt_ins = ("", "database", "database/dup", "http", "database,http")

    @staticmethod
    def program_of_both(session):
        """What both see alike."""
        session.execute("SELECT a FROM b WHERE c = 'secret'")
        session.execute("SELECT a FROM b WHERE c = %s", ["secret"])
        session.execute_async("SELECT a FROM b").result()
        statement = session.prepare("INSERT INTO users (id) VALUES (?)")
        session.execute(statement, ["secret"])
        session.execute(statement.bind(["secret"]))
        session.execute(BatchStatement().add(statement, ["secret"]).add("DELETE FROM b"))
        session.set_keyspace("other")
        session.execute("SELECT a FROM b")
        with pytest.raises(ValueError, match="profile"):
            session.execute("SELECT a FROM b", execution_profile="missing")
        session.set_keyspace("shop")

    @pytest.fixture
    def both_runs(self, session):
        """Run the program with one session."""
        return lambda: self.program_of_both(session)

    def check_stock(self, names):
        """One for each request, and for the statements that change the keyspace."""
        assert names == ["Cassandra"] * 10

    def check_added(self, spans):
        """What is prepared is a span, too; no value is recorded."""
        assert [span.name for span in spans] == ["Cassandra"] * 11
        assert {"cassandra.coordinator.dc", "db.statement"} <= set(spans[0].attributes)
        assert "secret" not in str([span.attributes for span in spans])

    owners = (cluster.Session, cluster.ResponseFuture, cluster.Cluster)
    on_top = ((cluster.Session, "execute_async"),)
    topped = staticmethod(asked[0])
