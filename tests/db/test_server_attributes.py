"""Which server a connection is connected to, as attributes and as the name of a pool."""

from __future__ import annotations

import pytest

from otel_fastpath.db.server_attributes import POSTGRESQL, Server, System

SQLITE = System("sqlite")
HERE = ("localhost", 5432)


@pytest.mark.parametrize(
    ("server", "attributes"),
    [
        (Server(SQLITE), {}),
        (Server(SQLITE, namespace=""), {}),
        (Server(SQLITE, "/data/a.db", "main"), {"server.address": "/data/a.db", "db.namespace": "main"}),
        (Server(POSTGRESQL, HERE, "shop"), {"server.address": "localhost", "db.namespace": "shop"}),
        (Server(POSTGRESQL, ("localhost", 5433)), {"server.address": "localhost", "server.port": 5433}),
        (Server(SQLITE, HERE), {"server.address": "localhost", "server.port": 5432}),
    ],
)
def test_what_is_known_is_stated(server, attributes):
    """Not the port that is the system's default, nor who is connected."""
    assert server._replace(user="somebody").attributes() == {"db.system.name": server.system.name, **attributes}


@pytest.mark.parametrize(
    ("server", "name"),
    [
        (Server(POSTGRESQL, HERE, "shop"), "localhost:5432/shop"),
        (Server(POSTGRESQL, "/run/postgresql"), "/run/postgresql/"),
    ],
)
def test_a_pool_is_called_by_its_server(server, name):
    """Every port is in it."""
    assert server.name == name


def test_whatever_tells_two_servers_apart_makes_them_unequal():
    """Equal ones share their plans."""
    server = Server(POSTGRESQL, HERE, "shop", "somebody")
    others = [
        server._replace(**{field: value})
        for field, value in (("system", SQLITE), ("address", "x"), ("namespace", "x"), ("user", "x"))
    ]

    assert Server(POSTGRESQL, HERE, "shop", "somebody") == server
    assert len({server, *others}) == 5
