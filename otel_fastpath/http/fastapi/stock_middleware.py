"""Whether the stock instrumentation is in charge of an application, so that FastAPI's own telemetry is not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

# More than this many applications around each other, or a circle of them, are left to stock's function.
_MOST: Final = 100
_NAME: Final = "OpenTelemetryMiddleware"


def bind_legacy_otel(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Make the function that looks for the stock middleware, in place of FastAPI's `_legacy_otel`."""

    @functools.wraps(original)
    def _legacy_otel(stack: Any) -> bool:
        try:
            for _ in range(_MOST):
                # Another class of this name may be one by stock's rules.
                if stack is None or type(stack).__name__ == _NAME:
                    break
                stack = getattr(stack, "app", None)
            if stack is None:
                return False
        except Exception as error:
            faults.absorb_any("the applications around each other", error)
        return original(stack)

    return _legacy_otel
