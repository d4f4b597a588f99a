"""Random tasks leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001, D102, D103  # methods and tasks are named after the steps of a program

from __future__ import annotations

import contextvars
import datetime as dt
import gc
import logging
import re
from contextlib import contextmanager

import pytest
from celery import chain, chord, current_app, group, signals
from celery.exceptions import Ignore, Reject
from hypothesis import HealthCheck, given, settings
from kombu.transport.memory import Channel
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.celery.utils import CTX_KEY
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import SpanLimits
from own_tracers import OwnTracers

from .conftest import Tasks, Telemetry, counted_time, stock_hooks
from .drawn_tasks import FIELDS, PROGRAMS, PROPAGATORS, SETTINGS, Broken, Headers, Odd, Queue


def succeed(*_args):
    return 3


def fail(task):
    raise ValueError(f"no such item: {task.request.id}")


def raise_odd():
    raise type("OddError", (Exception,), {"__module__": "shop"})("\ud800", Odd())


def raise_expected():
    raise KeyError("expected")


def ignore():
    raise Ignore("ignored")


def reject():
    raise Reject("rejected", requeue=False)


def again(task):
    task.retry(exc=ValueError("once more"), countdown=0)


def late(task):
    try:
        raise LookupError("late")  # noqa: TRY301  # that is why it is sent again
    except LookupError as error:
        raise task.retry(exc=error, args=(), countdown=1) from error


def send():
    current_app.tasks["add"].apply_async((1,), task_id="inner")


def look():
    trace.get_current_span().set_attribute("own", "value")
    trace.get_current_span().set_attribute("celery.hostname", "own")


class Shop:
    """The application; it is the same for all programs."""

    def __init__(self):
        self.tasks = Tasks()
        app = self.app = self.tasks.app
        self.by_name = {}

        def task(name, function, **given):
            self.by_name[name] = app.task(name=name, shared=False, **given)(function)

        task("add", succeed)
        task("fail", fail, bind=True)
        task("odd_error", raise_odd)
        task("expected", raise_expected, throws=(KeyError,))
        task("ignore", ignore)
        task("reject", reject)
        task("again", again, bind=True, max_retries=1, default_retry_delay=0)
        task("late", late, bind=True, max_retries=2)
        task("sends", send)
        task("own", succeed, base=type("OwnTask", (app.Task,), {"__call__": lambda self: self.run()}))
        task("\u00e4 task", succeed)
        task("looks", look)
        app.finalize()


class Run:
    """One run of a program."""

    def __init__(self, shop, telemetry):
        self.shop = shop
        self.telemetry = telemetry
        self.messages = []
        self.happened = []
        self.tracer = telemetry.tracers.get_tracer("application")

    def sent(self, sender=None, headers=None, **_more):
        if isinstance(headers, dict):
            self.messages.append((sender, dict(headers)))

    def do(self, steps):
        for what, *rest in steps:
            try:
                getattr(self, what)(*rest)
            except Exception as error:
                self.happened.append((what, type(error).__name__, str(error)[:60]))
            # Where a hook of stock's raises, its frame keeps an open span: until the collector comes, which is now.
            gc.collect()
            now = context.get_current()
            self.happened.append((what, sorted(now), trace.get_current_span(now).is_recording()))

    def span(self, steps):
        with self.tracer.start_as_current_span("around"):
            self.do(steps)

    def bag(self, steps):
        token = context.attach(baggage.set_baggage("user", "ann"))
        self.do(steps)
        context.detach(token)

    def suppressed(self, steps):
        with suppress_instrumentation():
            self.do(steps)

    def send(self, name, task_id, options):
        self.happened.append(repr(self.shop.by_name[name].apply_async((), task_id=task_id, **self.sending(options))))

    def send_by_name(self, name, task_id, options):
        self.shop.app.send_task(name, task_id=task_id, **self.sending(options))

    def sending(self, options):
        options = {key: dict(value) if key == "headers" else value for key, value in options.items()}
        if options.get("producer"):
            options["producer"] = self.shop.tasks.producer
            options["queue"], options["routing_key"] = None, "refused"
            options["exchange"] = "events"
        return options

    def receive(self, fields):
        known = [each for each in self.messages if each[0] in self.shop.by_name]
        if known:
            name, headers = known[-1]
            self.run(name, headers.get("id") or "none", fields, headers)

    def run(self, name, task_id, fields, headers=()):
        usual = {"hostname": "worker", "delivery_info": {"exchange": "", "routing_key": "celery"}}
        chosen = {key: self.value(FIELDS[key][which % len(FIELDS[key])]) for key, which in fields.items()}
        request = {
            **usual,
            **dict(headers),
            **chosen,
            "id": task_id,
            "callbacks": None,
            "errbacks": None,
            "chain": None,
        }
        ended = self.shop.tasks.run(self.shop.by_name[name], request)
        self.happened.append((ended.info and ended.info.state, str(ended.retval)[:40]))

    def value(self, value):
        if isinstance(value, dict):
            return {key: self.value(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.value, value))
        made = {"odd": Odd(), "broken": Broken(), "date": dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)}
        return made.get(value, value) if isinstance(value, str) else value

    def eager(self, name, task_id, options):
        ended = self.shop.by_name[name].apply((), task_id=task_id, **options)
        self.happened.append((ended.state, str(ended.result)[:40]))

    def _signal(self, which, fields):
        fields = dict(fields)
        if fields.get("headers") == "own":
            fields["headers"] = Headers(id="one")
        elif isinstance(fields.get("headers"), dict):
            fields["headers"] = dict(fields["headers"])
        if isinstance(fields.get("declare"), list):
            fields["declare"] = [Queue(kind) for kind in fields["declare"]]
        if "task" in fields:
            fields["task"] = self.shop.by_name.get(fields["task"])
        fields = {
            key: self.value(each) if key not in ("headers", "declare", "task") else each for key, each in fields.items()
        }
        which.send(**{"sender": None, **fields})
        if isinstance(fields.get("headers"), dict):
            self.messages.append((None, dict(fields["headers"])))

    def before_task_publish(self, fields):
        self._signal(signals.before_task_publish, fields)

    def after_task_publish(self, fields):
        self._signal(signals.after_task_publish, fields)

    def task_prerun(self, fields):
        self._signal(signals.task_prerun, fields)

    def task_postrun(self, fields):
        self._signal(signals.task_postrun, fields)

    def canvas(self, kind):
        add = self.shop.by_name["add"]
        if kind == "group":
            group(add.s(1).set(task_id="g1"), add.s(2).set(task_id="g2")).apply_async()
        elif kind == "chain":
            chain(add.s(1).set(task_id="c1"), add.s(2).set(task_id="c2")).apply_async()
        elif kind == "chord":
            chord([add.s(1).set(task_id="h1")], add.s().set(task_id="body")).apply_async()
        elif kind == "link":
            add.apply_async((1,), task_id="l1", link=add.s(2).set(task_id="l2"), link_error=add.s(3))
        else:
            add.map([1, 2]).apply_async(task_id="m1")

    def override(self, name):
        instrumentor = CeleryInstrumentor()
        original = getattr(type(instrumentor), name)

        def own(*args):
            self.happened.append((name, args[0]))
            return original(instrumentor, *args)

        vars(instrumentor)[name] = own


@contextmanager
def logged(into, *, is_debug):
    """What Celery and stock log meanwhile."""

    class Handler(logging.Handler):
        def emit(self, record):
            text = re.sub(" at 0x[0-9a-f]+|[0-9.]+s ago", "", record.getMessage().partition("\n")[0])
            into.append((record.name, record.levelname, re.sub("[0-9a-f]{8}-[0-9a-f-]{27}", "id", text)[:200]))

    handler, loggers = Handler(), [logging.getLogger(name) for name in ("opentelemetry", "celery")]
    levels = [each.level for each in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    loggers[0].setLevel(logging.DEBUG if is_debug else logging.NOTSET)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.propagate = True
            logger.setLevel(level)


def named(headers, numbers):
    """The headers, with the places of spans instead of their ids."""

    def place(found):
        return f"{numbers.get(int(found[2], 16), 'none')}-{found[3]}"

    return [
        (key, re.sub("00-([0-9a-f]{32})-([0-9a-f]{16})-(..)", place, value) if key in ("traceparent", "own") else key)
        for key, value in headers.items()
        if isinstance(value, str)
    ]


def happens(shop, chosen, program):
    """What happens in the program."""
    given = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    if chosen["most"] is not None:
        given["span_limits"] = SpanLimits(max_attributes=chosen["most"])
    telemetry, logs = Telemetry(chosen["is_batched"], **given), []
    tracers = {"sdk": telemetry.tracers, "own": OwnTracers(telemetry.tracers), "none": trace.NoOpTracerProvider()}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())
    run = Run(shop, telemetry)
    keywords = {"use_span_links": chosen["use_span_links"], "tracer_provider": tracers[chosen["tracers"]]}
    try:
        with telemetry.instrumented(**keywords) as instrumentor, counted_time():
            signals.before_task_publish.connect(run.sent, weak=False)

            def do():
                with logged(logs, is_debug=chosen["is_debug"]):
                    run.do(program)
                    run.happened.append(("times", dict(instrumentor.task_id_to_start_time)))
                    for name, task in shop.by_name.items():
                        run.happened.append((name, sorted(map(str, getattr(task, CTX_KEY, ())))))
                        vars(task).pop(CTX_KEY, None)
                # What is left open ends now, and not in the next program.
                gc.collect()

            try:
                contextvars.Context().run(do)
            finally:
                signals.before_task_publish.disconnect(run.sent)
                for name in ("update_task_duration_time", "_record_histograms"):
                    vars(instrumentor).pop(name, None)
    finally:
        propagate.set_global_textmap(before)
        Channel.queues.clear()
    spans, numbers, points = telemetry.seen()
    headers = [(sender, named(found, numbers)) for sender, found in run.messages]
    return run.happened, logs, headers, spans, points


@pytest.fixture(scope="module")
def shop():
    """The application."""
    made = Shop()
    # Each collection looks at what the programs make only.
    gc.collect()
    gc.freeze()
    yield made
    gc.unfreeze()
    made.tasks.close()


@pytest.mark.proves("celery.hooks")
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_tasks(ours, shop, chosen, program):
    """Spans, metrics, headers, results, exceptions, log records and contexts are the same."""
    left = happens(shop, chosen, program)
    with stock_hooks():
        right = happens(shop, chosen, program)
    for one, other in zip(left, right, strict=True):
        assert one == other
