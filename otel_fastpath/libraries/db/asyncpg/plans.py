"""What is worked out once: for this process, for each server, for each text.

A connection's protocol object, of a class with a `__dict__`, holds its `Link`; the link knows the server's plans, which
all connections to that server and database share. When the set-up changes there is a new `Active`, and every link is
made anew when it is next used.
"""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace

from otel_fastpath import compiled
from otel_fastpath.libraries.call import Series, Telemetry
from otel_fastpath.libraries.db import conventions
from otel_fastpath.libraries.db.asyncpg.official import Official
from otel_fastpath.libraries.db.asyncpg.options import Options
from otel_fastpath.libraries.db.conventions import SCOPE, Server, Stable
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.cache import Cache

if TYPE_CHECKING:
    from otel_fastpath.libraries.library import Setup

LINK: Final = "_otel_fastpath"

# How many bytes each of the three caches of a server's plans takes, and what a plan takes beside its texts.
_MOST_BYTES: Final = 4 << 20
_PLAN_BYTES: Final = 2048
_SPECIAL: Final = "without a text"
_DURATION_BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
_ROW_BOUNDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
# asyncpg's own, inside Transaction.start.
_ITS_OWN: Final = frozenset({"SHOW transaction_isolation;"})
_TRANSACTIONS: Final = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE TRANSACTION"}
)
# Each of asyncpg's savepoints has a name of its own.
_SAVEPOINTS: Final = ("SAVEPOINT __asyncpg_", "RELEASE SAVEPOINT __asyncpg_", "ROLLBACK TO __asyncpg_")


class Active:
    """A set-up of the wrapper.

    Args:
        setup: What the wrapper was told.
    """

    def __init__(self, setup: Setup) -> None:
        self.options = Options.parse(setup.options)
        self.convention: Any = Stable()
        self.captures = self.options.parameters
        if setup.rival:
            self.convention = Official(setup.instrumentor, was_instrumented=setup.was_instrumented)
            self.captures = self.captures or self.convention.captures
        self.telemetry = Telemetry(
            self.convention.tracer(setup.providers.get("tracer_provider")),
            trace.SpanKind.CLIENT,
            conventions.failure,
            has_meter=setup.providers.get("meter_provider") is not None,
        )
        self.hot = compiled.hot("libraries.call_span")
        # What makes a call look at its arguments and its result.
        self.is_curious = self.captures or self.options.sqlcommenter
        self.meter = metrics.get_meter(
            SCOPE, interpreter.version("otel-fastpath") or "", setup.providers.get("meter_provider")
        )
        self.durations: Any = None
        self.rows: Any = None
        if self.options.metrics:
            self.durations = self.meter.create_histogram(
                "db.client.operation.duration",
                unit="s",
                description="Duration of database client operations.",
                explicit_bucket_boundaries_advisory=_DURATION_BOUNDS,
            )
            self.rows = self.meter.create_histogram(
                "db.client.response.returned_rows",
                unit="{row}",
                description="The actual number of records returned by the database operation.",
                explicit_bucket_boundaries_advisory=_ROW_BOUNDS,
            )
        # Those of pools, made by `pools` when the first is seen.
        self.pools: Any = None
        self._plans: weakref.WeakValueDictionary[Any, Plans] = weakref.WeakValueDictionary()

    def plans_of(self, server: Server, reset_query: str) -> Plans:
        """Those of this server and database."""
        params = server.params
        address = server.address
        key = (
            tuple(address) if isinstance(address, (tuple, list)) else address,
            getattr(params, "database", None),
            getattr(params, "user", None),
            reset_query,
        )
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = Plans(self, server, reset_query)
        return found


