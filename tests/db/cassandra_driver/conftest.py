"""A cluster of three nodes of Simulacron, and the driver as an application has it: wrapped by us, with both cores."""

from __future__ import annotations

import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("cassandra") else ["test_*.py"]


@pytest.fixture
def library():
    """The name in the settings; a folder of this name would be taken for the driver where that is not installed."""
    return "cassandra"


@pytest.fixture(scope="session")
def _nodes(simulacron):
    made = simulacron.cluster(3)
    yield made
    made.stop()


@pytest.fixture
def server(_nodes):
    """A cluster that answers each query with nothing, unless `server.answer` says what."""
    yield _nodes
    _nodes.forget()


@pytest.fixture
def connect(server):
    """Make a session: `connect(keyspace, **settings)`, with the settings of a `Cluster`."""
    from cassandra.cluster import Cluster

    made = []

    def call(keyspace="shop", **settings):
        given = {"contact_points": ["127.0.0.1"], "port": server.ports[0], "protocol_version": 4, **settings}
        made.append(Cluster(**given))
        return made[-1].connect(keyspace, wait_for_all_pools=True)

    yield call
    for each in made:
        each.shutdown()


@pytest.fixture
def session(connect):
    """A session."""
    return connect()


@pytest.fixture
def traced(wrap, session):
    """A session that was made before the driver was wrapped, and where its spans arrive."""
    return session, wrap()


@pytest.fixture
def stock_instrumentor():
    """The stock instrumentor, as in a new process."""
    from opentelemetry.instrumentation.cassandra import CassandraInstrumentor

    CassandraInstrumentor._instance = None
    made = CassandraInstrumentor()
    yield made
    if made.is_instrumented_by_opentelemetry:
        made.uninstrument()
    CassandraInstrumentor._instance = None
