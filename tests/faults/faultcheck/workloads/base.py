"""What all workloads have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from faultcheck.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultcheck.host import Host

REMOTE = SpanContext(0x5EED5EED5EED5EED5EED5EED5EED5EED, 0x5EED5EED5EED5EED, is_remote=True, trace_flags=TraceFlags(1))


def remote_context() -> Any:
    """A context whose span is somebody else's, sampled."""
    return set_span_in_context(NonRecordingSpan(REMOTE))


class Workload:
    """A host that uses something of what this package is in the way of.

    `prepare` makes what is there before the package is put in place, `begin` what comes after; neither is watched.
    `run` is: it does the same each time it is called, and each of its steps has a name of its own.
    """

    #: Keyword arguments of `instrument()`, besides the core and the providers.
    settings: dict[str, Any] = {}  # read only
    #: Whether `run` puts the package in place itself.
    instruments_itself = False
    #: Whether the compiled core runs only its own modules' lines: the others do what they do with the pure one.
    is_the_same_with_each_core = False
    #: Files whose lines fail here, by how they begin; empty: all. Others have the rest.
    about: tuple[str, ...] = ()

    def __init__(self, core: str, servers: Mapping[str, str] | None = None) -> None:
        self.core = core
        self.servers = servers or {}
        self.database_url = self.servers.get("postgresql", "")
        self.telemetry = Telemetry()

    def prepare(self) -> None:
        """Make what is there before the package is put in place."""

    def begin(self) -> None:
        """Make what comes after that."""

    def run(self, host: Host) -> None:
        """Go through the steps once."""
        raise NotImplementedError

    def instrument(self) -> None:
        """Put the package in place."""
        from otel_fastpath.instrumentor import FastpathInstrumentor

        settings = {"telemetry": "full", "exceptions": "off", **self.settings}
        FastpathInstrumentor().instrument(core=self.core, **self.telemetry.providers(), **settings)

    def settle(self) -> None:
        """Have everything exported that is due. Not watched."""
        self.telemetry.tracer_provider.force_flush()
