"""The attributes and names of spans as in the stock instrumentation, which ours replaces.

Its own functions return them. Unless everything must be the same, two errors of it are not copied: here, a span is
named after the first word that is not in a comment, and has the database in its name with an async engine, too.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import metrics, trace

from otel_fastpath.db.conventions import StableConventions
from otel_fastpath.db.queries import comments
from otel_fastpath.db.stand_ins import CollectedAttributes, OneTracer
from otel_fastpath.patching.stock import Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.sqlalchemy"
CONNECT: Final = "CONNECT"
# The variables of its wrapper of `create_engine`: its tracer, and its arguments.
_TRACER: Final = "tracer"
_ARGUMENTS: Final = ("enable_commenter", "commenter_options", "enable_attribute_commenter")
# One of the events that it listens to on each engine.
_LISTENER: Final = "before_cursor_execute"
_LEADING_COMMENT: Final = re.compile(r"^/\*.*?\*/")


class Read(NamedTuple):
    """What it reads of a connection.

    Attributes:
        vendor: Its name of the system.
        name: The database; None: it finds none.
        attributes: The attributes of the connection.
        is_whole: Whether there was a connection to read; otherwise, this is what the URL tells.
    """

    vendor: str
    name: str | None
    attributes: tuple[tuple[str, Any], ...]
    is_whole: bool


class StockConventions(StableConventions):
    """What the stock instrumentation emits, under its own scope."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(_STOCK)
        self._is_same = setup.is_same
        self._keywords = setup.keywords
        self._package: Any = sys.modules[_STOCK]
        self._module: Any = sys.modules[f"{_STOCK}.engine"]
        signals = self._module._OpenTelemetryStabilitySignalType
        stability = self._module._OpenTelemetrySemanticConventionStability
        stability._initialize()
        self._modes = [
            stability._get_opentelemetry_stability_opt_in_mode(signal) for signal in (signals.DATABASE, signals.HTTP)
        ]
        self._schema = self._package._get_schema_url_for_signal_types([signals.DATABASE, signals.HTTP])
        # The object whose methods name spans and make comments.
        self._its: Any = self._module.EngineTracer.__new__(self._module.EngineTracer)
        self._its._sem_conv_opt_in_mode_db, self._its._sem_conv_opt_in_mode_http = self._modes
        self._its._leading_comment_remover = _LEADING_COMMENT
        self._its.commenter_options = self._keywords.get("commenter_options") or {}
        self.comments = bool(self._keywords.get("enable_commenter", False))
        self._read = Read("", None, (), is_whole=False)
        self.stock = Reached(
            [
                (self._module.EngineTracer, "_before_cur_exec"),
                *((self._module, name) for name in ("_after_cur_exec", "_handle_error", "_wrap_connect")),
            ]
        )

    def of(self, read: Read) -> StockConventions:
        """The convention for connections of which this was read."""
        made = copy.copy(self)
        made._its = copy.copy(self._its)
        made._its.vendor = read.vendor
        made._read = read
        return made

    def read(self, connection: Any) -> Read:
        """Read a connection; of an engine, only what its URL tells."""
        engine, module = connection.engine, self._module
        vendor = module._normalize_vendor(engine.name)
        attributes, has_host = module._get_attributes_from_url(engine.url, *self._modes)
        if connection is engine:
            return Read(vendor, engine.url.database, tuple(attributes.items()), is_whole=False)
        # The cursors of async engines do not show their connection.
        cursor = SimpleNamespace(connection=None if engine.dialect.is_async else connection.connection.dbapi_connection)
        if not has_host:
            attributes = module._get_attributes_from_cursor_or_conn(
                vendor, connection, cursor, attributes, *self._modes
            )
        name = module._get_db_name_from_cursor_or_conn(vendor, connection, cursor)
        if name is None and not self._is_same:
            name = engine.url.database
        return Read(vendor, name, tuple(attributes.items()), is_whole=True)

    def tracer(self, tracer_provider: Any) -> Any:
        self._its.tracer = trace.get_tracer(_STOCK, self._package.__version__, tracer_provider, schema_url=self._schema)
        self._its.enable_commenter = self.comments
        self._its.enable_attribute_commenter = self._keywords.get("enable_attribute_commenter", False)
        return self._its.tracer

    def listen(self, engine: Any, is_used: Callable[[], bool], known: Read | None) -> None:
        """Let stock's own code run for the statements of an engine, of which this is known, while it is used."""
        from sqlalchemy import event  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

        module, its = self._module, copy.copy(self._its)
        # Stock names the system once, when the engine is made.
        its.vendor = module._normalize_vendor(engine.name) if known is None else known.vendor

        def before(connection: Any, cursor: Any, statement: Any, *rest: Any) -> Any:
            if not is_used():
                return statement, rest[0]
            return its._before_cur_exec(connection, cursor, statement, *rest)

        event.listen(engine, "before_cursor_execute", before, retval=True)
        # They end what the first one has begun.
        event.listen(engine, "after_cursor_execute", module._after_cur_exec)
        event.listen(engine, "handle_error", module._handle_error)

    def meter(self, meter_provider: Any) -> Any:
        """The meter of its metric."""
        return metrics.get_meter(_STOCK, self._package.__version__, meter_provider, schema_url=self._schema)

    def pool_name(self, engine: Any) -> str:
        """Its name of an engine's pool."""
        found: str = self._module._get_attributes_from_engine(engine)["pool.name"]
        return found

    def name(self, query: QueryText, server: Server, prefix: str) -> str:  # noqa: ARG002  # the protocol's
        if _is_connect(query):
            return "connect"
        text = query.raw if self._is_same else query.first
        name: str = self._its._operation_name(self._read.name, text)
        return name

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:  # noqa: ARG002  # likewise
        found = CollectedAttributes()
        if _is_connect(query):
            found.update(self._read.attributes)
            self._module._set_db_system(found, self._read.vendor, self._modes[0])
        else:
            self._its._set_db_client_span_attributes(found, query.raw, self._read.name, dict(self._read.attributes))
        return dict(found)

    def comment(self, span: Any, connection: Any, context: Any) -> None:
        """Add its comment to a statement, and to the span's attribute if it was told to."""
        values = self._its._get_commenter_data(connection)
        context.statement = comments.change_text(
            lambda text: self._module._add_sql_comment(text, **values), context.statement
        )
        if self._keywords.get("enable_attribute_commenter", False):
            found: dict[str, Any] = {}
            self._module._set_db_statement(found, context.statement, self._modes[0])
            span.set_attributes(found)


