"""What a service does with OpenTelemetry's API: the same in each run, and no two spans have the same name.

The names tell the spans of two runs apart from each other without their ids. Nothing here knows the vendor.
"""
# ruff: noqa: FBT003, PLW2901, SIM117, TRY301  # a program of nested spans, and of exceptions that are raised to be seen

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from opentelemetry import baggage, context, metrics, propagate, trace
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.metrics import Observation
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "vendors.program"
# A caller's header, and the span that it names.
TRACE_ID, SPAN_ID = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
HEADERS = {
    "traceparent": f"00-{TRACE_ID:032x}-{SPAN_ID:016x}-01",
    "tracestate": "rojo=1,congo=2",
    "baggage": "user=42,tier=gold",
}
# The fifth of January 2020, noon: a time that no run has of itself.
NOON = 1578225600 * 10**9

logger = logging.getLogger(NAME)


class CheckoutError(Exception):
    """An error of the service's own."""


def run(left_out: Sequence[str] = ()) -> None:
    """Everything but the parts of these names, in one thread but for what is about threads."""
    schema = "https://opentelemetry.io/schemas/1.30.0"
    tracer = trace.get_tracer(NAME, "1.0", schema_url=schema, attributes={"scope": "attribute"})
    for part in (attributes, nesting, events, exceptions, links, remote, with_baggage, decorated, by_hand, threads):
        if part.__name__ not in left_out:
            part(tracer)
    asyncio.run(tasks(tracer))
    measurements(tracer)
    logs(tracer)


def attributes(tracer):
    """Values of each type, those given at the start and those set later, and those that are not valid."""
    given = {"text": "a", "whole": 1, "real": 0.5, "yes": True, "texts": ["a", "b"], "empty": ""}
    with tracer.start_as_current_span("attributes", kind=SpanKind.SERVER, attributes=given) as span:
        span.set_attribute("later", "value")
        span.set_attributes({"whole": 2, "more": (1, 2, 3), "unicode": "Grüße ☃"})
        span.set_attribute("long", "x" * 3000)
        span.update_name("attributes, renamed")
        span.set_status(Status(StatusCode.OK))


def nesting(tracer):
    """Three levels, with one span after another on the last one."""
    with tracer.start_as_current_span("order", kind=SpanKind.SERVER):
        with tracer.start_as_current_span("order: pay", kind=SpanKind.INTERNAL, attributes={"amount": 12.5}):
            for index in range(3):
                with tracer.start_as_current_span(f"order: call {index}", kind=SpanKind.CLIENT) as span:
                    span.set_attribute("index", index)
        with tracer.start_as_current_span("order: ship", kind=SpanKind.PRODUCER):
            trace.get_current_span().set_attribute("found", "by get_current_span")


def events(tracer):
    """Events with and without attributes and times."""
    with tracer.start_as_current_span("events") as span:
        span.add_event("plain")
        span.add_event("with attributes", {"size": 3, "names": ["a", "b"]})
        span.add_event("at noon", {"when": "noon"}, timestamp=NOON)


def _fail(depth):
    if depth:
        _fail(depth - 1)
    try:
        raise KeyError("sku")
    except KeyError as error:
        raise CheckoutError("no such item") from error


def exceptions(tracer):
    """Those that are recorded, those that escape, and those that must not be recorded."""
    with tracer.start_as_current_span("exceptions: handled") as span:
        try:
            _fail(2)
        except CheckoutError as error:
            span.record_exception(error, {"handled": True})
            span.set_status(StatusCode.ERROR, "handled")
    with suppress(CheckoutError), tracer.start_as_current_span("exceptions: escaping"):
        with tracer.start_as_current_span("exceptions: escaping, inner"):
            _fail(1)
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with suppress(CheckoutError), tracer.start_as_current_span("exceptions: not recorded", **quiet):
        _fail(0)
    with suppress(ZeroDivisionError), tracer.start_as_current_span("exceptions: use_span") as span:
        with trace.use_span(tracer.start_span("exceptions: used"), end_on_exit=True):
            raise ZeroDivisionError("division")


def links(tracer):
    """To a span of this process and to one of another, given at the start and added."""
    with tracer.start_as_current_span("links: target") as target:
        pass
    remote_span = SpanContext(TRACE_ID, SPAN_ID, is_remote=True, trace_flags=TraceFlags(1))
    given = [Link(target.get_span_context(), {"kind": "local"})]
    with tracer.start_as_current_span("links: source", links=given, kind=SpanKind.CONSUMER) as span:
        span.add_link(remote_span, {"kind": "remote"})


def remote(tracer):
    """A request of another service, and one that goes out again."""
    caller = propagate.extract(HEADERS)
    with tracer.start_as_current_span("remote: server", context=caller, kind=SpanKind.SERVER):
        with tracer.start_as_current_span("remote: client", kind=SpanKind.CLIENT) as span:
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
            span.set_attributes({f"sent.{name}": carrier[name] for name in sorted(carrier)})
    with trace.use_span(NonRecordingSpan(SpanContext(TRACE_ID, SPAN_ID, is_remote=True))):
        with tracer.start_as_current_span("remote: not sampled by the caller"):
            pass


