"""The patches of psycopg2, and the hook of this folder that each one uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.psycopg2 import connecting, hooks, stock
from otel_fastpath.patching.patch import Patch, SkipError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

# It is one of two distributions, so that only the module can be asked.
_OLDEST: Final = (2, 8)


def _hook(make: Callable[[Any], Any]) -> Callable[[Any, Config], Any]:
    """The `make` of a patch: returns `make(original)`. Each call reads the set-up in `DATABASE.active`."""

    def check_version(original: Any, _settings: Config) -> Any:
        import psycopg2  # noqa: PLC0415  # the patch waits for it

        found = re.match(r"(\d+)\.(\d+)", psycopg2.__version__)
        if found is None or tuple(map(int, found.groups())) < _OLDEST:
            raise SkipError(f"psycopg2 {psycopg2.__version__} is installed, 2.8 or newer is needed")
        return make(original)

    return check_version


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any], *budgets: str) -> Patch:
    return Patch(f"psycopg2.{name}", target, why, _hook(make), budgets=tuple(f"psycopg2, {each}" for each in budgets))


PATCHES: Final = (
    _patch(
        "connect",
        "psycopg2:_connect",
        "Connections and their cursors are of subclasses, whose queries, COPYs and transactions are spans.",
        connecting.make_connect,
        *("execute", "executemany", "named cursor of 50 rows in a round trip", "commit", "connect"),
    ),
    *(
        _patch(
            name,
            f"psycopg2.extras:{name}",
            "A query with many sets of parameters is one span, whatever number of pages it is sent in.",
            hooks.make_pages,
            "execute_values of two pages",
        )
        for name in ("execute_batch", "execute_values")
    ),
    _patch(
        "official.execution",
        "opentelemetry.instrumentation.psycopg2:CursorTracer.traced_execution",
        "Cursors that the stock instrumentation makes on a connection of otel-fastpath's: one span for each query.",
        stock.make_untraced,
        "execute",
    ),
)
