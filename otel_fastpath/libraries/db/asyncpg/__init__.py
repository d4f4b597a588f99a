"""Our own instrumentation of asyncpg: what is patched, and in whose place it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.libraries.db.asyncpg.patches import PATCHES
from otel_fastpath.libraries.library import Library, Rival

if TYPE_CHECKING:
    from otel_fastpath.libraries.library import Setup


def _configure(setup: Setup) -> None:
    # Loaded when instrumenting, not before.
    from otel_fastpath.libraries.db.asyncpg import plans  # noqa: PLC0415

    plans.configure(setup)


def _read(setup: Setup) -> None:
    from otel_fastpath.libraries.db.asyncpg.options import Options  # noqa: PLC0415  # likewise
    from otel_fastpath.libraries.db.options import parse  # noqa: PLC0415  # likewise

    parse("asyncpg", setup.options, Options)


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
