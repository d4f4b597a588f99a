"""Providers with processors of every kind, and random records that are given to their loggers."""

from __future__ import annotations

import itertools
import random

from newer_releases import older
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

TAKES_EXCEPTIONS = not older("opentelemetry-sdk", "1.42")
LIMITS = {"plain": {}, "few": {"max_attributes": 3, "max_attribute_length": 4}, "none": {"max_attributes": 0}}
REMOTE = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1))
KINDS = ("batch", "own", "own, batch", "batch, own", "nothing", "others")
VALUES = (1, True, 0.5, "text", "longer text", None, b"bytes", ["a", "b"], {"nested": {"a": [1]}}, object, (1, "a"))
KEYS = ("a", "b", "c", "key", "", 5)
# What has a thread.
OPEN = []


class Own(_logs.LogRecordProcessor):
    """Keeps what it sees of each record, and changes it if it is to."""

    def __init__(self, changes=False):
        self.seen = []
        self._changes = changes

    def on_emit(self, log_record):
        """Look."""
        inner = log_record.log_record
        parts = (log_record.resource.to_json(), log_record.instrumentation_scope, log_record.dropped_attributes)
        self.seen.append((type(log_record), type(inner), sorted(vars(log_record)), parts, shown(inner)))
        if self._changes:
            inner.attributes["changed"] = len(self.seen)
            inner.severity_text = "changed"

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Others(_logs.LogRecordProcessor):
    """In the place of stock's own list of processors."""

    def __init__(self):
        self.own = Own()

    def on_emit(self, log_record):
        """Pass it on."""
        self.own.on_emit(log_record)

    def shutdown(self):
        """Nothing is held."""

    def force_flush(self, timeout_millis=30_000):  # noqa: ARG002  # the interface
        """Nothing waits."""
        return True


class Setup:
    """A provider with processors, and its logger."""

    def __init__(self, kind="batch", limits=(), **more):
        self.exporter, self.own = InMemoryLogRecordExporter(), Own()
        given = _logs.LogRecordLimits(**dict(limits)) if limits else None
        if given is not None and not older("opentelemetry-sdk", "1.44"):
            more["log_record_limits"] = given
        if kind == "others":
            more["multi_log_record_processor"] = Others()
            self.own = more["multi_log_record_processor"].own
        self.provider = _logs.LoggerProvider(shutdown_on_exit=False, **more)
        self.batch = BatchLogRecordProcessor(self.exporter, schedule_delay_millis=1e7)
        for name in () if kind in {"nothing", "others"} else kind.split(", "):
            self.provider.add_log_record_processor(self.batch if name == "batch" else self.own)
        self.logger = self.provider.get_logger("given")
        OPEN.append(self)

    def exported(self):
        """What the exporter got, as far as it does not change from run to run."""
        self.batch.force_flush()
        found = [
            (shown(each.log_record), each.resource.to_json(), each.instrumentation_scope, each.dropped_attributes)
            for each in self.exporter.get_finished_logs()
        ]
        self.exporter.clear()
        return found


def shown(record):
    """All fields of a record, the times by whether they are there, and attributes in their order."""
    fields = dict(vars(record))
    fields["observed_timestamp"] = type(fields["observed_timestamp"])
    fields["context"] = sorted(map(str, fields["context"]))
    attributes = fields["attributes"]
    if isinstance(attributes, BoundedAttributes):
        own = {name: value for name, value in vars(attributes).items() if name != "_lock"}
        own["_dict"] = list(own["_dict"].items())
        assert attributes._lock.acquire(blocking=False) is True
        attributes._lock.release()
        fields["attributes"] = own
    return sorted((name, repr(value)) for name, value in fields.items())


class Numbers(IdGenerator):
    """Counts, so that a program has the same ids each time."""

    def __init__(self):
        self._made = itertools.count(1)

    def generate_span_id(self):
        """The next."""
        return next(self._made)

    generate_trace_id = generate_span_id


def drawn(draw):
    """The arguments of a record."""
    attributes = {draw.choice(KEYS): draw.choice(VALUES) for _ in range(draw.randrange(6))}
    fields = {
        "timestamp": draw.choice((None, 0, 5)),
        "observed_timestamp": draw.choice((None, 0, 7)),
        "context": draw.choice((None, Context(), trace.set_span_in_context(NonRecordingSpan(REMOTE), Context(a=1)))),
        "severity_text": draw.choice((None, "WARN")),
        "severity_number": draw.choice((None, SeverityNumber.INFO)),
        "body": draw.choice((None, "text", 5, {"a": [1]}, object)),
        "attributes": draw.choice((None, {}, attributes, BoundedAttributes(2, attributes, immutable=False))),
        "event_name": draw.choice((None, "event")),
    }
    if draw.randrange(3) == 0:
        fields |= {name: draw.choice((None, 0, 9)) for name in ("trace_id", "span_id", "trace_flags")}
    if TAKES_EXCEPTIONS and draw.randrange(4) == 0:
        fields["exception"] = draw.choice((ValueError("failed"), KeyError()))
    return fields


def play(kind, limits, seed):
    """What is seen of random records with these processors and limits."""
    draw, setup, seen = random.Random(seed), Setup(kind, LIMITS[limits]), []  # noqa: S311  # it is to repeat
    tracer = TracerProvider(shutdown_on_exit=False, id_generator=Numbers()).get_tracer("given")
    for _ in range(12):
        fields = drawn(draw)
        is_inside, is_given, again = draw.randrange(2), draw.randrange(3), draw.randrange(4)
        span = tracer.start_span("around")
        with trace.use_span(span if is_inside else NonRecordingSpan(REMOTE)):
            try:
                if not is_given:
                    for name in ("trace_id", "span_id", "trace_flags"):
                        fields.pop(name, None)
                    setup.logger.emit(**fields)
                    continue
                record = LogRecord(**fields)
                for _ in range(1 + (again == 0)):
                    setup.logger.emit(record)
                if again == 1:
                    setup.logger.emit(_logs.ReadWriteLogRecord(record, setup.provider.resource))
                record.attributes["later"] = 1
                seen.append(shown(record))
            except (AttributeError, TypeError) as error:
                seen.append(repr(error))
    result = seen, setup.own.seen, setup.exported()
    close()
    return result


def close():
    """End the threads of all set-ups so far."""
    while OPEN:
        OPEN.pop().batch.shutdown()
