"""What is worked out once: for a set-up, for each server, for each text.

A library stores the `ConnectionPlan` of each connection; it has the server's plans, which all connections to that
server and database share, also those that come later. When the set-up changes, there is a new `Active`, and each
connection plan is made again when it is next used.
"""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace

from otel_fastpath.compiled import hot
from otel_fastpath.db import conventions, repeats
from otel_fastpath.db.conventions import BATCH, StableConventions
from otel_fastpath.db.queries.parameters import put_slow
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.cache import SharedCache, keep
from otel_fastpath.wrapping.call import CallDurations, WrapperTelemetry
from otel_fastpath.wrapping.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.conventions import Conventions, QueryText
    from otel_fastpath.db.options import DatabaseOptions
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.call import Failure
    from otel_fastpath.wrapping.library import Setup

# How many bytes the plans of a set-up take, for how many servers they are kept without a connection, and what a plan
# takes beside its texts.
_MOST_BYTES: Final = 4 << 20
_MOST_SERVERS: Final = 64
_PLAN_BYTES: Final = 2048
_SPECIAL: Final = "without a text"
_MEASURES: Final = "instruments"
_DURATION_BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
_ROW_BOUNDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
_TRANSACTIONS: Final = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE TRANSACTION"}
)
# The conventions allow these labels because queries have few of them, or servers.
_OF_QUERIES: Final = ("db.query.summary", "db.operation.name", "db.stored_procedure.name")
_OF_SERVERS: Final = ("db.namespace", "server.address", "server.port", "db.client.connection.pool.name")
# The prefixes of queries whose repetitions are counted; the round trips of a cursor are parts of one.
_COUNTED: Final = frozenset({"", BATCH})