def _is_connect(query: QueryText) -> bool:
    return query.raw == CONNECT and not query.text


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """The arguments of an instrumentor that had instrumented before our wrapper, as its wrappers hold them.

    And the engines that it had been given or had seen made: after it was disabled, it does not know them.
    """
    create: Any = getattr(sys.modules["sqlalchemy"], "create_engine", None)
    wrapper = getattr(create, "_self_wrapper", None)
    held: dict[str, Any] = {}
    if wrapper is not None:
        held = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=False))
    kept: dict[str, Any] = {name: held[name].cell_contents for name in _ARGUMENTS if name in held}
    if _TRACER in held:
        kept["tracer_provider"] = OneTracer(held[_TRACER].cell_contents)
    tracer: Any = sys.modules[f"{_STOCK}.engine"].EngineTracer
    targets = [
        reference for reference, identifier, _ in tracer._remove_event_listener_params if identifier == _LISTENER
    ]
    return {**kept, "engines": _Engines(targets)}


class _Engines(Sequence[Any]):
    """The engines of these weak references that still exist."""

    def __init__(self, references: list[Any]) -> None:
        self._references = references

    def _existing(self) -> list[Any]:
        return [engine for engine in (reference() for reference in self._references) if engine is not None]

    def __len__(self) -> int:
        return len(self._existing())

    def __getitem__(self, index: Any) -> Any:
        return self._existing()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._existing())
