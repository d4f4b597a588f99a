"""Runs one program and keeps everything that could be seen of it."""

from __future__ import annotations

import logging
import random
import re
from contextlib import ExitStack, suppress
from itertools import chain
from unittest.mock import patch

from opentelemetry import context as context_api
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource

import otel_fastpath
from metricpairs.seeing import seen
from metricpairs.setups import FILTERS, READERS, VIEWS
from metricpairs.values import AMOUNTS, CHANGES, CONTEXTS, attributes

INTERNAL = "opentelemetry.sdk.metrics._internal"
CLOCKS = [
    f"{INTERNAL}.{module}.time_ns"
    for module in ("instrument", "_view_instrument_match", "measurement_consumer", "metric_reader_storage")
]
VERBS = {"counter": "add", "up_down_counter": "add", "histogram": "record", "gauge": "set", "own_histogram": "record"}


class _Said(logging.Handler):
    def __init__(self, said):
        super().__init__()
        self._said = said

    def emit(self, record):
        """Keep what was said."""
        text = re.sub(r" at 0x[0-9a-f]+", "", record.getMessage())
        self._said.append(("said", record.name, record.levelname, text))


class World:
    """A provider, its instruments, and what was seen.

    Attributes:
        collected: What the readers gave.
        seen: Collections, log records, results and exceptions, in the order in which they came.
    """

    def __init__(self, setup):
        self.seen = []
        self.collected = []
        self.now = 1_000
        self._attributes = attributes()
        self._readers = [READERS[name]() for name in setup.readers]
        self._observed = [Observation(1, {"a": "x"}), Observation(2.5, {"b": "y"})]
        self._bound = {}
        self.provider = MeterProvider(
            metric_readers=list(self._readers),
            resource=Resource({"service.name": "pairs"}),
            exemplar_filter=FILTERS[setup.sampling](),
            shutdown_on_exit=False,
            views=[VIEWS[name]() for name in setup.views],
        )
        meter = self.meter = self.provider.get_meter("pairs")
        self._instruments = {
            "counter": meter.create_counter("counter", unit="1"),
            "up_down_counter": meter.create_up_down_counter("up_down_counter"),
            "histogram": meter.create_histogram("histogram", unit="s", description="how long"),
            "gauge": meter.create_gauge("gauge"),
        }
        with suppress(TypeError):
            # Since 1.35.
            self._instruments["own_histogram"] = meter.create_histogram(
                "own_histogram", explicit_bucket_boundaries_advisory=[0.5, 1, 5.0]
            )
        meter.create_observable_counter("observed", [lambda _options: self._observed])
        meter.create_observable_gauge("watched", [lambda _options: self._observed[:1]])

    def record(self, name, amount, which, context, current, bound):
        """One measurement, by the instrument itself or by a bound one, in a given or the current context."""
        given = CONTEXTS[context]
        token = context_api.attach(given) if current and given is not None else None
        try:
            if bound:
                if (name, which) not in self._bound:
                    made = otel_fastpath.bind(self._instruments[name], self._attributes[which])
                    self._bound[name, which] = made
                call = getattr(self._bound[name, which], VERBS[name])
                call(AMOUNTS[amount], None if current else given)
            else:
                call = getattr(self._instruments[name], VERBS[name])
                call(AMOUNTS[amount], self._attributes[which], None if current else given)
        finally:
            if token is not None:
                context_api.detach(token)

    def change(self, which, how):
        """Change attributes that were used, or will be."""
        held = self._attributes[which]
        if type(held) is dict:
            key, value = CHANGES[how]
            held[key] = value

    def collect(self, which):
        """Read one reader."""
        if self._readers:
            reader = self._readers[which % len(self._readers)]
            data = reader.get_metrics_data()
            self.seen.append(("collected", seen(data)))
            if data is not None:
                self.collected.append(data)

    def switch(self, on):
        """Enable or disable the meter."""
        from opentelemetry.sdk.metrics import _internal

        if hasattr(_internal, "_MeterConfig"):
            self.meter._set_meter_config(_internal._MeterConfig(is_enabled=on))

    def read_by(self, name):
        """One more reader."""
        if hasattr(self.provider, "add_metric_reader") and len(self._readers) < 4:
            self._readers.append(READERS[name]())
            self.provider.add_metric_reader(self._readers[-1])

    def unread(self):
        """One reader fewer."""
        if hasattr(self.provider, "remove_metric_reader") and len(self._readers) > 1:
            self.provider.remove_metric_reader(self._readers.pop())

    def observe(self, amount):
        """What the callbacks give next."""
        self._observed = [Observation(AMOUNTS[amount], {"a": "x"}), Observation(2, {"b": "y", "a": 1})]

    def last_steps(self):
        """Each reader that is left collects. In old SDKs an amount that is no number makes it raise."""
        yield from (("collect", which) for which in range(len(self._readers)))


def run(setup, program):
    """Everything that is seen of the program, and what its readers gave."""
    said = []
    handler = _Said(said)
    logger = logging.getLogger("opentelemetry")
    before = random.getstate()
    random.seed(setup.seed)
    with ExitStack() as undo:
        undo.callback(random.setstate, before)
        logger.addHandler(handler)
        undo.callback(logger.removeHandler, handler)
        holder = []
        for clock in CLOCKS:
            undo.enter_context(patch(clock, lambda: holder[0].now if holder else 1))
        world = World(setup)
        holder.append(world)
        said.clear()
        for name, *arguments in chain(program, world.last_steps()):
            world.now += 1
            try:
                getattr(world, name)(*arguments)
            except Exception as error:
                world.seen.append(("raised", type(error), str(error)))
            world.seen += said
            said.clear()
    return world.seen, world.collected
