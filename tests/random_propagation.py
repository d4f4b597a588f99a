"""Random operations of propagators: what each does, by value, to be compared between stock and this package."""

# ruff: noqa: ARG002, D102, D105, PLR0911  # the methods are those of the interfaces; each choice returns

from __future__ import annotations

import logging
import random
from collections import UserDict

from header_values import SPAN, TRACE, Text, headers, word
from multidict import CIMultiDict
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.instrumentation.asgi import asgi_getter
from opentelemetry.instrumentation.wsgi import wsgi_getter
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.aws.aws_xray_propagator import AwsXRayLambdaPropagator
from opentelemetry.propagators.b3 import B3MultiFormat, B3SingleFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.jaeger import JaegerPropagator
from opentelemetry.propagators.textmap import DefaultGetter, Setter, TextMapPropagator, default_getter, default_setter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PROVIDER = TracerProvider(shutdown_on_exit=False)


class Number(int):
    """A number that says something else."""

    def __str__(self):
        return "a number"


class Broken:
    """Has no text."""

    def __repr__(self):
        return "Broken()"

    def __str__(self):
        raise KeyError("no text")


class Baggage(dict):
    """Is copied in its own way."""

    def copy(self):
        return Baggage(self)


class Asked(DefaultGetter):
    """Records what it is asked for, and answers in several ways."""

    def __init__(self, way, calls):
        self.way, self.calls = way, calls

    def get(self, carrier, key):
        self.calls.append(("get", key))
        found = carrier.get(key) if hasattr(carrier, "get") else [v for k, v in carrier if k.lower() == key.lower()]
        if self.way == "raises" and len(self.calls) == 2:
            raise LookupError(key)
        if found is None or found == []:
            return [] if self.way == "empty" else None
        if self.way == "text":
            return found
        if self.way == "number":
            return 7
        if self.way == "iterator":
            return iter(found if isinstance(found, list) else [found])
        if self.way == "tuple":
            return tuple(found) if isinstance(found, list) else (found,)
        if self.way == "several":
            return [found, "second"]
        return found if isinstance(found, list) else [found]

    def keys(self, carrier):
        self.calls.append(("keys",))
        return list(carrier.keys()) if hasattr(carrier, "keys") else [k for k, _ in carrier]


class Told(Setter):
    """Records what it is told; may raise."""

    def __init__(self, way, calls):
        self.way, self.calls = way, calls

    def set(self, carrier, key, value):
        self.calls.append((key, value))
        if self.way == "raises" and len(self.calls) == 2:
            raise OSError(key)
        if isinstance(carrier, list):
            carrier.append((key, value))
        else:
            carrier[key] = value


class Theirs(TextMapPropagator):
    """A propagator of the user's own."""

    def __init__(self, way, calls):
        self.way, self.calls = way, calls

    def extract(self, carrier, context=None, getter=default_getter):
        self.calls.append(("extract", type(context), type(getter).__name__))
        if self.way == "raises":
            raise ZeroDivisionError("theirs")
        if self.way == "none":
            return None
        return Context({**(context or {}), "theirs": len(self.calls)})

    def inject(self, carrier, context=None, setter=default_setter):
        self.calls.append(("inject", type(context), type(setter).__name__))
        if self.way == "raises":
            raise ZeroDivisionError("theirs")
        setter.set(carrier, "x-theirs", "1")

    @property
    def fields(self):
        return {"x-theirs"}


class Renamed(TraceContextTextMapPropagator):
    """Has other headers."""

    _TRACEPARENT_HEADER_NAME = "x-traceparent"


class Limited(W3CBaggagePropagator):
    """Has other limits."""

    _MAX_PAIRS = 2
    _BAGGAGE_HEADER_NAME = "x-baggage"


class Prefixed(JaegerPropagator):
    """Has another prefix."""

    BAGGAGE_PREFIX = "b-"


class Upper(B3MultiFormat):
    """Has other headers."""

    TRACE_ID_KEY = "X-B3-TraceId"


class Own(NonRecordingSpan):
    """A span of the user's own that records."""

    def is_recording(self):
        return True


def carrier_to_read(rng, calls):
    """A carrier and its getter."""
    found = headers(rng)
    kind = rng.random()
    if kind < 0.45:
        return found, default_getter
    texts = {name: value for name, value in found.items() if isinstance(value, str)}
    if kind < 0.5:
        return rng.choice((UserDict, CIMultiDict))(texts), default_getter
    if kind < 0.56:
        return {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in texts.items()}, wsgi_getter
    if kind < 0.62:
        encoded = [(name.lower().encode(), value.encode("utf-8")) for name, value in texts.items()]
        return {"type": "http", "headers": encoded}, asgi_getter
    if kind < 0.64:
        return rng.choice((None, 7, "text")), default_getter
    way = rng.choice(("usual", "usual", "raises", "empty", "text", "number", "iterator", "tuple", "several"))
    return rng.choice((found, list(texts.items()), CIMultiDict(texts.items()))), Asked(way, calls)


def span(rng):
    """What a context has as its span."""
    kind = rng.random()
    if kind < 0.1:
        return rng.choice((trace.INVALID_SPAN, None, "no span"))
    if kind < 0.25:
        parent = trace.set_span_in_context(NonRecordingSpan(SpanContext(5, 6, is_remote=True)), Context())
        made = PROVIDER.get_tracer("t").start_span("s", rng.choice((None, parent)))
        # Stock makes random ids.
        made._context = SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(1))
        return made
    usual = int(TRACE, 16), int(SPAN, 16)
    ids = rng.choice((usual, usual, (1, 2), (2**128 - 1, 2**64 - 1), (0, 1), (1, 0), (2**128, 1), (-1, 1)))
    flags = rng.choice((TraceFlags(0), TraceFlags(1), TraceFlags(3), TraceFlags(255), TraceFlags(256), 1, 0))
    state = rng.choice((None, None, None, TraceState(), TraceState([("a", "1")])))
    own = SpanContext(*ids, is_remote=False, trace_flags=flags, trace_state=state)
    return rng.choice((NonRecordingSpan, NonRecordingSpan, Own))(own)


