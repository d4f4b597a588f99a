"""Users who call in turn, and functions that put the name of whoever calls into what stock's functions return."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re
from contextlib import ExitStack, contextmanager
from unittest import mock

from opentelemetry import context
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import Span, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased

NAMES = ("ann", "bob", "eve")
_PORT = re.compile(r"\b\d{5}\b")
KEY = "enduser.id"


class Turn:
    """Whose turn it is.

    Attributes:
        user: The user.
    """

    user = ""

    def each(self, users, requests):
        """The requests, one for each user in turn."""
        for user, request in zip(users, requests, strict=True):
            self.user = user
            yield request

    def marking(self, function, *, is_open):
        """A function in the place of this one, whose result also names the user.

        Args:
            function: What it calls.
            is_open: Whether it looks like the function, as with `functools.wraps`.
        """

        def marked(*args, **kwargs):
            return self._mark(function(*args, **kwargs), args)

        async def marked_later(*args, **kwargs):
            return self._mark(await function(*args, **kwargs), args)

        if inspect.iscoroutinefunction(function):
            marked = marked_later
        return functools.wraps(function)(marked) if is_open else marked

    def _mark(self, result, args):
        if isinstance(result, dict):
            return {**result, KEY: self.user}
        if isinstance(result, str):
            return f"{result}-{self.user}"
        if isinstance(result, tuple) and list(map(type, result)) == [str, dict]:
            return f"{result[0]}-{self.user}", {**result[1], KEY: self.user}
        for given in args[:2]:
            if isinstance(given, dict):
                given[KEY] = self.user
            elif hasattr(given, "set_attribute"):
                given.set_attribute(KEY, self.user)
        return result

    def hook(self, span, *_args):
        """A hook that names the user."""
        if span is not None and span.is_recording():
            span.set_attribute(KEY, self.user)

    async def async_hook(self, span, *_args):
        """Likewise."""
        self.hook(span)

    def details(self, scope):
        """The name and the attributes of a span, both with the user."""
        return f"{scope.get('method')} of {self.user}", {KEY: self.user}


# What an application may put its own code around, and what is given attributes.
DOORS = {
    "sampler": ((ParentBased, "should_sample"),),
    "tracer": ((Tracer, "start_span"),),
    "span": ((Span, "set_attributes"), (Span, "add_event")),
    "instruments": ((Histogram, "record"), (Counter, "add"), (UpDownCounter, "add")),
}
# Who calls in turn: the first one, who also connects, adds nothing.
TURNS = ("", "ann", "bob")


@contextmanager
def added(turn, door):
    """The application's code around functions of the SDK: it adds whoever calls to the attributes that these get."""

    def adding(function):
        @functools.wraps(function)
        def added_to(*args, **kwargs):
            for each in (*args, *kwargs.values()):
                if type(each) is dict and turn.user:
                    each[f"{KEY}.{turn.user}"] = turn.user
            return function(*args, **kwargs)

        return added_to

    with ExitStack() as stack:
        for owner, name in DOORS[door]:
            stack.enter_context(mock.patch.object(owner, name, adding(getattr(owner, name))))
        yield


def mixed(shown):
    """The spans and points that have another one's name; the numbers of names, if those of two users differ."""
    _, spans, points = json.loads(shown)
    named = [[key for key, _ in each if key.startswith(f"{KEY}.")] for each in (item[-2] for item in (*spans, *points))]
    counts = [sum(f"{KEY}.{user}" in each for each in named) for user in TURNS[1:]]
    return [each for each in named if len(each) > 1] + ([counts] if counts[0] != counts[1] else [])


@contextmanager
def replaced(turn, places, *, is_open):
    """Functions of stock that name the user."""
    with ExitStack() as stack:
        for owner, name in places:
            found = getattr(owner, name)
            made = turn.marking(found.fget if isinstance(found, property) else found, is_open=is_open)
            kind = type(inspect.getattr_static(owner, name))
            if kind is property:
                made = property(made, found.fset)
            elif isinstance(owner, type) and kind in {staticmethod, classmethod}:
                made = staticmethod(made)
            stack.enter_context(mock.patch.object(owner, name, made))
        yield


def positions(folder):
    """Every function of stock in whose place the patches of a folder of `http` stand, by its place."""
    found = {}
    for patch in importlib.import_module(f"otel_fastpath.http.{folder}.patches").PATCHES:
        if patch.stock is None:
            continue
        importlib.import_module(patch.module)
        patch.stock.check()
        for stock in (patch.stock, *patch.stock.apart):
            for owner, name, function in stock.look()[0]:
                if inspect.isfunction(function) and name != "__init__" and not inspect.iscoroutinefunction(function):
                    found[f"{owner.__name__}.{name}"] = owner, name
    return found


def telemetry(host, given):
    """What a host emits with these hooks: its spans in order and the points of its metrics, without ids and times."""
    exporter, tracers = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    context.attach(context.Context())
    outcomes = host({**given, "tracer_provider": tracers, "meter_provider": meters})
    spans = [
        (span.name, span.kind.name, sorted(span.attributes.items()), span.status.status_code.name)
        for span in exporter.get_finished_spans()
    ]
    data = reader.get_metrics_data()
    points = [
        (metric.name, sorted(point.attributes.items()), getattr(point, "value", getattr(point, "count", 0)))
        for resource in ([] if data is None else data.resource_metrics)
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    ]
    # Each server of aiohttp.web has a port of its own.
    return _PORT.sub("12345", json.dumps([outcomes, spans, sorted(points, key=repr)], default=repr))
