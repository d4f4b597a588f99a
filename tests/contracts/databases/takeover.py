"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import pytest
from combinations import crossed
from contracts.databases.contract import Contract, wait
from opentelemetry.trace import StatusCode


class Takeover(Contract):
    """In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query.

    Attributes:
        telemetry: The setting with which the telemetry is compared.
        stock_settings: What the stock instrumentor gets.
        ignored: Attributes that are in the list of differences.
        names: Some names of the program's spans with stock.
        variants: Other settings, with each of which the spans are equal.
        stood_back: What is asked when ours stands back, and stock's names.
        differences: Name, what is done, the names of stock's spans and of ours.
        violation: What fails over a row, the exception, a part of stock's description, `error.type`.
    """

    telemetry = "same"
    stock_settings = {}
    ignored = frozenset()
    variants = [{}]
    names = frozenset()
    stood_back = None
    differences = []
    violation = None

    # The values of OTEL_SEMCONV_STABILITY_OPT_IN that stock's knows.
    opt_ins = ("", "database", "database/dup")
    cases = (
        (
            *("test_the_spans_are_equal", ("opt_in_value", "ours_first", "variant")),
            *(lambda cls: crossed(cls.opt_ins, [True, False], cls.variants), ["opt_in_value"]),
        ),
        ("test_what_is_meant_to_differ_differs", "difference", lambda cls: cls.differences, False),
    )

    @pytest.fixture
    def both_runs(self, run):
        """Run what both see alike."""
        return lambda: run(self.program_of_both)

    @pytest.fixture
    def enable(self, stock_instrumentor, seen):
        """Enable stock's."""
        return lambda **settings: stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, **settings)

    def compared(self, span):
        """What is compared of a span."""
        scope = span.instrumentation_scope
        attributes = {key: value for key, value in span.attributes.items() if key not in self.ignored}
        return (
            *(span.name, span.kind.name, attributes, span.status.status_code.name, self.events_of(span)),
            *(scope.name, scope.version, scope.schema_url),
        )

    def events_of(self, span):
        """What is compared of its events."""
        return [event.name for event in span.events]

    def check_stock(self, names):
        """What is expected of stock's spans of the program."""
        assert self.names <= set(names)

    def without_added(self, found):
        """Without what ours tells in addition."""
        return found

    @pytest.mark.usefixtures("opt_in")
    def test_the_spans_are_equal(
        self, enable, stock_instrumentor, wrap, instrumentor, seen, both_runs, ours_first, library, variant
    ):
        """In each mode of its conventions, in either order; once ours is removed, stock's is back."""
        enable(**variant)
        both_runs()
        stock_instrumentor.uninstrument()
        stock = [self.compared(span) for span in seen.spans()]

        if ours_first:
            wrap(telemetry=self.telemetry)
            both_runs()
            scopes = {span.instrumentation_scope.name for span in seen.spans()}
            assert scopes == (set() if self.telemetry == "same" else {f"otel_fastpath.{library}"})
        enable(**variant)
        if not ours_first:
            wrap(telemetry=self.telemetry)
        both_runs()

        assert self.without_added([self.compared(span) for span in seen.spans()]) == stock
        self.check_stock([span[0] for span in stock])
        instrumentor.uninstrument()
        both_runs()
        assert seen.names() == [span[0] for span in stock]

    def check_added(self, spans):
        """What is expected of the spans that stock's does not have."""

    @pytest.mark.usefixtures("in_its_place")
    @pytest.mark.parametrize("ours_first", [True, False])
    def test_ours_adds_what_it_does_not_see(
        self, enable, stock_instrumentor, wrap, instrumentor, seen, run, both_runs, ours_first, library
    ):
        """With `telemetry="full"`, under its scope; without stock's under our own, and then there are none."""
        if ours_first:
            wrap()
        enable(**self.stock_settings)
        if not ours_first:
            wrap()
        both_runs()

        spans = seen.spans()
        assert {span.instrumentation_scope.name for span in spans} == {f"opentelemetry.instrumentation.{library}"}
        self.check_added(spans)
        assert "db.client.operation.duration" in seen.metrics()
        stock_instrumentor.uninstrument()
        run(self.query)
        assert {span.instrumentation_scope.name for span in seen.spans()} == {f"otel_fastpath.{library}"}
        instrumentor.uninstrument()
        run(self.query)
        assert seen.spans() == ()

    @pytest.mark.parametrize("mode", ["defer", "off"])
    def test_where_ours_stands_back_stock_does_its_work(self, enable, wrap, seen, run, mode, library):
        """Its own, with its own objects."""
        wrap(**{library: mode})
        enable()
        call, names = self.stood_back

        run(call)

        assert seen.names() == names

    def check_difference(self, spans):
        """What else is expected of our spans."""

    @pytest.mark.usefixtures("in_its_place")
    @pytest.mark.filterwarnings("ignore:Invalid type")
    def test_what_is_meant_to_differ_differs(self, enable, wrap, seen, run, difference):
        """Each line of the list in the docs: stock's, and ours."""
        call, theirs, ours = difference
        enable()
        run(call)
        assert seen.names() == theirs
        wrap(telemetry=self.telemetry)

        run(call)

        spans = seen.spans()
        assert [span.name for span in spans] == ours
        self.check_difference(spans)

    def check_violation(self, stock, ours):
        """What else is expected of the two spans."""

    @pytest.mark.usefixtures("in_its_place")
    def test_an_error_has_no_row_in_its_status(self, enable, wrap, seen, look_at_table):
        """With stock's, the description carries the row; the exception's event has it with both."""
        call, error, text, error_type = self.violation

        async def main(connection):
            with pytest.raises(error):
                await wait(call(connection))

        enable()
        look_at_table(main)
        stock = next(span for span in seen.spans() if span.status.status_code is StatusCode.ERROR)
        wrap(telemetry="same")
        for _ in range(2):
            look_at_table(main)
            ours = next(span for span in seen.spans() if span.status.status_code is StatusCode.ERROR)
            assert text in stock.status.description
            assert ours.status.description == error.__name__
            assert ours.attributes["error.type"] == error_type
            self.check_violation(stock, ours)


class StockCommenter(Contract):
    """Where stock's can add comments to queries, and take parameters.

    Attributes:
        commented: A query of itself with a parameter "x": the text that the server got.
        parameter_in_text: The parameter there.
    """

    commented = None
    parameter_in_text = ""

    @pytest.mark.usefixtures("in_its_place")
    @pytest.mark.parametrize("ours_first", [True, False])
    def test_its_arguments_are_ours(self, enable, stock_instrumentor, wrap, seen, run, ours_first):
        """Parameters, comments, and comments in the attribute; also if ours is enabled later."""
        given = {"capture_parameters": True, "enable_commenter": True, "enable_attribute_commenter": True}
        given["commenter_options"] = {"db_driver": False}
        found = []

        def main(connection):
            text = "SELECT query, %s FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            found.append(self.commented(connection, text))

        enable(**given)
        run(main)
        theirs = seen.one().attributes
        if ours_first:
            stock_instrumentor.uninstrument()
            wrap()
            enable(**given)
        else:
            wrap()
        run(main)

        ours = next(span for span in seen.spans() if span.name == "SELECT").attributes
        assert ours["db.statement.parameters"] == theirs["db.statement.parameters"] == "['x']"
        texts = [text.replace(self.parameter_in_text, "%s") for text in (*found, theirs["db.statement"])]
        assert len({text.partition("traceparent=")[0] for text in texts}) == 1
        assert "traceparent" in found[1]
        assert "db_driver" not in found[1]
        assert ours["db.statement"] == texts[1]
