"""What `opentelemetry-instrumentation-aws-lambda` calls for each invocation of a handler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.trace.stock_sources import API

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.aws_lambda"
_BLIND: Final = tuple(
    f"opentelemetry.instrumentation.cidict:CIDict.{name}"
    for name in ("__init__", "__setitem__", "__getitem__", "_get_entry", "_normalize_key")
)


def _patch(name: str, target: str, why: str, bind: str, budgets: tuple[str, ...], *further: str) -> Patch:
    def make(original: Any, _settings: Config) -> Any:
        replace: Callable[[Any], Any] = getattr(hot.cloud_aws_lambda_lambda_events, bind)
        return replace(original)

    target = f"{MODULE}{target}"
    return Patch(
        name=f"aws_lambda.{name}",
        target=target,
        why=why,
        make=make,
        requires=(*API, "opentelemetry-instrumentation-aws-lambda>=0.65b0"),
        sources=KNOWN.sources(target, *_BLIND, *further),
        # It imports the module of messages of SQS before it is whole.
        after=(MODULE,),
        budgets=budgets,
    )


_HTTP: Final = ("lambda, REST API", "lambda, HTTP API")
PATCHES: Final = (
    _patch(
        "parent",
        ":_determine_parent_context",
        "Copies each header by five functions, and reads three of them through a composite propagator.",
        "bind_parent_context",
        (*_HTTP, "lambda, an event of one's own"),
        f"{MODULE}:_default_event_context_extractor",
    ),
    _patch(
        "rest_attributes",
        ":_get_api_gateway_v1_proxy_attributes",
        "Copies the headers once more to read three of them: 60,000 instructions.",
        "bind_rest_attributes",
        _HTTP[:1],
    ),
    _patch(
        "links",
        "._sqs:_get_sqs_span_links",
        "Copies the attributes of each message, and reads one of them through a composite propagator.",
        "bind_links",
        ("lambda, three messages of SQS",),
    ),
)
