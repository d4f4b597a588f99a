"""What the hooks of `opentelemetry-instrumentation-botocore` call and read, in whose place this package's stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from otel_fastpath.patching.sources.guard import ReplacedError, owner_of
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.stock import Reached, as_defined
from otel_fastpath.patching.swapping.swap import seen_through

if TYPE_CHECKING:
    from collections.abc import Callable

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


# What they call, and the replacements do not always: as it is found in the module of the hooks, and as it is written.
_IN_MODULE: Final = ("_apply_response_attributes", "_determine_call_context")
_FROM_UTILS: Final = ("_safe_invoke", "get_server_attributes")
CALLED: Final = (
    *(f"{MODULE}:{name}" for name in _IN_MODULE),
    *(f"{MODULE}:{each}._call_{kind}_hook" for each in INSTRUMENTORS for kind in ("request", "response")),
    *_methods(f"{_EXTENSIONS}.types:_AwsSdkCallContext", "__init__", "_get_attr"),
    f"{_EXTENSIONS}.types:_BotocoreInstrumentorContext.__init__",
    *_methods(
        f"{_EXTENSIONS}.registry:ExtensionRegistry",
        *("get_extension", "get_instrumentation_name", "get_logger", "get_metrics", "get_tracer", "has_extension"),
    ),
    *_methods(
        f"{_EXTENSIONS}.dynamodb:_DynamoDbExtension",
        *("__init__", "extract_attributes", "before_service_call", "on_success"),
        *("_add_attributes", "_get_attr_value", "_get_peer_name"),
    ),
    *_methods(f"{_EXTENSIONS}.sqs:_SqsExtension", "extract_attributes", "on_success"),
)
WRITTEN: Final = (*CALLED, *(f"{MODULE}.utils:{name}" for name in _FROM_UTILS), f"{_EXTENSIONS}:_lazy_load")
_OF_OTHERS: Final = (
    *(f"{MODULE}:{name}" for name in _FROM_UTILS),
    *_methods("opentelemetry.sdk.trace:Span", "is_recording", "set_attribute", "set_attributes"),
    f"{_XRAY}:AwsXRayPropagator.inject",
)
# What they find there, in modules of stock; and what of botocore makes the request that is sent of one that was made.
_FOUND: Final = (
    f"{MODULE}:ClientError",
    f"{MODULE}:TRACE_HEADER_KEY",
    f"{_UTILS}:_SUPPRESS_HTTP_INSTRUMENTATION_KEY",
    "botocore.awsrequest:AWSRequest.prepare",
    *_methods("botocore.awsrequest:AWSRequestPreparer", "prepare", "_prepare_headers"),
    "botocore.endpoint:Endpoint._encode_headers",
)
_PARSING: Final = (f"{MODULE}.utils:urlparse", f"{_EXTENSIONS}.dynamodb:urlparse")
# What they have imported by name, where another patch of this package may have come too late.
_SHARED: Final = ("is_instrumentation_enabled", "suppress_http_instrumentation")


class StockCalls(Reached):
    """Functions of stock's, what they call, and what they find in its modules.

    Attributes:
        is_instrumentation_enabled: Stock's function of this name, or this package's in its place.
        suppress_http_instrumentation: Likewise.
    """

    is_instrumentation_enabled: Callable[[], bool]
    suppress_http_instrumentation: Callable[[], Any]

    def __init__(self) -> None:
        super().__init__((*CALLED, *_OF_OTHERS, *(f"{MODULE}:{name}" for name in _SHARED)))
        self._values: dict[str, Any] = dict.fromkeys(_PARSING, urlparse)

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and value as it is now, and why they may not be replaced."""
        found, error = super().look()
        for place in (*_FOUND, *_PARSING):
            owner, name = owner_of(sys.modules[place.partition(":")[0]], place)
            value = getattr(owner, name)
            expected = as_defined(owner, name) if isinstance(owner, type) else value
            if self._values.setdefault(place, expected) is not value:
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        own, shared = sys.modules[MODULE], sys.modules[_UTILS]
        for name in _SHARED:
            one, other = getattr(own, name), getattr(shared, name)
            found += [(own, name, one), (shared, name, other)]
            setattr(self, name, other if seen_through(one) is seen_through(other) else one)
        return found, error


CALLS: Final = StockCalls()
