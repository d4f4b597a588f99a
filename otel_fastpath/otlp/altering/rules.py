"""Alters an item that cannot be encoded, as little as possible: only what protobuf or stock's own functions refuse.

What can be encoded differs between releases of protobuf and its implementations, so each value is tried. A rule is a
function that returns a value that can be encoded: the given one, or an altered one. Where none helps it raises, and
the smallest item around the value is left out: an attribute, event, link, exemplar or data point, or else the item.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.common import _internal
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_fastpath.otlp.altering import counts
from otel_fastpath.patching import faults

# How deep a body or an attribute may be nested, and how many values are taken: more in the first attempt than in the
# second, which stays below all limits of protobuf. What is deeper, and what comes after so many, becomes this text.
_ATTEMPTS: Final = ((64, 100_000), (16, 10_000))
_LEFT_OUT: Final = "..."
_64_BITS: Final = 1 << 64


class Walk:
    """One attempt to alter an item.

    Args:
        deepest: The deepest nesting of a value.
        left: How many values of bodies are still taken.
        cuts_attributes: Whether attributes may be nested too deeply, too.
    """

    def __init__(self, deepest: int, left: int, *, cuts_attributes: bool) -> None:
        self.deepest = deepest
        self.left = left
        self.cuts_attributes = cuts_attributes
        self.found: list[counts.AlteredValue] = []
        # The ids of the containers around a value: one may contain itself.
        self.around: set[int] = set()

    def note(self, field: str, outcome: str, error: Exception) -> None:
        """Remember what is altered or left out.

        Raises:
            Exception: The error, if it arrived between two instructions: it says nothing about the value.
        """
        faults.raise_interruption(error)
        self.found.append(counts.AlteredValue(field, outcome, error))


# Takes a value, the walk, and the name of the field, such as `span.name`.
Rule = Callable[[Any, Walk, str], Any]


class Altered:
    """An object with other values in some of its fields, for stock's encoder."""

    def __init__(self, owner: Any, fields: dict[str, Any]) -> None:
        vars(self).update(fields)
        self._owner = owner

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._owner.__class__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._owner, name)


class Fields:
    """The rule for an object, of which these fields are encoded.

    Args:
        name: What the object is called in the names of its fields.
        rules: The rules by field.
    """

    def __init__(self, name: str, /, **rules: Rule) -> None:
        self.name = name
        self._rules = rules

    def __call__(self, owner: Any, walk: Walk, _name: str = "") -> Any:
        """The object, or one that reads as it does but for the altered fields."""
        made = {field: rule(getattr(owner, field), walk, f"{self.name}.{field}") for field, rule in self._rules.items()}
        return Altered(owner, made)


def encode_item(encode: Callable[[Any], Any], fields: Fields, item: Any) -> tuple[Any, bool]:
    """Encode an item, altered if it must be, and count what is.

    Returns:
        The encoded item, None if nothing helps; and whether the item is as it was.
    """
    try:
        return encode(item), True
    except Exception as error:  # whatever a value of other code's class does
        faults.raise_interruption(error)
        why = error
    for is_last, (deepest, left) in enumerate(_ATTEMPTS):
        walk = Walk(deepest, left, cuts_attributes=bool(is_last))
        try:
            made = encode(fields(item, walk))
        except Exception as error:  # likewise
            faults.raise_interruption(error)
            why = error
            continue
        counts.add(walk.found or [counts.AlteredValue(fields.name, counts.ALTERED, why)])
        return made, False
    leave_out(fields, why)
    return None, False


def leave_out(fields: Fields, why: Exception) -> None:
    """Count an item that is not sent."""
    counts.add([counts.AlteredValue(fields.name, counts.LEFT_OUT, why)])


def count_left_out(pairs: Iterable[tuple[str, Any, Any]]) -> None:
    """Count the attributes that stock left out, each of which it has logged: of those given, those not encoded."""
    try:
        for name, given, sent in pairs:
            counts.add_logged(name, len(given or ()) - len(sent))
    except Exception as error:  # of other code's classes
        faults.raise_interruption(error)


def scalar(message: Any, field: str, alter: Callable[[Any], Any] | None = None) -> Rule:
    """The rule for a value that this field of a protobuf message takes, or takes once it is altered."""

    def rule(value: Any, walk: Walk, name: str) -> Any:
        try:
            message(**{field: value})
        except Exception as error:
            if alter is None:
                raise
            walk.note(name, counts.ALTERED, error)
            made = alter(value)
            message(**{field: made})
            return made
        return value

    return rule


