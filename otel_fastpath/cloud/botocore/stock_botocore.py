"""What the hooks of `opentelemetry-instrumentation-botocore` call and read, in whose place this package's stand."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from otel_fastpath.patching.sources.guard import ReplacedError, owner_of
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.stock import Reached, as_defined
from otel_fastpath.patching.swapping.swap import seen_through

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.sources.guard import SkipError

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.botocore"
_EXTENSIONS: Final = f"{MODULE}.extensions"
_XRAY: Final = "opentelemetry.propagators.aws.aws_xray_propagator"
_UTILS: Final = "opentelemetry.instrumentation.utils"
# The functions that are replaced, of the two instrumentors.
HOOKS: Final = ("_patched_api_call", "_patched_endpoint_prepare_request")
INSTRUMENTORS: Final = ("BotocoreInstrumentor", "AiobotocoreInstrumentor")


def _methods(owner: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{name}" for name in names)


# What they call, and the replacements do not always: of each call,
CALLED: Final = (
    *(f"{MODULE}:{name}" for name in ("_apply_response_attributes", "_determine_call_context")),
    *(f"{MODULE}:{each}._call_{kind}_hook" for each in INSTRUMENTORS for kind in ("request", "response")),
    *_methods(f"{_EXTENSIONS}.types:_AwsSdkCallContext", "__init__", "_get_attr"),
    # What an extension does that does nothing of its own.
    *_methods(
        f"{_EXTENSIONS}.types:_AwsSdkExtension",
        *("__init__", "should_trace_service_call", "should_end_span_on_exit", "extract_attributes"),
        *("before_service_call", "on_success", "on_error", "after_service_call"),
    ),
    f"{_EXTENSIONS}.types:_BotocoreInstrumentorContext.__init__",
    *_methods(
        f"{_EXTENSIONS}.registry:ExtensionRegistry",
        *("get_extension", "get_instrumentation_name", "get_logger", "get_metrics", "get_tracer", "has_extension"),
    ),
)
# and of extensions, whose own functions are called when these are not as they were.
EXTENDING: Final = (
    *_methods(
        f"{_EXTENSIONS}.dynamodb:_DynamoDbExtension",
        *("__init__", "extract_attributes", "before_service_call", "on_success"),
        *("_add_attributes", "_get_attr_value", "_get_peer_name"),
    ),
    f"{_EXTENSIONS}.dynamodb:_conv_val_to_single_json_tuple",
    *_methods(f"{_EXTENSIONS}.sqs:_SqsExtension", "extract_attributes", "on_success"),
)
# As they are found in the module of the hooks, and as they are written.
_FROM_UTILS: Final = ("_safe_invoke", "get_server_attributes")
WRITTEN: Final = (
    *CALLED,
    *EXTENDING,
    *(f"{MODULE}.utils:{name}" for name in _FROM_UTILS),
    *(f"{_UTILS}:{name}" for name in ("suppress_http_instrumentation", "_suppress_instrumentation")),
    f"{_EXTENSIONS}:_lazy_load",
)
_SPAN: Final = _methods("opentelemetry.sdk.trace:Span", "is_recording", "set_attribute", "set_attributes")
# What they find there, in modules of stock.
_FLAG: Final = f"{_UTILS}:_SUPPRESS_HTTP_INSTRUMENTATION_KEY"
_HEADER: Final = f"{MODULE}:TRACE_HEADER_KEY"
_JSON: Final = f"{_EXTENSIONS}.dynamodb:json"
# What of botocore makes the request that is sent of the one that stock puts its header into.
_PREPARING: Final = (
    "botocore.awsrequest:AWSRequest.prepare",
    *_methods("botocore.awsrequest:AWSRequestPreparer", "prepare", "_prepare_headers"),
    "botocore.endpoint:Endpoint._encode_headers",
)
# What the hooks have imported by name, where another patch of this package may have come too late.
_SHARED: Final = ("is_instrumentation_enabled", "suppress_http_instrumentation")


class StockCalls(Reached):
    """Functions of stock's, and what they find in its modules.

    Args:
        first: The functions.
        found: What they find, and what it must be; None: what it is first.
        shared: The names of functions that are found in stock's module of hooks, and in the one that they are from.
        apart: As in `Stock`.

    Attributes:
        is_instrumentation_enabled: Stock's function of this name, or this package's in its place.
        suppress_http_instrumentation: Likewise.
    """

    is_instrumentation_enabled: Callable[[], bool]
    suppress_http_instrumentation: Callable[[], Any]

    def __init__(
        self,
        first: tuple[str, ...],
        found: Mapping[str, Any],
        shared: tuple[str, ...] = (),
        apart: tuple[StockCalls, ...] = (),
    ) -> None:
        super().__init__((*first, *(f"{MODULE}:{name}" for name in shared)), apart, alone=True)
        self._values = dict(found)
        self._shared = shared

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and value as it is now, and why they may not be replaced."""
        found, error = super().look()
        for place, known in self._values.items():
            owner, name = owner_of(importlib.import_module(place.partition(":")[0]), place)
            value = getattr(owner, name)
            if known is None:
                # A function of botocore's that other code has replaced is not defined there.
                self._values[place] = as_defined(owner, name) if isinstance(owner, type) else value
            if self._values[place] is not value:
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        own, other = sys.modules[MODULE], sys.modules[_UTILS]
        for name in self._shared:
            one, latest = getattr(own, name), getattr(other, name)
            found += [(own, name, one), (other, name, latest)]
            setattr(self, name, latest if seen_through(one) is seen_through(latest) else one)
        return found, error


EXTENSIONS: Final = StockCalls(
    (*EXTENDING, *_SPAN), {f"{_EXTENSIONS}.dynamodb:urlparse": urlparse, _JSON: json, "json:dumps": json.dumps}
)
HEADERS: Final = StockCalls((f"{_XRAY}:AwsXRayPropagator.inject",), dict.fromkeys((_HEADER, *_PREPARING)))
CALLS: Final = StockCalls(
    (*CALLED, *(f"{MODULE}:{name}" for name in _FROM_UTILS), *_SPAN, f"{_UTILS}:_suppress_instrumentation"),
    {f"{MODULE}.utils:urlparse": urlparse, f"{MODULE}:ClientError": None, _FLAG: None},
    _SHARED,
    (EXTENSIONS, HEADERS),
)