class Active:
    """A set-up of a database's wrapper.

    Args:
        setup: The `Setup` of the wrapper.
        scope: The name of our instrumentation scope.
        options: The options.
        failure: Describes an exception; must not raise.
        convention: The convention for spans; None: the stable conventions.
        make_plans: The class of the plans, called with this object and the arguments of `plans_of`.
        has_rows: Whether the rows of results are counted.
        is_driver: Whether a library above, such as SQLAlchemy, can use it.

    Attributes:
        is_same: Whether to emit nothing that the instrumentation which ours replaces would not emit.
        kept: Bounds the plans of all servers.
        queries: Makes the queries.
    """

    def __init__(
        self,
        setup: Setup,
        scope: str,
        options: DatabaseOptions,
        failure: Callable[[BaseException], Failure] = conventions.failure,
        *,
        convention: Conventions | None = None,
        make_plans: Callable[..., QueryPlans] | None = None,
        has_rows: bool = True,
        is_driver: bool = True,
    ) -> None:
        self.is_driver = is_driver
        self.is_same = setup.is_same
        # Whether texts are read. What ours replaces emits nothing that follows from more than their first words.
        self.reads_texts = not (setup.is_same and options.transactions and options.repeats is None)
        self.options: Any = replace(options, metrics=options.metrics and not setup.is_same)
        self.convention = StableConventions(scope) if convention is None else convention
        self.captures = options.parameters or self.convention.captures
        self.telemetry = WrapperTelemetry(
            self.convention.tracer(setup.providers.get("tracer_provider")),
            trace.SpanKind.CLIENT,
            failure,
            has_meter=setup.providers.get("meter_provider") is not None,
        )
        self.hot = hot.wrapping_call_span
        # Of stock's functions: its own code runs then.
        self.replacements = hot.wrapping_replacements.Replacements(self.convention.stock)
        # Whether parameters are recorded, at once or if the query was slow; whether a comment is added to a query.
        self.reads_parameters = self.captures or options.slow is not None
        self.comments = self.convention.comments or self.options.sqlcommenter
        # Whether a call reads its arguments and its result.
        self.is_curious = self.reads_parameters or self.comments
        # See `ConnectionPlan`.
        self.slow = options.slow or 0.0
        self.put_slow = put_slow
        self.repeats: repeats.User | None = None
        self.count: Callable[[Any, str], None] | None = None
        if options.repeats is not None:
            self.repeats = repeats.User(options.repeats, setup.providers.get("tracer_provider"))
            self.count = self.repeats.count
        self.meter = metrics.get_meter(
            scope, interpreter.version("otel-fastpath") or "", setup.providers.get("meter_provider")
        )
        self.labels = Labels(scope.rpartition(".")[2], _OF_QUERIES, _OF_SERVERS)
        self.durations: Any = None
        self.rows: Any = None
        if self.options.metrics:
            self._make_histograms(has_rows)
        self.queries = hot.db_entering.QueryMaker(self, f"a call of {scope.rpartition('.')[2]}")
        # The metrics of pools, made by `pools` when the first pool is seen.
        self.pools: Any = None
        self._make_plans = QueryPlans if make_plans is None else make_plans
        self.kept = SharedCache(_MOST_BYTES)
        self._plans: weakref.WeakValueDictionary[Any, QueryPlans] = weakref.WeakValueDictionary()
        # The servers seen last: their plans outlive their connections, which may be closed after each request.
        self._servers: dict[Any, QueryPlans] = {}

    def _make_histograms(self, has_rows: bool) -> None:
        self.durations = self.meter.create_histogram(
            "db.client.operation.duration",
            unit="s",
            description="Duration of database client operations.",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDS,
        )
        if has_rows:
            self.rows = self.meter.create_histogram(
                "db.client.response.returned_rows",
                unit="{row}",
                description="The actual number of records returned by the database operation.",
                explicit_bucket_boundaries_advisory=_ROW_BOUNDS,
            )

    def plans_of(self, server: Server, own: Any = None) -> QueryPlans:
        """The plans of this server, and of anything else of the library that they depend on, which must be hashable."""
        if self.replacements.exist():
            # What stock's functions return may be of one connection only.
            return self._make_plans(self, server, own)
        key = (server, own)
        found = self._servers.get(key)
        if found is None:
            found = self._plans.get(key)
            if found is None:
                found = self._plans[key] = self._make_plans(self, server, own)
            keep(self._servers, key, found, _MOST_SERVERS)
        return found

    def release(self) -> None:
        """Forget all plans: another set-up, or none, is in use; those of open connections still refer to it."""
        self._servers.clear()
        self.kept.clear()

    def connection_plan(self, plans: QueryPlans) -> Any:
        """Make the `ConnectionPlan` of a connection; the library stores it."""
        if self.repeats is not None:
            self.repeats.attach()
        return self.hot.ConnectionPlan(self, plans, plans.of_queries, plans.of_queries_with_arguments)


