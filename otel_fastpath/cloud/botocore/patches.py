"""The hooks of `opentelemetry-instrumentation-botocore`, which stand around the methods of botocore and aiobotocore."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.cloud.botocore import stock_botocore as stock
from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.swapping.diverting import Diversions
from otel_fastpath.trace.stock_sources import SDK, sources
from otel_fastpath.wrapping.stock_hooks import divert_after

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_WHY: Final = (
    "Each call parses its endpoint's address, imports the extension of its service, asks that five times, and writes a "
    "header that botocore then reads again: 400,000 to 550,000 instructions; here, what the client says is read once."
)


def divert(instrumentor: str) -> None:
    """Let stock's hooks run this package's: what is wrapped around botocore's methods holds them."""
    hooks = hot.cloud_botocore_aws_hooks
    kind = getattr(sys.modules[stock.MODULE], instrumentor)
    binds = {
        "_patched_api_call": hooks.bind_api_call,
        "_patched_endpoint_prepare_request": hooks.bind_prepare_request,
    }
    for name, bind in binds.items():
        found = inspect.getattr_static(kind, name)
        function = getattr(found, "__func__", found)
        is_async = inspect.iscoroutinefunction(function)
        DIVERSIONS[instrumentor].divert(function, hooks.bind_async_api_call if is_async else bind)


def _make(instrumentor: str, original: Any, _settings: Config) -> Any:
    return divert_after(
        original, "botocore", functools.partial(divert, instrumentor), lambda: hot.cloud_botocore_aws_calls.are_known
    )


def _patch(name: str, instrumentor: str, *budgets: str) -> Patch:
    own = f"{stock.MODULE}:{instrumentor}"
    return Patch(
        name=f"{name}.calls",
        target=f"{own}._instrument",
        why=_WHY,
        make=functools.partial(_make, instrumentor),
        requires=(*SDK, "opentelemetry-instrumentation-botocore>=0.61b0"),
        sources=stock.KNOWN.sources(*(f"{own}.{hook}" for hook in stock.HOOKS), *stock.WRITTEN)
        | sources("opentelemetry.sdk.trace:Span.is_recording"),
        decorators=frozenset({"contextlib"}),
        stock=stock.CALLS,
        diversions=DIVERSIONS[instrumentor],
        after=(f"{stock.MODULE}.utils",),
        budgets=budgets,
    )


DIVERSIONS: Final = {each: Diversions() for each in stock.INSTRUMENTORS}
PATCHES: Final = (
    _patch("botocore", "BotocoreInstrumentor", "aws, DynamoDB", "aws, S3", "aws, SQS", "aws, Lambda"),
    _patch("aiobotocore", "AiobotocoreInstrumentor", "aws, aiobotocore"),
)
