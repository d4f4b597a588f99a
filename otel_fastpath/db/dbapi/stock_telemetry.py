"""The attributes, names and metrics of a stock instrumentation that stands on that of the DB-API.

Its own functions return them, called with the server and the text.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.conventions import BATCH, CURSOR, Conventions, shorten
from otel_fastpath.db.dbapi.template import Template
from otel_fastpath.db.queries import comments
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.stock import Reached
from otel_fastpath.wrapping.call import CallDurations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.call import Failure
    from otel_fastpath.wrapping.library import Setup

# The arguments that all of them read, and one that some do.
COMMENTER: Final = ("tracer_provider", "enable_commenter", "commenter_options", "enable_attribute_commenter")
_KEYWORDS: Final = (*COMMENTER, "capture_parameters")
# The methods of stock's tracer of cursors that run a query, in a coroutine or not.
_EXECUTIONS: Final = ("traced_execution", "traced_execution_async")
# The attributes of a query's text, by convention.
_TEXTS: Final = ("db.statement", "db.query.text")
# What stock's tracer of cursors is called for.
_TRACED: Final = frozenset({"execute", "executemany", "callproc"})
# Marks a method that stock's tracer of cursors is called with by us.
_BY_STOCK: Final = "_otel_fastpath_by_stock"
# The method among the arguments of its `traced_execution`.
_METHOD: Final = 2
# By these, queries are known that are put together of parts.
_COMPOSED: Final = ("as_string", "interpolations")


def given_keywords(module: str, _instrumentor: Any = None) -> dict[str, Any]:
    """The keyword arguments that a stock instrumentor was given: they are in its wrapper of this module's `connect`."""
    given = inspect.getclosurevars(sys.modules[module].connect._self_wrapper).nonlocals
    return {name: given[name] for name in _KEYWORDS if given.get(name) is not None}


def is_by_stock(args: Any) -> bool:
    """Whether these are arguments of stock's `traced_execution` that we have called."""
    return len(args) > _METHOD and hasattr(args[_METHOD], _BY_STOCK)