def accepted(use: Callable[[Any], Any]) -> Rule:
    """The rule for a value that is sent as it is if this function does not raise."""

    def rule(value: Any, _walk: Walk, _name: str) -> Any:
        use(value)
        return value

    return rule


def optional(rule: Rule, default: Any) -> Rule:
    """The rule with a value for where it raises, which is sent as "not known"."""

    def with_default(value: Any, walk: Walk, name: str) -> Any:
        if value is default:
            return value
        mark = len(walk.found)
        try:
            return rule(value, walk, name)
        except Exception as error:
            del walk.found[mark:]
            walk.note(name, counts.ALTERED, error)
            return default

    return with_default


def each(rule: Rule) -> Rule:
    """The rule for a sequence: where the rule for an element raises, that element is left out."""

    def of_sequence(values: Any, walk: Walk, name: str) -> Any:
        kept = []
        for value in values or ():
            mark = len(walk.found)
            try:
                kept.append(rule(value, walk, name))
            except Exception as error:
                del walk.found[mark:]
                walk.note(name, counts.LEFT_OUT, error)
        return kept

    return of_sequence


def identifier(size: int) -> Rule:
    """The rule for an id of so many bytes."""

    def rule(value: Any, walk: Walk, name: str) -> Any:
        try:
            value.to_bytes(length=size, byteorder="big", signed=False)
        except Exception as error:
            walk.note(name, counts.ALTERED, error)
            made = operator.index(value)
            made.to_bytes(length=size, byteorder="big", signed=False)
            return made
        return value

    return rule


def as_text(value: Any) -> str:
    """The text of a value: halves of a character that belong together are joined, others become `?`."""
    try:
        if isinstance(value, str):
            # Not str(value): a subclass may have its own, which protobuf would not call.
            text = str.__str__(value)
        else:
            text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    except Exception as error:  # of other code's `__str__`
        faults.raise_interruption(error)
        text = f"<unprintable {type(value).__name__} object>"
    joined = str.encode(text, "utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode(errors="replace").decode()


def as_integer(value: Any) -> int:
    """The integer that a number is, without its fraction."""
    if isinstance(value, str | bytes):
        raise TypeError(f"a {type(value).__name__} is not a number")
    return int(value)


def as_float(value: Any) -> float:
    """The float that is nearest to a number."""
    if isinstance(value, str | bytes):
        raise TypeError(f"a {type(value).__name__} is not a number")
    return float(value)


def in_any_value(value: Any, walk: Walk, name: str, depth: int = 0) -> Any:
    """The rule for a body: each value in it that cannot be encoded becomes its text."""
    walk.left -= 1
    mark = len(walk.found)
    try:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | Mapping):
            _internal._encode_value(value)
            return value
        if depth > walk.deepest or walk.left < 0 or id(value) in walk.around:
            walk.note(name, counts.ALTERED, RecursionError("too many values, or too deeply nested"))
            return _LEFT_OUT
        return _in_container(value, walk, name, depth + 1)
    except Exception as error:
        del walk.found[mark:]
        walk.note(name, counts.ALTERED, error)
        return hex(value) if issubclass(type(value), int) else as_text(value)


def _in_container(container: Any, walk: Walk, name: str, depth: int) -> Any:
    walk.around.add(id(container))
    try:
        if isinstance(container, Sequence):
            return [in_any_value(inner, walk, name, depth) for inner in container]
        return {_key(key, walk, name): in_any_value(inner, walk, name, depth) for key, inner in container.items()}
    finally:
        walk.around.discard(id(container))


def _key(key: Any, walk: Walk, name: str) -> str:
    # Stock takes the str() of any key.
    made: str = text(as_text(key) if type(key) is not str else key, walk, name)
    return made


def attributes(held: Any, walk: Walk, name: str) -> Any:
    """The rule for attributes: those that cannot be encoded are left out, as by stock."""
    made = {}
    for key, value in (held or {}).items():
        cut = in_any_value(value, walk, name) if walk.cuts_attributes else value
        try:
            _internal._encode_key_value(key, cut)
        except Exception as error:
            walk.note(name, counts.LEFT_OUT, error)
        else:
            made[key] = cut
    return made


text: Final = scalar(AnyValue, "string_value", as_text)
time: Final = optional(scalar(Span, "start_time_unix_nano", as_integer), None)
dropped: Final = optional(scalar(Span, "dropped_attributes_count"), 0)
any_attributes: Final = optional(attributes, {})

RESOURCE: Final = Fields("resource", attributes=any_attributes, schema_url=text)
SCOPE: Final = Fields("scope", name=text, version=text, attributes=any_attributes, schema_url=text)
