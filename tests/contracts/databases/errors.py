"""Whatever goes wrong is recorded, reaches the application as it was, and carries no value away."""

from __future__ import annotations

import pytest
from contracts.databases.contract import Contract, wait
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode
from sabotage import as_ours, broken

from otel_fastpath.db import conventions

SUPPRESSING = (context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")


class Errors(Contract):
    """Whatever goes wrong is recorded, reaches the application as it was, and carries no value away.

    Attributes:
        errors: Name -> what is done, the exception, `error.type`.
        settings: Those of the connection.
        secret: The value that is in every row and parameter.
        without_event: Errors whose exception is not recorded.
        read: Entries whose texts are all read, by the function `reader`.
    """

    errors = {}
    settings = {}
    secret = "secret"  # noqa: S105  # it is none
    without_event = frozenset()
    read = ()
    reader = (conventions, "read")

    def check_error(self, name, span):
        """Whatever else a span of an error must have."""

    def test_an_error_is_recorded(self, look_both, seen):
        """Its code or type, in the span and in the metric, and no value of a row; the connection goes on."""
        found = {}

        async def main(connection):
            for name, (call, error, _) in self.errors.items():
                with pytest.raises(error) as raised:
                    await wait(call(connection))
                assert trace.get_current_span() is trace.INVALID_SPAN
                found[name] = type(raised.value), seen.one()
                await wait(self.query(connection))
                assert seen.one().status.status_code is StatusCode.UNSET

        look_both(main, **self.settings)

        for name, (kind, span) in found.items():
            error_type = self.errors[name][2]
            told = span.attributes["error.type"], span.attributes.get("db.response.status_code")
            assert (name, *told) == (name, error_type, None if error_type.endswith(kind.__name__) else error_type)
            assert (name, span.status.status_code, span.status.description) == (
                *(name, StatusCode.ERROR, kind.__qualname__),
            )
            assert self.secret not in span.name + str({**span.attributes, "db.query.text": ""})
            events = [] if name in self.without_event else ["exception"]
            assert (name, [event.name for event in span.events]) == (name, events)
            self.check_error(name, span)
        types = {point.attributes.get("error.type") for point in seen.metrics()["db.client.operation.duration"]}
        assert types == {None, *(error_type for *_, error_type in self.errors.values())}

    def test_suppressed_nothing_is_seen(self, look):
        """By either key; what the library does is done."""

        async def main(connection):
            for key in SUPPRESSING:
                token = context.attach(context.set_value(key, value=True))
                try:
                    await self.ask_everything(connection)
                finally:
                    context.detach(token)

        assert look(main).spans() == ()

    def test_a_fault_of_ours_is_logged_at_most_thrice(self, look, no_faults, monkeypatch, logged):
        """The query runs once and gives its result, without a span."""

        async def main(connection):
            with monkeypatch.context() as patched:
                patched.setattr(*self.reader, as_ours(broken))
                await self.ask_everything(connection, self.read)

        assert look(main).spans() == ()
        assert sum(no_faults.counts().values()) >= len(self.read)
        assert 1 <= len(logged()) <= 3
        no_faults.forget()