class Plans:
    """The plans for one server and database, by their texts. A large text's plan is made for each call, and not kept.

    Args:
        active: The set-up that they are for.
        server: The server.
        reset_query: What a connection's `reset` executes there.

    Attributes:
        of_queries: Text -> plan, for queries to which no arguments were passed.
        of_queries_with_arguments: The same for those with arguments, whose texts may leave as they are.
    """

    __slots__ = (
        *("__weakref__", "_others", "_queries", "_queries_with_arguments", "active", "of_queries"),
        *("of_queries_with_arguments", "reset_query", "server"),
    )

    def __init__(self, active: Active, server: Server, reset_query: str) -> None:
        self.active = active
        self.server = server
        self.reset_query = reset_query
        self._queries = Cache(_MOST_BYTES)
        self._queries_with_arguments = Cache(_MOST_BYTES)
        self._others = Cache(_MOST_BYTES)
        self.of_queries = self._queries.items
        self.of_queries_with_arguments = self._queries_with_arguments.items

    def plan(self, text: Any, prefix: str = "", has_arguments: bool = False) -> Any:
        """The plan for this text.

        Args:
            text: The query's.
            prefix: What stands before its summary: "BATCH ", "PREPARE ", "EXPLAIN ", "CURSOR ".
            has_arguments: Whether arguments are passed beside the text.
        """
        cache = self._queries_with_arguments if has_arguments else self._queries
        key = text
        if prefix:
            cache, key = self._others, (prefix, has_arguments, text)
        try:
            return cache.items[key]
        except (KeyError, TypeError):
            pass
        query = conventions.read(text, has_arguments=has_arguments)
        made = self._make(text, query, prefix)
        if isinstance(text, str) and not text.startswith(_SAVEPOINTS):
            beside = 0 if query.text is text else sys.getsizeof(query.text)
            cache.keep(key, made, sys.getsizeof(text) + beside + _PLAN_BYTES)
        return made

    def special(self, name: str, attributes: dict[str, Any]) -> Any:
        """A plan for what has no text: `name` is the summary."""
        key = (_SPECIAL, name)
        made = self._others.items.get(key)
        if made is None:
            query = conventions.Query(name, first=name.partition(" ")[0], summary=name)
            made = self.active.hot.Plan(
                self.active.convention.name(query, self.server, ""),
                {**self.active.convention.attributes(query, self.server, ""), **attributes},
                *self._measures(query, ""),
                False,  # noqa: FBT003  # the hot module takes no keywords
            )
            self._others.keep(key, made, sys.getsizeof(name) + _PLAN_BYTES)
        return made

    def _make(self, text: Any, query: conventions.Query, prefix: str) -> Any:
        active = self.active
        return active.hot.Plan(
            active.convention.name(query, self.server, prefix),
            active.convention.attributes(query, self.server, prefix),
            *self._measures(query, prefix),
            self._is_quiet(text, query.operation),
        )

    def _measures(self, query: conventions.Query, prefix: str) -> tuple[Series | None, Any]:
        """Where the duration of such calls goes, and the number of their rows."""
        active = self.active
        if active.durations is None:
            return None, None
        attributes = self.server.attributes()
        summary = query.stated(prefix)
        if summary:
            attributes["db.query.summary"] = summary
        rows = bind(active.rows, attributes)
        if query.procedure:
            attributes["db.stored_procedure.name"] = query.procedure
        return Series(active.durations, attributes, "db.response.status_code"), rows

    def _is_quiet(self, text: Any, operation: str) -> bool:
        options = self.active.options
        return isinstance(text, str) and (
            text in _ITS_OWN
            or (not options.reset and text != "" and text == self.reset_query)
            or (not options.transactions and operation in _TRANSACTIONS)
        )


active: Any = None


def configure(setup: Setup) -> None:
    """Work with this set-up from now on."""
    global active
    active = Active(setup)
    active.hot.activate(active, link)


def link(connection: Any) -> Any:
    """Make the `Link` of a connection."""
    if active is None:
        raise RuntimeError("the asyncpg wrapper is not set up")
    try:
        # It became public with 0.30.
        reset_query = (getattr(connection, "get_reset_query", None) or connection._get_reset_query)()
    except Exception:  # it can be a subclass's
        reset_query = ""
    server = Server(getattr(connection, "_addr", None), getattr(connection, "_params", None))
    plans = active.plans_of(server, reset_query)
    made = active.hot.Link(active, plans, plans.of_queries, plans.of_queries_with_arguments)
    protocol = getattr(connection, "_protocol", None)
    if protocol is not None:
        setattr(protocol, LINK, made)
    return made