class StockConventions(Conventions):
    """What the stock instrumentation emits, under its own scope.

    Args:
        setup: Our wrapper's set-up, with the keyword arguments that the stock instrumentor was given.
        library: The name of the library, and of the stock instrumentation's package.
        module: The name of the library's module, if it is another.
        keywords_read: Those of these arguments that the stock instrumentor does not ignore.
    """

    def __init__(
        self, setup: Setup, library: str, module: str = "", keywords_read: tuple[str, ...] = _KEYWORDS
    ) -> None:
        self._name = f"opentelemetry.instrumentation.{library}"
        self._module: Any = sys.modules[self._name]
        self._dbapi: Any = sys.modules["opentelemetry.instrumentation.dbapi"]
        self._is_same = setup.is_same
        keywords = {key: setup.keywords[key] for key in keywords_read if setup.keywords.get(key) is not None}
        self._keywords = {**keywords, "connect_module": sys.modules[module or library]}
        # Some declare these in their module, some in their class.
        self._declared = self._module if hasattr(self._module, "_DATABASE_SYSTEM") else setup.instrumentor
        self._integration = self._new_integration()
        # Of no server; see `of`.
        self._cursor_tracer = self._its("CursorTracer")(self._integration)
        self._template = Template(self._cursor_tracer)
        first = [(self._its("CursorTracer"), name) for name in _EXECUTIONS if hasattr(self._its("CursorTracer"), name)]
        integration = self._its("DatabaseApiIntegration")
        self.stock = Reached([*first, (integration, "__init__"), (integration, "get_connection_attributes")])
        self.captures = bool(keywords.get("capture_parameters"))
        self.comments = bool(keywords.get("enable_commenter"))

    def _its(self, name: str) -> Any:
        """A class of the stock instrumentation, or that of the DB-API's that it uses."""
        return getattr(self._module, name, None) or getattr(self._dbapi, name)

    def _new_integration(self) -> Any:
        """What stock makes when it connects."""
        return self._its("DatabaseApiIntegration")(
            self._name,
            self._declared._DATABASE_SYSTEM,
            connection_attributes=self._declared._CONNECTION_ATTRIBUTES,
            version=self._module.__version__,
            **self._keywords,
        )

    def around(self, name: str, cursor: Any, method: Any) -> Any:
        """Stock's code around a method of a cursor, which its proxies run; None: it has none for such a method."""
        if name not in _TRACED:
            return None
        setattr(method, _BY_STOCK, True)
        is_async = inspect.iscoroutinefunction(method)
        return functools.partial(getattr(self._cursor_tracer, _EXECUTIONS[is_async]), cursor, method)

    def shown(self, server: Server, host: Any, port: Any) -> Any:
        """What the stock instrumentation reads of a connection to this server: an object with its attributes."""
        info = SimpleNamespace(dbname=server.namespace, port=port, host=host, user=server.user)
        return SimpleNamespace(info=info, db=server.namespace, port=port, host=host, user=server.user)

    def tracer(self, tracer_provider: Any) -> Any:  # noqa: ARG002  # the protocol's
        return self._integration._tracer

    def of(self, server: Server) -> StockConventions:
        """The convention for connections to this server."""
        host, port = server.address if isinstance(server.address, tuple) else (server.address, None)
        made = copy.copy(self)
        made._integration = integration = self._new_integration()
        integration.get_connection_attributes(self.shown(server, host, port))
        made._cursor_tracer = self._its("CursorTracer")(integration)
        made._template = Template(made._cursor_tracer, self._template)
        return made

    def name(self, query: QueryText, server: Server, prefix: str) -> str:
        if self._is_same:
            return self._its_name(query.raw) or self.nameless(server)
        name = query.first if prefix in {"", BATCH, CURSOR} else prefix.strip() or query.first
        return name or self.nameless(server)

    def nameless(self, server: Server) -> str:
        """The name of a span whose text has no word."""
        return server.namespace or server.system.name

    def _its_name(self, text: str) -> str:
        comment = self._cursor_tracer._leading_comment_remover.match(text)
        words = text[comment.end() if comment else 0 :].split(maxsplit=1)
        return words[0] if words else ""

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:  # noqa: ARG002  # the protocol's
        return self._template.of(query.raw)

    def parameters(self, args: Any) -> Mapping[str, Any]:
        return {"db.statement.parameters": shorten(args)}

    def commented(self, call: Any, query: Any, cursor: Any) -> Any:
        """The query with the stock instrumentation's comment; the recording call gets it, too, if stock was told so."""

        def added(stated: Any) -> Any:
            return self._cursor_tracer._update_args_with_added_sql_comment((stated,), cursor)[0]

        # Objects of psycopg's and psycopg2's `sql`, and template strings.
        made = added(query) if any(hasattr(query, name) for name in _COMPOSED) else comments.change_text(added, query)
        if self._integration.enable_attribute_commenter and isinstance(made, (str, bytes)):
            text = made if isinstance(made, str) else made.decode("utf-8", "replace")
            attributes = call.plan.attributes
            call.span.set_attributes({key: text for key in _TEXTS if key in attributes})
        return made

    def measures(self, query: QueryText) -> tuple[CallDurations | None, Any] | None:
        """The stock instruments for the duration of such calls and their rows; None: there are none."""
        if self._integration._duration_histogram is None:
            return None
        attributes = self._cursor_tracer._get_metric_attributes(self._its_name(query.raw), None)
        rows = bind(self._integration._returned_rows_histogram, attributes)
        return _StockDurations(self._integration._duration_histogram, attributes), rows


class _StockDurations(CallDurations):
    """The stock histogram of durations: its `error.type` is the name of the exception's class."""

    __slots__ = ()

    def record_failed(self, seconds: float, failure: Failure) -> None:
        super().record_failed(seconds, failure._replace(type=failure.description or failure.type))
