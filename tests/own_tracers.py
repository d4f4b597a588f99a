"""A provider of an application's own, whose tracers stand before those of another one."""

# ruff: noqa: D102  # the methods are those of the interface

from __future__ import annotations

from opentelemetry import trace


class OwnTracer(trace.Tracer):
    """An application's own, around another one."""

    def __init__(self, inner):
        self._inner = inner

    def start_span(self, name, *args, **kwargs):
        return self._inner.start_span(f"own {name}", *args, **kwargs)

    def start_as_current_span(self, *args, **kwargs):
        return self._inner.start_as_current_span(*args, **kwargs)


class OwnTracers(trace.TracerProvider):
    """Its provider."""

    def __init__(self, inner):
        self._inner = inner

    def get_tracer(self, *args, **kwargs):
        return OwnTracer(self._inner.get_tracer(*args, **kwargs))