class QueryPlans:
    """The plans for one server and database, by their texts. A large text has its plan made for each call.

    Args:
        active: The set-up that they are for.
        server: The server.
        own: Anything else of the library that the plans depend on.

    Attributes:
        convention: How their names and attributes are made: the set-up's convention, or one of the subclass.
        of_queries: Text -> plan, for queries to which no arguments were passed.
        of_queries_with_arguments: The same for queries with arguments, whose texts may be recorded unchanged.
        of_others: The same for everything else, by what a library keeps it by.
    """

    __slots__ = (
        *("__weakref__", "active", "convention", "of_others", "of_queries", "of_queries_with_arguments", "own"),
        "server",
    )

    def __init__(self, active: Active, server: Server, own: Any) -> None:
        self.active = active
        self.convention: Conventions = active.convention
        self.own = own
        self.server = server
        self.of_queries: dict[Any, Any] = {}
        self.of_queries_with_arguments: dict[Any, Any] = {}
        self.of_others: dict[Any, Any] = {}

    def plan(self, text: Any, prefix: str = "", has_arguments: bool = False) -> Any:
        """The plan for this text; None: such a query is begun without telemetry.

        Args:
            text: The query's text.
            prefix: The prefix of its summary: "BATCH ", "PREPARE ", "EXPLAIN ", "CURSOR ".
            has_arguments: Whether arguments are passed with the text.
        """
        if type(text) is not str:
            # No text, such as a list: the library reports this error itself.
            text = conventions.plain(text)
        # A plan may be None.
        if prefix:
            found = self.of_others.get((prefix, has_arguments, text), self)
        else:
            found = (self.of_queries_with_arguments if has_arguments else self.of_queries).get(text, self)
        return self.new(text, prefix, has_arguments) if found is self else found

    def new(self, text: Any, prefix: str, has_arguments: bool) -> Any:
        """The same for a text that has no plan yet."""
        query = self.query(text, has_arguments)
        made = self._make(text, query, prefix)
        if issubclass(type(text), str) and self.is_kept(text):
            beside = 0 if query.text is text else sys.getsizeof(query.text)
            items = self.of_queries_with_arguments if has_arguments else self.of_queries
            key: Any = text
            if prefix:
                items, key = self.of_others, (prefix, has_arguments, text)
            self.keep(items, key, made, sys.getsizeof(text) + beside)
        return made

    def keep(self, items: dict[Any, Any], key: Any, plan: Any, size: int) -> None:
        """Keep a plan in one of the dicts of these plans; its texts have this size in bytes."""
        self.active.kept.keep(items, key, plan, size + _PLAN_BYTES)

    def special(self, name: str, attributes: dict[str, Any]) -> Any:
        """A plan for an operation without a text: `name` is the summary. None: it is begun without telemetry."""
        key = (_SPECIAL, name)
        made = self.of_others.get(key)
        if made is None and not self.is_silent(f"{name.partition(' ')[0]} "):
            query = conventions.QueryText(name, first=name.partition(" ")[0], summary=name)
            made = self.active.hot.QueryPlan(
                self.convention.name(query, self.server, ""),
                {**self.convention.attributes(query, self.server, ""), **attributes},
                *self._measures(query, ""),
                False,  # noqa: FBT003  # the hot module takes no keywords
            )
            self.keep(self.of_others, key, made, sys.getsizeof(name))
        return made

    def _make(self, text: Any, query: QueryText, prefix: str) -> Any:
        if self.is_silent(prefix):
            return None
        return self.active.hot.QueryPlan(
            self.convention.name(query, self.server, prefix),
            self.convention.attributes(query, self.server, prefix),
            *self._measures(query, prefix),
            self.is_quiet(text, query.operation),
            query.stated(prefix) if prefix in _COUNTED and query.operation not in _TRANSACTIONS else "",
        )

    def _measures(self, query: QueryText, prefix: str) -> tuple[CallDurations | None, Any]:
        """The instruments for the duration of such calls and the number of their rows."""
        if self.active.durations is None:
            return None, None
        # Texts with other literals have the same.
        summary = query.stated(prefix)
        key = (_MEASURES, summary, query.procedure)
        found = self.of_others.get(key)
        if found is None:
            found = self._bound(summary, query.procedure)
            self.keep(self.of_others, key, found, sys.getsizeof(summary))
        return found

    def _bound(self, summary: str, procedure: str) -> tuple[CallDurations, Any]:
        active = self.active
        attributes = self.server.attributes()
        if summary:
            attributes["db.query.summary"] = summary
        rows = bind(active.rows, active.labels.bounded(attributes))
        if procedure:
            attributes["db.stored_procedure.name"] = procedure
        return CallDurations(active.durations, active.labels.bounded(attributes), "db.response.status_code"), rows

    def query(self, text: Any, has_arguments: bool) -> QueryText:
        """What is to be known of a text: only the text itself if nothing else is emitted."""
        return self.read(text, has_arguments) if self.active.reads_texts else conventions.unread(text)

    def read(self, text: Any, has_arguments: bool) -> QueryText:
        """Read a text, once; a database without SQL overrides this."""
        return conventions.read(text, has_arguments=has_arguments)

    def is_kept(self, text: str) -> bool:  # noqa: ARG002  # for those who override it
        """Whether the text is likely to be used again."""
        return True

    def is_silent(self, prefix: str) -> bool:  # noqa: ARG002  # for those who override it
        """Whether queries with this prefix of their summary are begun without telemetry."""
        return False

    def is_quiet(self, text: Any, operation: str) -> bool:
        """Whether calls with this text are not instrumented."""
        return issubclass(type(text), str) and operation in _TRANSACTIONS and not self.active.options.transactions
