"""The plans of queries: how long they are kept, and how many."""

from __future__ import annotations

import gc
import weakref

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath.db import query_plans
from otel_fastpath.db.options import DatabaseOptions
from otel_fastpath.db.server_attributes import POSTGRESQL, Server
from otel_fastpath.patching.cache import SharedCache
from otel_fastpath.wrapping.library import Setup

PROVIDER = TracerProvider(shutdown_on_exit=False)
# More than the servers and the texts that a set-up keeps.
MANY = 3000


@pytest.fixture
def active(instrumentor, core):
    """A set-up of a wrapper."""
    instrumentor.instrument(core=core, disabled="exceptions")
    return query_plans.Active(
        Setup({"tracer_provider": PROVIDER}, "no-metrics"), "test", DatabaseOptions(metrics=False)
    )


def server(name="shop", user="ann"):
    """The server of a connection."""
    return Server(POSTGRESQL, ("db.example", 5432), name, user)


def test_plans_outlive_their_connections(active):
    """An application may close its connection after each request: the next one's has the same plans."""
    first = active.plans_of(server()).plan("SELECT 1")
    gc.collect()

    assert active.plans_of(server()).plan("SELECT 1") is first


@pytest.mark.parametrize(
    "other", [server("stock"), server(user="bob"), server()._replace(address=("db.example", 6432))]
)
def test_another_server_database_or_user_has_its_own(active, other):
    """Equal texts have plans with the names and attributes of their own connection."""
    first = active.plans_of(server()).plan("SELECT 1")

    assert active.plans_of(other).plan("SELECT 1") is not first


def test_the_oldest_servers_are_forgotten(active):
    """A file for each tenant: those seen last are kept, one by one, and those that a connection uses."""
    used = active.plans_of(server("used"))
    seen = []
    for number in range(MANY):
        made = active.plans_of(server(f"file {number}"))
        made.plan("SELECT 1")
        seen.append(weakref.ref(made))
    del made
    kept = [each() is not None for each in seen]

    assert 32 < sum(kept) < MANY / 10
    assert all(kept[-32:])
    assert active.plans_of(server("used")) is used


def test_the_oldest_texts_are_forgotten(active):
    """Of all servers together, one by one: the texts that were seen last still have their plans."""
    of_servers = [active.plans_of(server(f"shop {number}")) for number in range(3)]
    made = [of_servers[number % 3].plan(f"SELECT {number}") for number in range(MANY)]
    kept = [each for every in of_servers for each in every.of_queries.values()]

    assert 1000 < len(kept) < MANY
    assert made[-1000:] == [of_servers[number % 3].plan(f"SELECT {number}") for number in range(MANY - 1000, MANY)]


def test_a_set_up_that_is_left_keeps_nothing(active):
    """A connection that stays open refers to it, and must not keep the plans of all others."""
    connection_plan = active.connection_plan(active.plans_of(server()))
    connection_plan.plans.plan("SELECT 1")
    others = weakref.ref(active.plans_of(server("other")))

    active.release()

    assert others() is None
    assert not connection_plan.queries


def test_a_shared_cache_forgets_what_is_oldest():
    """Whichever dict it is in; a large entry is not kept, and pushes nothing out."""
    first, second = {}, {}
    cache = SharedCache(640)
    for number in range(70):
        cache.keep(first if number % 2 else second, number, "", 10)
    cache.keep(first, "large", "", 11)

    assert sorted([*first, *second]) == list(range(6, 70))
    cache.clear()
    assert not first
    assert not second
    cache.keep(first, "again", "", 10)
    assert first == {"again": ""}


def test_texts_with_one_summary_share_their_instruments(instrumentor, core):
    """A text with another literal is no other series: its instruments are not looked up again."""
    instrumentor.instrument(core=core, disabled="exceptions")
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    setup = Setup({"tracer_provider": PROVIDER, "meter_provider": meters}, "")
    of_server = query_plans.Active(setup, "test", DatabaseOptions()).plans_of(server())
    first, second, other = (of_server.plan(text) for text in ("SELECT 1", "SELECT 2", "SELECT 3 FROM orders"))

    assert first is not second
    assert first.series is second.series
    assert first.rows is second.rows
    assert other.series is not first.series
