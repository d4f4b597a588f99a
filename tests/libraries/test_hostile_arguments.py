"""Arguments that no library takes, and objects whose methods raise: the library's own errors, and no fault of ours."""

from __future__ import annotations

import sqlite3

import httpx
import pytest
import redis
import requests
import urllib3
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.sdk.trace import TracerProvider


def _raises(*_args, **_kwargs):
    raise LookupError("odd")


DUNDERS = ("str", "repr", "eq", "hash", "bool", "len", "iter", "getattr", "contains", "format", "index", "int", "float")
Odd = type("Odd", (), {f"__{name}__": _raises for name in DUNDERS})
OddText = type("OddText", (str,), {"__hash__": _raises, "__eq__": _raises, "__str__": _raises, "__len__": _raises})
OddDict = type("OddDict", (dict,), {"items": _raises, "__iter__": _raises, "keys": _raises, "__len__": _raises})
OddList = type("OddList", (list,), {"__iter__": _raises, "__len__": _raises})
VALUES = {
    "odd": Odd,
    "text": lambda: OddText("SELECT 1"),
    "dict": lambda: OddDict(a=1),
    "list": lambda: OddList([1]),
    "None": lambda: None,
    "number": lambda: 3,
    "bytes": lambda: b"\xff\\N{",
    "a surrogate": lambda: "SELECT '\ud83d'",
    "null": lambda: "SELECT 1\0",
    "in a list": lambda: [Odd()],
    "in a dict": lambda: {"a": Odd()},
    "a long text": lambda: "x" * 100_000,
    "a URL": lambda: "http://x:y/",
    "a bracket": lambda: "http://[/",
    "a port": lambda: "http://h:99999/",
    "no URL": lambda: "http:///\\N{",
}


def _sqlite3(use):
    def run(value):
        connection = sqlite3.connect(":memory:")
        try:
            use(connection, value)
        finally:
            connection.close()

    return run


class _Adapter(requests.adapters.BaseAdapter):
    """Sends nothing."""

    def send(self, request, **_settings):
        response = requests.Response()
        response.status_code, response.url, response.request = 200, request.url, request
        return response

    def close(self):
        pass


def _requests(*args, **keywords):
    with requests.Session() as session:
        session.mount("http://", _Adapter())
        session.request(*args, **keywords)


def _httpx(*args, **keywords):
    with httpx.Client(transport=httpx.MockTransport(lambda _request: httpx.Response(200))) as client:
        client.request(*args, **keywords)


def _urllib3(*args, **keywords):
    with urllib3.HTTPConnectionPool("127.0.0.1", 1, retries=False, timeout=0.1) as pool:
        pool.urlopen(*args, **keywords)


def _redis(*args, **keywords):
    with redis.Redis(port=1, socket_connect_timeout=0.1, retry=None) as client:
        client.execute_command(*args, **keywords)


USES = {
    "sqlite3 execute": _sqlite3(lambda connection, value: connection.execute(value)),
    "sqlite3 parameters": _sqlite3(lambda connection, value: connection.execute("SELECT ?", value)),
    "sqlite3 a parameter": _sqlite3(lambda connection, value: connection.execute("SELECT ?", (value,))),
    "sqlite3 executemany": _sqlite3(
        lambda connection, value: connection.executemany("INSERT INTO t VALUES (?)", value)
    ),
    "sqlite3 executescript": _sqlite3(lambda connection, value: connection.executescript(value)),
    "sqlite3 cursor": _sqlite3(lambda connection, value: connection.cursor().execute(value, value)),
    "sqlite3 connect": lambda value: sqlite3.connect(value, uri=True).close() if isinstance(value, int) else None,
    "requests method": lambda value: _requests(value, "http://h/"),
    "requests URL": lambda value: _requests("GET", value),
    "requests headers": lambda value: _requests("GET", "http://h/", headers=value),
    "requests a header": lambda value: _requests("GET", "http://h/", headers={"a": value}),
    "httpx method": lambda value: _httpx(value, "http://h/"),
    "httpx URL": lambda value: _httpx("GET", value),
    "httpx headers": lambda value: _httpx("GET", "http://h/", headers=value),
    "httpx a header": lambda value: _httpx("GET", "http://h/", headers={"a": value}),
    "urllib3 method": lambda value: _urllib3(value, "/"),
    "urllib3 URL": lambda value: _urllib3("GET", value),
    "urllib3 headers": lambda value: _urllib3("GET", "/", headers=value),
    "urllib3 body": lambda value: _urllib3("GET", "/", body=value),
    "redis command": _redis,
    "redis argument": lambda value: _redis("GET", value),
    "redis several": lambda value: _redis("MGET", *[value] * 3),
}


def _outcome(use, make):
    try:
        use(make())
    except Exception as error:
        return type(error).__name__
    return ""


@pytest.fixture
def instrumented_clients():
    """The instrumentations of the clients."""
    made = (RequestsInstrumentor(), HTTPXClientInstrumentor(), URLLib3Instrumentor())
    provider = TracerProvider(shutdown_on_exit=False)
    for each in made:
        each.instrument(tracer_provider=provider)
    yield provider
    for each in made:
        each.uninstrument()


@pytest.mark.filterwarnings("ignore")
def test_no_argument_is_a_fault(instrumented_clients, instrumentor, core, no_faults):
    """The errors are those of the library and stock's instrumentation, but where that raises and ours does not."""
    cases = [(use, value) for use in USES for value in VALUES]
    stock = {case: _outcome(USES[case[0]], VALUES[case[1]]) for case in cases}
    options = {"sqlite3_options": "parameters", "redis_options": "parameters"}
    instrumentor.instrument(
        core=core, telemetry="full", sqlite3="on", redis="on", tracer_provider=instrumented_clients, **options
    )
    faulty, unlike = [], []
    for case in cases:
        found = _outcome(USES[case[0]], VALUES[case[1]])
        if no_faults.counts():
            faulty.append((case, no_faults.counts()))
            no_faults._counts.clear()
        if found not in {stock[case], ""}:
            unlike.append((case, stock[case], found))

    assert faulty == []
    assert unlike == []
