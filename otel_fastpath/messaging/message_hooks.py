"""What the hooks around messages of several libraries have in common. Plain Python; compiled as `message_hooks_c`."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import ProxyTracer

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.trace.context.current_context import detach, restore
from otel_fastpath.trace.spans.recorded import is_silent, keeps_all
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from otel_fastpath.wrapping.replacements import Replacements

# Lists of texts, and their JSON.
_texts: dict[Any, str] = {}


def own_tracer(tracer: Any) -> Any:
    """The tracer that a proxy has, once it has one."""
    return tracer._real_tracer if type(tracer) is ProxyTracer else tracer


def is_usual(tracer: Any, hook: Any, replacements: Any) -> bool:
    """Whether the spans of a tracer are the SDK's, and only their processors can see them: there is no user's hook."""
    found: Replacements = replacements
    return hook is None and type(tracer) is Tracer and not found.exist()


def json_of(value: Any) -> str | None:
    """What `json.dumps` makes of a text or a list of texts; None of anything else."""
    if type(value) is str:
        return encode_basestring_ascii(value)
    texts = tuple(value) if type(value) is list else value
    if type(texts) is not tuple:
        return None
    for each in texts:
        if type(each) is not str:
            return None
    found = get_item(_texts, texts)
    if found is None:
        found = "".join(("[", ", ".join(map(encode_basestring_ascii, texts)), "]"))
        keep(_texts, texts, found)
    return found


def add_texts(found: dict[str, Any], first: str, text: Any, second: str, other: Any) -> bool:
    """Add two attributes, each if it is there; False if one is no text, and stock must do it."""
    if (text is not None and type(text) is not str) or (other is not None and type(other) is not str):
        return False
    if text:
        found[first] = text
    if other:
        found[second] = other
    return True


def describe(span: Any, attributes: dict[str, Any], place: str) -> None:
    """Set attributes as if each was set by itself; a fault is reported under this place."""
    try:
        if is_silent(span):
            return
        if keeps_all(span):
            span.set_attributes(attributes)
        elif span.is_recording():
            for key, value in attributes.items():
                span.set_attribute(key, value)
    except Exception as error:
        faults.absorb(place, error)


def finish(span: Any, attributes: dict[str, Any], place: str) -> None:
    """Likewise, and end the span."""
    try:
        describe(span, attributes, place)
    finally:
        end_span(span, place)


def give_back(token: Any, place: str) -> None:
    """Leave a context, if there is a token; a fault is reported under this place."""
    try:
        if token is not None:
            detach(token)
    except Exception as error:
        faults.absorb(place, error)
        restore(token)
