"""The patch of `opentelemetry.instrumentation.dbapi`, for proxies whose cursors have wrappers of ours."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries.db.cursors import DATABASE_OF
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

# self, the cursor and its method
_BEFORE_ARGUMENTS: Final = 3


def _make_execution(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def traced_execution(*args: Any, **kwargs: Any) -> Any:
        method = args[_BEFORE_ARGUMENTS - 1] if len(args) >= _BEFORE_ARGUMENTS else None
        database = getattr(method, DATABASE_OF, None)
        if method is None or database is None or database.active is None:
            return original(*args, **kwargs)
        return method(*args[_BEFORE_ARGUMENTS:], **kwargs)

    return traced_execution


PATCHES: Final = (
    Patch(
        name="dbapi.execution",
        target="opentelemetry.instrumentation.dbapi:CursorTracer.traced_execution",
        why="A proxy that an official instrumentation made before ours replaced it: one span for each query.",
        make=_make_execution,
        requires=("opentelemetry-instrumentation-dbapi>=0.45b0",),
        budgets=("pymysql, execute",),
    ),
)
