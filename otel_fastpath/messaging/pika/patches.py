"""The hooks of `opentelemetry-instrumentation-pika`, which channels and their consumers have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.pika import stock_pika as stock
from otel_fastpath.messaging.stock_messages import closures_patch
from otel_fastpath.wrapping.closures import Closures

if TYPE_CHECKING:
    from otel_fastpath.patching.patch import Patch

CLOSURES: Final = {"publish": Closures("decorated_function"), "callback": Closures("decorated_callback")}


def _patch(name: str, target: str, why: str, budget: str) -> Patch:
    sources, closures = (target, *stock.CALLED), CLOSURES.get(name)
    return closures_patch(
        f"pika.{name}",
        target,
        why,
        stock.KNOWN,
        stock.HOOKED,
        sources,
        closures,
        lambda: hot.messaging_pika_pika_hooks,
        (budget,),
    )


PATCHES: Final = (
    _patch(
        "publish",
        stock.PUBLISH,
        "A message that is sent costs 250,000 instructions: six attributes are set one by one, and two propagators "
        "write; here, the attributes are set in one go, and the header is written at once.",
        "pika, send",
    ),
    _patch(
        "callback",
        stock.CALLBACK,
        "A message that is received costs 280,000 instructions: two propagators read its headers, and six attributes "
        "are set one by one; here, each is done in one go.",
        "pika, receive",
    ),
    _patch(
        "popleft",
        stock.NEXT,
        "A message that is iterated over costs 250,000 instructions; it is likewise with it.",
        "pika, receive the next",
    ),
)