def value(rng):
    """A value of baggage."""
    if rng.random() < 0.75:
        return word(rng, 8)
    numbers = 1, -5, 1.5, 1e22, True, 10**5000, 2**63, 2**63 - 1, Number(3)
    return rng.choice((*numbers, None, b"bytes", Text("x"), Broken(), ("a",), "\ud800", "é" * 3))


def entries(rng):
    """What a context has as baggage."""
    kind = rng.random()
    if kind < 0.06:
        return rng.choice((None, "none", 7, [], {}, Baggage(a="b")))
    if kind < 0.1:
        return {f"k{number}": "v" for number in range(rng.choice((180, 181, 300)))}
    if kind < 0.16:
        size = rng.choice((1363, 4092, 4093, 4094, 4095, 4096, 8200, 20000))
        return {"a": "b", "k": rng.choice(("v", " ", "é", "/")) * size, "z": "z" * rng.choice((1, 4000))}
    if kind < 0.2:
        return {"a": "v" * 4094, "b": "v" * rng.choice((4092, 4093, 4094)), "c": ""}
    keys = [rng.choice(("user", "", "a b", "=", "é", Text("k"), 3, word(rng))) for _ in range(rng.randrange(4))]
    return {key: value(rng) for key in keys}


def where(rng):
    """A context."""
    kind = rng.random()
    if kind < 0.1:
        return rng.choice((None, Context(), {"no": "context"}))
    made = {"before": 1}
    if rng.random() < 0.8:
        made[_SPAN_KEY] = span(rng)
    if rng.random() < 0.5:
        made[baggage._BAGGAGE_KEY] = entries(rng)
    return Context(made)


def propagator(rng, calls, depth=0):
    """Any propagator."""
    kind = rng.random()
    if kind < 0.2 and not depth:
        return CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
    if kind < 0.4 and depth < 2:
        parts = [propagator(rng, calls, depth + 1) for _ in range(rng.randrange(5))]
        return CompositePropagator(rng.choice((parts, tuple(parts))))
    if kind < 0.45:
        return Theirs(rng.choice(("usual", "raises", "none")), calls)
    if kind < 0.5:
        return rng.choice((Renamed, Limited, Prefixed, Upper))()
    if kind < 0.53:
        made = W3CBaggagePropagator()
        setattr(made, *rng.choice((("_MAX_PAIRS", 1), ("_MAX_PAIR_LENGTH", 5), ("_BAGGAGE_HEADER_NAME", "x"))))
        return made
    if kind < 0.55:
        made = rng.choice((TraceContextTextMapPropagator, W3CBaggagePropagator, B3SingleFormat))()
        made.extract = made.inject = Theirs("usual", calls).inject
        return made
    usual = (TraceContextTextMapPropagator, W3CBaggagePropagator, B3MultiFormat, B3SingleFormat, JaegerPropagator)
    return rng.choice((*usual, AwsXRayPropagator, AwsXRayLambdaPropagator))()


def seen(result, given):
    """A context by value."""
    if not isinstance(result, dict):
        return result
    made = [(type(result).__name__, result is given)]
    for key, item in result.items():
        shown = repr(item)
        if key == _SPAN_KEY and isinstance(item, trace.Span):
            own = item.get_span_context()
            shown = type(item).__name__, tuple(map(repr, own)), type(own.trace_flags).__name__
        elif isinstance(item, dict):
            shown = type(item).__name__, [(repr(k), type(k), type(v), repr(v)) for k, v in item.items()]
        made.append((key, shown))
    return made


class Records(logging.Handler):
    """Keeps log records."""

    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        said = str(record.msg), str(record.args)
        self.found.append((record.name, record.levelname, *said, record.funcName, record.lineno))


def outcome(seed):
    """What one random operation does: its result, the calls of other objects, the log records."""
    calls, records = [], Records()
    logger = logging.getLogger("opentelemetry")
    before = logger.level
    logger.addHandler(records)
    logger.setLevel(logging.DEBUG)
    try:
        return _result(random.Random(seed), calls), calls, records.found  # noqa: S311  # no secret
    finally:
        logger.removeHandler(records)
        logger.setLevel(before)


def _result(rng, calls):
    used, current, given = propagator(rng, calls), where(rng), where(rng)
    token = context.attach(current if isinstance(current, Context) else Context())
    global_one = propagate.get_global_textmap()
    how = used
    if rng.random() < 0.2:
        propagate.set_global_textmap(used)
        how = propagate
    try:
        if rng.random() < 0.5:
            carrier, getter = carrier_to_read(rng, calls)
            given = rng.choice((None, None, given))
            return seen(how.extract(carrier, given, getter), given)
        carrier = rng.choice(({}, {"traceparent": "old"}, {}, UserDict(), CIMultiDict(), [], None))
        setter = rng.choice((default_setter, default_setter, Told("usual", calls), Told("raises", calls)))
        result = how.inject(carrier, rng.choice((None, given, given)), setter)
        return result, list(carrier.items()) if hasattr(carrier, "items") else carrier
    except Exception as error:
        return type(error).__name__, str(error)
    finally:
        propagate.set_global_textmap(global_one)
        context.detach(token)
