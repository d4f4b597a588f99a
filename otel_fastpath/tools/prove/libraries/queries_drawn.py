"""Queries, drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.prove.libraries.modes import in_mode, instrumented, providers

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun

_QUERIES: Final = 20
_STATEMENTS: Final = (
    ("SELECT 1", ()),
    ("select name from sqlite_master where name = ?", ("ann",)),
    ("SELECT 'bob'", ()),
    ("/* why */ SELECT ?, ?", (1, "two")),
    ("INSERT INTO items VALUES (?)", (5,)),
)


def query(run: ProgramRun, ask: Callable[..., Any], more: Sequence[tuple[Any, ...]] = ()) -> None:
    """Make drawn queries, in two halves.

    Args:
        run: The run.
        ask: Makes a query, from the text and its parameters.
        more: Further queries; what this package's own wrappers record of some is their own.
    """
    statements = (*_STATEMENTS, *more)
    for draw in run.halves():
        for _ in range(_QUERIES):
            run.attempt(_ask, draw, ask, statements)


def _ask(draw: random.Random, ask: Callable[[str, Sequence[Any]], Any], statements: Sequence[Any]) -> Any:
    return ask(*draw.choice(statements))


def query_instrumented(
    run: ProgramRun, instrumentor: Any, connect: Callable[[], Callable[[str, Sequence[Any]], Any]], **options: Any
) -> None:
    """Likewise, in one of the modes, through a connection that is made while the library is instrumented.

    Args:
        run: The run.
        instrumentor: Stock's.
        connect: Returns what makes a query.
        options: Further arguments for the instrumentor.
    """

    def connect_again() -> Any:
        return connect()(*_STATEMENTS[0])

    telemetry = run.telemetry()
    with in_mode(run), instrumented(run, telemetry, instrumentor, connect_again, **providers(telemetry), **options):
        query(run, connect())