def with_baggage(tracer):
    """Baggage that is set, read, and part of the context of two spans."""
    token = context.attach(baggage.set_baggage("cart", "17"))
    try:
        with tracer.start_as_current_span("baggage") as span:
            span.set_attribute("cart", str(baggage.get_baggage("cart")))
            inner = context.attach(baggage.set_baggage("voucher", "yes"))
            with tracer.start_as_current_span("baggage: inner") as span:
                span.set_attribute("all", sorted(baggage.get_all()))
            context.detach(inner)
    finally:
        context.detach(token)


def decorated(tracer):
    """Functions that are decorated with a span."""

    @tracer.start_as_current_span("decorated: function")
    def function():
        trace.get_current_span().set_attribute("inside", True)

    @tracer.start_as_current_span("decorated: coroutine")
    async def coroutine():
        await asyncio.sleep(0)
        trace.get_current_span().set_attribute("inside", True)

    function()
    asyncio.run(coroutine())


def by_hand(tracer):
    """Spans that are started and ended by hand, at times of the service's own."""
    parent = tracer.start_span("by hand: parent", start_time=NOON)
    child = tracer.start_span("by hand: child", context=trace.set_span_in_context(parent), start_time=NOON + 10)
    with trace.use_span(child):
        tracer.start_span("by hand: inner").end()
    child.end(NOON + 20)
    child.set_attribute("after", "the end")
    parent.set_status(StatusCode.ERROR, "by hand")
    parent.end(end_time=NOON + 30)


def threads(tracer):
    """Threads with a context that was handed on, and threads without one."""
    # Each task of the pool has a thread, and the same one in each run.
    together = {"pool": threading.Barrier(3), "alone": threading.Barrier(2)}
    turns = {way: [threading.Event() for _ in range(4)] for way in ("pool", "alone")}

    def work(index, way):
        together[way].wait(10)
        with tracer.start_as_current_span(f"threads: {way} {index}") as span:
            span.add_event(f"in thread {index}")
            with tracer.start_as_current_span(f"threads: {way} {index}, inner"):
                # The spans overlap, but the lines are logged in one order, which some vendors send.
                if index:
                    turns[way][index].wait(10)
                logger.warning("in a thread, %s %d", way, index)
            turns[way][index + 1].set()

    with tracer.start_as_current_span("threads"):
        with ThreadPoolExecutor(3) as pool:
            contexts = [contextvars.copy_context() for _ in range(3)]
            for future in [pool.submit(each.run, work, index, "pool") for index, each in enumerate(contexts)]:
                future.result()
        alone = [threading.Thread(target=work, args=(index, "alone"), name=f"alone {index}") for index in range(2)]
        for thread in alone:
            thread.start()
        for thread in alone:
            thread.join()


async def tasks(tracer):
    """Tasks that run beside each other, one of which fails and one of which is cancelled."""

    async def work(index):
        with tracer.start_as_current_span(f"tasks: {index}") as span:
            await asyncio.sleep(0)
            with tracer.start_as_current_span(f"tasks: {index}, inner"):
                await asyncio.sleep(0.001 * index)
            span.set_attribute("same", trace.get_current_span() is span)
            if index == 2:
                raise CheckoutError("in a task")

    async def forever():
        with tracer.start_as_current_span("tasks: cancelled"):
            await asyncio.Event().wait()

    with tracer.start_as_current_span("tasks"):
        endless = asyncio.create_task(forever())
        await asyncio.gather(*(work(index) for index in range(4)), return_exceptions=True)
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)


def measurements(tracer):
    """Each kind of instrument, inside and outside a span."""
    meter = metrics.get_meter(NAME, "1.0")
    counter = meter.create_counter("program.orders", "1", "Orders")
    histogram = meter.create_histogram("program.amount", "EUR", "Amounts")
    stock = meter.create_up_down_counter("program.stock", "1", "Items in stock")
    gauge = meter.create_gauge("program.temperature", "Cel", "Temperature")
    meter.create_observable_gauge("program.load", [lambda _: [Observation(0.25, {"core": 1})]], "1", "Load")
    meter.create_observable_counter("program.ticks", [lambda _: [Observation(7)]], "1", "Ticks")
    for index in range(5):
        with tracer.start_as_current_span(f"measurements: {index}"):
            counter.add(1, {"tier": "gold" if index % 2 else "free"})
            histogram.record(10.0 * index, {"currency": "EUR"})
    counter.add(3)
    stock.add(10, {"sku": "a"})
    stock.add(-4, {"sku": "a"})
    gauge.set(21.5, {"room": "kitchen"})


def logs(tracer):
    """The standard library's logging, inside and outside a span, with an exception."""
    logger.warning("outside a span", extra={"order": 17})
    with tracer.start_as_current_span("logs"):
        logger.warning("inside a span: %s", "warning")
        try:
            _fail(1)
        except CheckoutError:
            logger.exception("inside a span: failed")
        record = LogRecord(
            body={"a": 1}, severity_number=SeverityNumber.ERROR, attributes={"order": 17}, event_name="own"
        )
        get_logger(NAME, "1.0").emit(record)
