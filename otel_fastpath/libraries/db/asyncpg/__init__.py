"""Our own instrumentation of asyncpg: what is patched, and in whose place it stands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries.library import Library, Rival
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.libraries.library import Setup

_REQUIRES: Final = ("asyncpg>=0.29,<1",)
# What `fetchmany` came with.
_FETCHMANY: Final = ("asyncpg>=0.30,<1",)


class _Hook:
    """What makes a hook of one of the modules here, which are loaded when asyncpg is there.

    Args:
        place: "module:function", the function that is given the original.
        first: What the function is given before, by its name in the same module.
        value: What it is given before as it is.
    """

    def __init__(self, place: str, *first: str, value: Any = None) -> None:
        self._module, _, self._name = place.partition(":")
        self._first = first
        self._values = () if value is None else (value,)

    def __call__(self, original: Any) -> Any:
        module = import_module(f"{__name__}.{self._module}")
        first = (getattr(module, name) for name in self._first)
        return getattr(module, self._name)(*self._values, *first, original)


def _patch(name: str, target: str, why: str, hook: _Hook) -> Patch:
    # Below "asyncpg", so that it is applied when the whole package is there: while it is being imported it hands its
    # functions from module to module.
    requires = _FETCHMANY if name.endswith("fetchmany") else _REQUIRES
    return Patch(name=f"asyncpg.{name}", target=f"asyncpg:{target}", why=why, make=hook, requires=requires)


_QUERY: Final = "A query is a span."
_BATCH: Final = "A query with many sets of parameters is one span."
_COPY: Final = "A COPY is a span."
_TRIP: Final = "A cursor's round trip to the server is a span; the rows that it brought cost nothing."

PATCHES: Final = (
    *(
        _patch(name, f"Connection.{name}", _QUERY, _Hook("hooks:on_query", value=rows))
        for name, rows in (
            ("execute", "NO_ROWS"),
            ("fetch", "ALL_ROWS"),
            ("fetchval", "ONE_VALUE"),
            ("fetchrow", "ONE_ROW"),
        )
    ),
    *(
        _patch(name, f"Connection.{name}", _BATCH, _Hook("hooks:around", "of_batch", rows))
        for name, rows in (("executemany", "no_rows"), ("fetchmany", "all_rows"))
    ),
    _patch(
        "prepare",
        "Connection.prepare",
        "Preparing a statement is a span.",
        _Hook("hooks:around", "preparing", "no_rows"),
    ),
    *(
        _patch(name, f"Connection.{name}", _COPY, _Hook("copying:around", opener, rows))
        for name, opener, rows in (
            ("copy_from_table", "of_table", "copied_out"),
            ("copy_from_query", "of_query", "copied_out"),
            ("copy_to_table", "of_table", "copied_in"),
            ("copy_records_to_table", "of_table", "copied_in"),
        )
    ),
    *(
        _patch(
            f"statement.{name}",
            f"prepared_stmt.PreparedStatement.{name}",
            why,
            _Hook("hooks:around", opener, rows),
        )
        for name, why, opener, rows in (
            ("fetch", _QUERY, "of_statement", "all_rows"),
            ("fetchval", _QUERY, "of_statement", "one_value"),
            ("fetchrow", _QUERY, "of_statement", "one_row"),
            ("executemany", _BATCH, "of_statement_batch", "no_rows"),
            ("fetchmany", _BATCH, "of_statement_batch", "all_rows"),
            ("explain", _QUERY, "explaining", "no_rows"),
        )
    ),
    *(
        _patch(f"cursor.{name}", f"cursor.{target}", _TRIP, _Hook("hooks:around", "of_cursor", rows))
        for name, target, rows in (
            ("open", "Cursor._init", "no_rows"),
            ("begin", "BaseCursor._bind_exec", "cursor_rows"),
            ("fetch", "BaseCursor._exec", "cursor_rows"),
            ("forward", "Cursor.forward", "no_rows"),
        )
    ),
    _patch(
        "cursor.prepare",
        "protocol.Protocol.prepare",
        "Preparing a cursor's statement belongs to its first round trip, and is a span if it fails.",
        _Hook("hooks:on_prepare"),
    ),
    *(
        _patch(name, target, "Each connect is a span.", _Hook("connecting:make_connect"))
        for name, target in (
            ("connect.own", "connect_utils._connect"),
            ("connect.pooled", "connection.connect"),
            ("connect", "connect"),
        )
    ),
    _patch(
        "connect.arguments",
        "connect_utils._parse_connect_arguments",
        "Says where a connect goes, for its span.",
        _Hook("connecting:make_parse"),
    ),
    _patch(
        "pool.initialize", "pool.Pool._initialize", "A pool's connections are metrics.", _Hook("pools:make_initialise")
    ),
    _patch(
        "pool.acquire",
        "pool.Pool._acquire",
        "Waiting for a connection is a metric, and a span for who asked for it.",
        _Hook("pools:make_acquire"),
    ),
    _patch(
        "pool.release",
        "pool.PoolConnectionHolder._release",
        "How long a connection was borrowed is a metric.",
        _Hook("pools:make_release"),
    ),
    _patch(
        "pool.connect",
        "pool.Pool._get_new_connection",
        "How long it took to make a pool's connection is a metric.",
        _Hook("pools:make_new_connection"),
    ),
)


def _configure(setup: Setup) -> None:
    # Loaded when instrumenting, not before.
    from otel_fastpath.libraries.db.asyncpg import plans  # noqa: PLC0415

    plans.configure(setup)


def _read(setup: Setup) -> None:
    from otel_fastpath.libraries.db.asyncpg.options import Options  # noqa: PLC0415  # likewise

    Options.parse(setup.options)


LIBRARY: Final = Library(
    name="asyncpg",
    why="Queries, connections and pools, for a twelfth of what the official instrumentation costs.",
    patches=PATCHES,
    configure=_configure,
    read=_read,
    rivals=(
        Rival(
            "official",
            "opentelemetry.instrumentation.asyncpg:AsyncPGInstrumentor",
            # Before, it knew neither prepared statements (0.64) nor the stable conventions.
            "opentelemetry-instrumentation-asyncpg>=0.65b0,<0.67",
        ),
    ),
    entry_points=frozenset({"asyncpg"}),
)
