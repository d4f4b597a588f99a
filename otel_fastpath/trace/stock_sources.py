"""Facts about stock's code that several patches need."""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.sources.known import Known

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.trace.stack_traces import Frame

API: Final = ("opentelemetry-api>=1.40,<2",)
SDK: Final = ("opentelemetry-api>=1.40,<2", "opentelemetry-sdk>=1.40,<2")
# The module of the decorator that stock uses for its context managers.
CONTEXT_MANAGERS: Final = frozenset({"opentelemetry.util._decorator"})
RUNTIME: Final = "opentelemetry.context.contextvars_context:ContextVarsRuntimeContext"
# What a context manager calls to change the current context, and this package's do not; that of a span calls more.
ATTACHING: Final = (
    *(f"opentelemetry.context:{name}" for name in ("attach", "detach", "get_current", "set_value")),
    *(f"{RUNTIME}.{name}" for name in ("attach", "detach", "get_current")),
)
SCOPE: Final = (
    *ATTACHING,
    "opentelemetry.trace.span:NonRecordingSpan.end",
    "opentelemetry.util._decorator:_AgnosticContextManager.__enter__",
)
# What instrumentations call to read and write headers.
PROPAGATING: Final = ("opentelemetry.propagate:extract", "opentelemetry.propagate:inject")
# What a provider finds its tracers and meters by.
SCOPE_KEYS: Final = tuple(
    f"opentelemetry.sdk.util.instrumentation:InstrumentationScope.{name}" for name in ("__eq__", "__hash__", "__init__")
)
# What keeps a link, and is not called; since 1.45, the container of its attributes has a method more.
LINKS: Final = (
    "opentelemetry.attributes:BoundedAttributes.__init__",
    "opentelemetry.attributes:BoundedAttributes.__setitem__",
    "opentelemetry.sdk.trace:_is_valid_link",
    "opentelemetry.sdk.util:BoundedList.__init__",
    "opentelemetry.sdk.util:BoundedList.append",
    "opentelemetry.sdk.util:BoundedList.extend",
    "opentelemetry.trace:Link.attributes",
    "opentelemetry.trace:_LinkBase.context",
)
_START_ARGUMENTS: Final = (
    "name",
    "context",
    "kind",
    "attributes",
    "links",
    "start_time",
    "record_exception",
    "set_status_on_exception",
)


KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
# The fingerprints of each "module:qualified.name" in the releases that `make sources NAME=core` has read.
sources: Final = KNOWN.sources
sources_if_any: Final = KNOWN.sources_if_any
# How attributes are cleaned, in the releases that have these functions: plain values are kept here without a call.
CLEANING: Final = sources_if_any(
    *(f"opentelemetry.attributes:BoundedAttributes.{name}" for name in ("_set_items", "_setitem_locked")),
    "opentelemetry.attributes:_clean_attribute_value",
    "opentelemetry.attributes:_clean_extended_attribute",
    "opentelemetry.attributes:_clean_extended_attribute_value",
)


def stand_in(module: ModuleType, **replaced: Any) -> ModuleType:
    """A replacement for a module in another module's globals: these names are replaced, the others looked up in it."""
    made = ModuleType(module.__name__, module.__doc__)
    made.__getattr__ = functools.partial(getattr, module)  # type: ignore[method-assign]
    vars(made).update(replaced)
    return made


class _ProbeError(Exception):
    pass


def frame_at_yield(manager: Callable[..., Any], *args: Any) -> Frame:
    """The frame of the generator behind an `_agnosticcontextmanager` function when an exception is thrown into it.

    An exception that leaves the `with` block of such a manager passes through its generator, and stock records the
    stack trace in the innermost one, so the text begins with these frames. Our context managers are classes without
    such frames.
    """
    generator = manager.__wrapped__(*args)  # type: ignore[attr-defined]
    next(generator)
    try:
        generator.throw(_ProbeError())
    except _ProbeError as error:
        step = error.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        if step is not None:
            return step.tb_frame.f_code, step.tb_lasti, step.tb_lineno
    raise RuntimeError(f"{manager!r} does not pass an exception on")


def start_by_keyword(tracer: Any, *args: Any) -> Any:
    """Call a start_span that is not ours as stock does, with keywords: a wrapper may look for them."""
    return tracer.start_span(**dict(zip(_START_ARGUMENTS, args, strict=True)))
