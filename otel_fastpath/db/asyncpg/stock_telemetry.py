"""The attributes and names of spans as in the stock instrumentation, which ours replaces.

Its own function returns them, called with the connection and the text. Unless everything must be the same, one error
of it is not copied: here, a span is named after the first word that is not in a comment.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace

from otel_fastpath.db.conventions import BATCH, CURSOR, Conventions, shorten
from otel_fastpath.patching.stock import Reached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.asyncpg"
_LEGACY_SCHEMA: Final = "https://opentelemetry.io/schemas/1.11.0"
# The methods that run a query of a connection, a cursor and a statement.
_WRAPPERS: Final = ("_do_execute", "_do_cursor_execute", "_do_prepared_execute")
_OF_CONNECTIONS: Final = frozenset({"execute", "executemany", "fetch", "fetchval", "fetchrow"})
# Those of ours, which are the round trips.
_OF_CURSORS: Final = frozenset({"_bind_exec", "_exec", "forward"})


class StockConventions(Conventions):
    """What the stock instrumentation emits, under its own scope."""

    def __init__(self, setup: Setup) -> None:
        self._instrumentor = instrumentor = setup.instrumentor
        self._is_same = setup.is_same
        # If it had instrumented before our wrapper.
        self._tracer = getattr(instrumentor, "_tracer", None) if setup.was_instrumented else None
        self._module: Any = sys.modules[_STOCK]
        self._schema = _LEGACY_SCHEMA
        self._keywords: dict[str, Any] = {}
        # Since 0.65b0 it follows OTEL_SEMCONV_STABILITY_OPT_IN.
        if "semconv_opt_in_mode" in inspect.signature(self._module._hydrate_span_from_args).parameters:
            signal = self._module._OpenTelemetryStabilitySignalType.DATABASE
            stability = self._module._OpenTelemetrySemanticConventionStability
            stability._initialize()
            self._keywords["semconv_opt_in_mode"] = stability._get_opentelemetry_stability_opt_in_mode(signal)
            self._schema = self._module._get_schema_url_for_signal_types([signal])
        self.captures = bool(getattr(instrumentor, "capture_parameters", False))
        self.stock = Reached([(type(instrumentor), name) for name in _WRAPPERS])

    def around(self, name: str, held: Any, method: Any) -> Any:
        """Stock's code around a method of a connection, a statement or a cursor; None: it has none."""
        if name in _OF_CURSORS:
            wrapper = self._instrumentor._do_cursor_execute
        elif not hasattr(held, "_query") and name in _OF_CONNECTIONS:
            wrapper = self._instrumentor._do_execute
        elif hasattr(held, "_query") and name in self._module._PREPARED_STMT_METHODS:
            wrapper = self._instrumentor._do_prepared_execute
        else:
            return None
        return lambda *args, **kwargs: wrapper(method, held, args, kwargs)

    def tracer(self, tracer_provider: Any) -> Any:
        if self._tracer is None:
            self._tracer = trace.get_tracer(_STOCK, self._module.__version__, tracer_provider, schema_url=self._schema)
            # Attributes that it would have set on itself, and that other code reads.
            own = {f"_{name}": value for name, value in self._keywords.items()}
            vars(self._instrumentor).update(own, _tracer=self._tracer)
        return self._tracer

    def name(self, query: QueryText, server: Server, prefix: str) -> str:
        if self._is_same:
            return self._its_name(query, server, prefix)
        if prefix == CURSOR:
            return f"CURSOR: {query.first}"
        name = query.first if prefix == BATCH else prefix.strip() or query.first
        return name or server.namespace or ""

    def _its_name(self, query: QueryText, server: Server, prefix: str) -> str:
        text = query.raw or server.namespace or "postgresql"
        words = self._instrumentor._leading_comment_remover.sub("", text).split(maxsplit=1)
        name: str = words[0] if words else ""
        return f"CURSOR: {name}" if prefix == CURSOR else name

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:  # noqa: ARG002  # the protocol's
        found: dict[str, Any] = self._module._hydrate_span_from_args(
            _Looked(server.address, _Params(server.namespace, server.user)), query.raw, None, **self._keywords
        )
        return found

    def parameters(self, args: Any) -> Mapping[str, Any]:
        return {"db.statement.parameters": shorten(args)} if args else {}


@dataclass(frozen=True)
class _Looked:
    """The parts of a connection that the stock instrumentation reads."""

    _addr: Any
    _params: _Params


@dataclass(frozen=True)
class _Params:
    """The connection parameters that the stock instrumentation reads."""

    database: str | None
    user: str | None
