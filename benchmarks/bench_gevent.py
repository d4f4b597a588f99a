"""Giving a greenlet the context of the code that spawns it, for the budgets: `gevent.spawn` with a stub in its place.

otel-fastpath budget check --file benchmarks/budgets.toml --only 'gevent,*'
"""

from __future__ import annotations

from typing import Any


class _Greenlet:
    """What is set of a greenlet that has not run yet."""

    dead = False
    gr_context = None

    def run(self) -> None:
        """Nothing."""


def _spawn(_function: Any) -> _Greenlet:
    return _Greenlet()


class Given:
    """The objects that the callables of this file use.

    Attributes:
        spawn: The hook around the stub.
    """

    def __init__(self) -> None:
        import gevent  # noqa: PLC0415  # only where it is measured
        from opentelemetry import context  # noqa: PLC0415  # likewise

        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # likewise

        gevent.spawn = _spawn
        FastpathInstrumentor().instrument(gevent="on")
        self.spawn: Any = gevent.spawn
        context.attach(context.set_value("mine", 1))


def spawn_bare(_given: Given) -> None:
    """The stub."""
    _spawn(print)


def spawn(given: Given) -> None:
    """The hook around it."""
    given.spawn(print)
