"""Every operation is seen, once: its span, its attributes, its metrics."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

import pytest
from contracts.databases.contract import Contract, wait
from opentelemetry.trace import SpanKind, StatusCode

DURATION = "db.client.operation.duration"
ROWS = "db.client.response.returned_rows"


class Operations(Contract):
    """Every operation is seen, once: its span, its attributes, its metrics.

    Attributes:
        methods: Name -> what is done with what `take` takes, the name of its span.
        marks: The placeholders of a text and of a number.
        numbers: Name -> what is done, how many rows it returns; None if it returns none.
        batches: The names of methods -> the sizes of their batches.
        process: The number of a connection's process on the server.
        killed: What is raised where that is killed, and each `error.type` that it can have.
    """

    methods = {}
    marks = ("%s", "%s")
    numbers = {}
    batches = {}
    killed = ()

    cases = (
        ("test_each_method_is_one_span", "method", lambda cls: list(cls.methods), False),
        ("test_rows_are_counted_where_they_are_returned", "kind", lambda cls: list(cls.numbers), False),
        ("test_a_batch_has_its_size", "method", lambda cls: list(cls.batches), False),
    )
    needs = {
        "test_rows_are_counted_where_they_are_returned": "numbers",
        "test_a_batch_has_its_size": "batches",
    }

    @staticmethod
    def take(connection):
        """What has the methods."""
        return connection

    def ask(self, connection, text, *values):
        """Execute a text with these values."""
        raise NotImplementedError

    def ask_by_name(self, connection):
        """Execute a query with a parameter "a", whose value is "x", if parameters have names; returns whether."""

    def test_a_query_has_the_stable_conventions_attributes(self, look_both, database_url, library):
        """At its creation; the port because it is not 5432; parameterised text as it is."""
        url = urlsplit(database_url)
        text = "SELECT id, v FROM t WHERE v <> 'x' AND id < " + self.marks[0]  # noqa: S608  # a placeholder
        span = look_both(lambda connection: self.ask(connection, text, 4)).one()

        assert (span.name, span.kind, span.status.status_code) == ("SELECT t", SpanKind.CLIENT, StatusCode.UNSET)
        expected = {
            "db.system.name": "postgresql",
            "db.namespace": url.path[1:],
            "server.address": url.hostname,
            "server.port": url.port,
            "db.query.text": text,
            "db.query.summary": "SELECT t",
        }
        if url.port in {None, 5432}:
            del expected["server.port"]
        assert dict(span.attributes) == expected
        assert span.instrumentation_scope.name == f"otel_fastpath.{library}"

    def test_each_method_is_one_span(self, look_both, method):
        """By position or keyword; what the library does inside it, such as a page of a batch, is no span of its own."""
        call, name = self.methods[method]

        seen = look_both(lambda connection: call(self.take(connection)))

        span = seen.one()
        assert (span.name, span.status.status_code) == (name, StatusCode.UNSET)
        assert span.attributes["db.query.summary"] == span.name
        durations = {point.attributes["db.query.summary"]: point.count for point in seen.metrics()[DURATION]}
        assert durations[span.name] == 1

    def test_rows_are_counted_where_they_are_returned(self, look_both, kind):
        """As a metric, and as an attribute for who asked."""
        call, number = self.numbers[kind]

        seen = look_both(lambda connection: call(self.take(connection)), options="rows")

        assert seen.one().attributes.get("db.response.returned_rows") == number
        assert [point.sum for point in seen.metrics().get(ROWS, [])] == ([] if number is None else [number])

    def test_a_batch_has_its_size(self, look_both, method):
        """If it can be known without consuming the parameters."""
        span = look_both(lambda connection: self.methods[method][0](self.take(connection))).one()

        assert span.attributes["db.operation.batch.size"] == self.batches[method]

    def test_literals_do_not_leave(self, look_both):
        """Neither in the text nor in the name."""
        text = "SELECT 'secret', 4711 FROM t WHERE v IN ('a', 'b')"
        span = look_both(lambda connection: self.ask(connection, text)).one()

        assert span.attributes["db.query.text"] == "SELECT ?, ? FROM t WHERE v IN (?)"
        assert "secret" not in span.to_json()

    def test_durations_and_rows_have_the_stated_buckets(self, look_both):
        """Of the convention; the stock instrumentation has the SDK's, the first of which ends at 5 seconds."""
        metrics = look_both(lambda connection: self.ask(connection, "SELECT 1")).metrics()

        point = next(p for p in metrics[DURATION] if p.attributes["db.query.summary"] == "SELECT")
        assert point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
        assert 0 < point.sum < 60
        (rows,) = metrics[ROWS]
        assert rows.explicit_bounds == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)

    def test_uninstrumented_nothing_is_seen(self, wrap, run, instrumentor):
        """On a connection that was seen before; wrapped again, it is seen again, with the new options."""
        counts = []

        async def main(connection):
            seen.spans()
            await wait(self.ask(connection, "SELECT 1"))
            instrumentor.uninstrument()
            await wait(self.ask(connection, "SELECT 2"))
            counts.append(len(seen.spans()))
            wrap("parameters")
            await wait(self.ask(connection, f"SELECT {self.marks[0]}::text, {self.marks[1]}", "x" * 1000, 7))
            span = seen.one()
            assert span.attributes["db.query.parameter.0"] == "x" * 256
            assert span.attributes["db.query.parameter.1"] == "7"
            if self.ask_by_name(connection):
                assert seen.one().attributes["db.query.parameter.a"] == "x"

        seen = wrap()
        run(main)

        assert counts == [1]

    def test_a_server_process_that_is_killed_is_told(self, look, run):
        """In the middle of a query."""
        raised, types = self.killed

        async def main(connection):
            kill = f"SELECT pg_terminate_backend({self.process(connection)})"
            timer = threading.Timer(0.3, run, (lambda other: self.ask(other, kill),))
            timer.start()
            with pytest.raises(raised):
                await wait(self.ask(connection, "SELECT pg_sleep(5)"))
            timer.join()

        (span,) = [span for span in look(main).spans() if span.status.status_code is StatusCode.ERROR]

        assert span.attributes["error.type"] in types
