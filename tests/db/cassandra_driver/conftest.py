"""A cluster of three nodes of Simulacron, and the driver as an application has it: wrapped by us, with both cores."""

from __future__ import annotations

import importlib.util

import pytest
from contracts.databases import by_hand

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
def run(connect):
    """Run a function with a session."""
    return lambda function, **settings: by_hand(function(connect(**settings)))
