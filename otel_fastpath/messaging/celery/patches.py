"""The hooks of `opentelemetry-instrumentation-celery`, which Celery's signals call."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.celery import stock_celery as stock
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.swapping.diverting import Diversions
from otel_fastpath.trace.stock_sources import PROPAGATING, SDK, sources
from otel_fastpath.wrapping.stock_hooks import divert_after

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_diversions: Final = Diversions()


def divert() -> None:
    """Let stock's hooks run this package's: signals hold them, and are asked by them to let go."""
    hooks = hot.messaging_celery_task_hooks
    for name in stock.SIGNALS:
        found = inspect.getattr_static(sys.modules[stock.MODULE].CeleryInstrumentor, f"_trace_{name}")
        _diversions.divert(getattr(found, "__func__", found), getattr(hooks, f"bind_{name}"), packed=True)


def _make(original: Any, _settings: Config) -> Any:
    return divert_after(original, "Celery", divert, lambda: hot.messaging_celery_task_hooks.are_known)


PATCHES: Final = (
    Patch(
        name="celery.hooks",
        target=f"{stock.INSTRUMENTOR}._instrument",
        why="A task that is sent asks for its name through three proxies, twice: 66,000 instructions; one that runs "
        "reads 38 keys one by one: 72,000. Here, each is read once, and the attributes are set in one go.",
        make=_make,
        requires=(*SDK, "opentelemetry-instrumentation-celery>=0.61b0"),
        sources=stock.KNOWN.sources(*stock.HOOKS, *stock.CALLED) | sources(*PROPAGATING),
        stock=stock.HOOKED,
        diversions=_diversions,
        after=(f"{stock.MODULE}.utils",),
        budgets=("celery, send", "celery, run", "celery, run eagerly"),
    ),
)
