"""The patches of psycopg2, and the hook of this folder that each one uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.psycopg2 import connecting, hooks
from otel_fastpath.db.psycopg2.query_plans import DATABASE
from otel_fastpath.patching.patch import SkipError

if TYPE_CHECKING:
    from collections.abc import Callable

# It is one of two distributions, so that only the module can be asked.
_OLDEST: Final = (2, 8)


def _hook(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def check_version(original: Any) -> Any:
        import psycopg2  # noqa: PLC0415  # the patch waits for it

        found = re.match(r"(\d+)\.(\d+)", psycopg2.__version__)
        if found is None or tuple(map(int, found.groups())) < _OLDEST:
            raise SkipError(f"psycopg2 {psycopg2.__version__} is installed, 2.8 or newer is needed")
        return make(original)

    return check_version


PATCHES: Final = (
    DATABASE.patch(
        "connect",
        "psycopg2:_connect",
        "Connections and their cursors are of subclasses, whose queries, COPYs and transactions are spans.",
        _hook(connecting.make_connect),
        *("execute", "executemany", "named cursor of 50 rows in a round trip", "commit", "connect"),
    ),
    *(
        DATABASE.patch(
            name,
            f"psycopg2.extras:{name}",
            "A query with many sets of parameters is one span, whatever number of pages it is sent in.",
            _hook(hooks.make_pages),
            "execute_values of two pages",
        )
        for name in ("execute_batch", "execute_values")
    ),
    DATABASE.patch(
        "official.execution",
        "opentelemetry.instrumentation.psycopg2:CursorTracer.traced_execution",
        "Cursors that the stock instrumentation makes on a connection of otel-fastpath's: one span for each query.",
        _hook(hooks.make_untraced),
        "execute",
    ),
)
