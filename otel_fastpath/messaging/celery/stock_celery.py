"""What the hooks of `opentelemetry-instrumentation-celery` call and read, in whose place this package's stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.sources.guard import ReplacedError, owner_of
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.stock import Reached

if TYPE_CHECKING:
    from otel_fastpath.patching.sources.guard import SkipError

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.celery"
INSTRUMENTOR: Final = f"{MODULE}:CeleryInstrumentor"
# The functions that are replaced: the signals that they are connected to.
SIGNALS: Final = ("prerun", "postrun", "before_publish", "after_publish")
HOOKS: Final = tuple(f"{INSTRUMENTOR}._trace_{name}" for name in SIGNALS)
# What they call, and the replacements do not.
CALLED: Final = (
    *(f"{INSTRUMENTOR}.{name}" for name in ("update_task_duration_time", "_record_histograms")),
    f"{MODULE}:CeleryGetter.get",
    *(
        f"{MODULE}.utils:{name}"
        for name in (
            "attach_context",
            "detach_context",
            "retrieve_context",
            "retrieve_task",
            "retrieve_task_from_sender",
            "retrieve_task_id",
            "retrieve_task_id_from_message",
            "set_attributes_from_context",
        )
    ),
)
_OF_OTHERS: Final = (
    *(f"opentelemetry.sdk.trace:Span.{name}" for name in ("set_attribute", "set_attributes")),
    *(f"opentelemetry.context:{name}" for name in ("attach", "detach")),
    *(f"{MODULE}:{name}" for name in ("extract", "inject")),
)
# What they find there, in modules of stock and of Celery.
_FOUND: Final = (
    f"{MODULE}:utils",
    *(f"{MODULE}.utils:{name}" for name in ("CELERY_CONTEXT_ATTRIBUTES", "CTX_KEY", "registry")),
    "celery.registry:tasks",
    "celery.app.task:Context.get",
)


class StockHooks(Reached):
    """Functions of stock's, what they call, and what they find in its modules and in Celery's."""

    def __init__(self) -> None:
        super().__init__((*CALLED, *_OF_OTHERS))
        self._values: dict[str, Any] = {}

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and value as it is now, and why they may not be replaced."""
        found, error = super().look()
        for place in _FOUND:
            owner, name = owner_of(sys.modules[place.partition(":")[0]], place)
            value = getattr(owner, name)
            if self._values.setdefault(place, value) is not value:
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        request, keys = sys.modules["celery.app.task"].Context, sys.modules[f"{MODULE}.utils"].CELERY_CONTEXT_ATTRIBUTES
        # Only the fields of a request itself are read.
        if any(getattr(request, key, None) not in (None, 0) for key in keys):
            error = error or ReplacedError("a field of Celery's requests has been added")
        return found, error


HOOKED: Final = StockHooks()
