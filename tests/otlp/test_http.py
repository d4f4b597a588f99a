"""Requests over HTTP that are prepared once are, to whoever receives or changes them, what stock sends."""

from __future__ import annotations

import socket

import pytest
from httpreceiver import HEADERS, PATIENCE, sent

# What is patched came with 1.45.
RequestsHTTPTransport = pytest.importorskip(
    "opentelemetry.exporter.http.transport._requests", reason="before 1.45 exporters have no transport"
).RequestsHTTPTransport
STOCK = RequestsHTTPTransport.request


BODIES = (b"first", b"a longer body" * 5000, b"", None, b"x", bytearray(b"bytearray"))


@pytest.mark.proves("otlp.http_request")
def test_every_byte_is_as_in_stock(receiver, instrumentor):
    """Bodies of all sizes, with all headers in their order."""
    for _ in range(2):
        transport = RequestsHTTPTransport()
        for body in BODIES:
            assert sent(transport, receiver, body).status_code == 200
        transport.close()
        instrumentor.instrument()
    count = len(BODIES)
    assert len(receiver.got) == 2 * count
    assert receiver.got[:count] == receiver.got[count:]


@pytest.mark.usefixtures("fast")
def test_prepared_once(prepared, receiver):
    """The second request of a transport is the first with another body; changed headers make another."""
    transport = RequestsHTTPTransport()
    results = [sent(transport, receiver, b"%d" % number) for number in range(5)]
    assert [body for _, body in receiver.got] == [b"0", b"1", b"2", b"3", b"4"]
    assert [(result.status_code, result.reason, result.error) for result in results] == [(200, "OK", None)] * 5
    assert results[1].response.request.body == b"1"
    assert len(prepared) == 1
    sent(transport, receiver, added="1")
    assert b"added: 1\r\n" in receiver.got[-1][0]
    transport._session.headers["later"] = "2"
    sent(transport, receiver, added="1")
    assert b"later: 2\r\n" in receiver.got[-1][0]
    assert len(prepared) == 3


@pytest.mark.usefixtures("fast")
def test_headers_that_are_changed_in_place(receiver):
    """The exporter's own dictionary may change."""
    transport, headers = RequestsHTTPTransport(), dict(HEADERS)
    for value in "ab":
        headers["token"] = value
        transport.request("POST", receiver.url, headers=headers, data=b"body", timeout=PATIENCE)
    assert [b"token: a\r\n" in head for head, _ in receiver.got] == [True, False]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(("status", "code"), [("503 Busy", 503), ("307 Temporary Redirect", 307)])
def test_what_is_no_success_is_told(prepared, receiver, status, code):
    """Status, reason and headers are there for stock's retries, and no redirect is followed."""
    transport = RequestsHTTPTransport()
    sent(transport, receiver)
    receiver.status, receiver.extra = status, f"Location: {receiver.url}\r\nRetry-After: 3\r\n"
    result = sent(transport, receiver)
    assert (result.status_code, result.reason) == (code, status.partition(" ")[2])
    assert result.headers()["retry-after"] == "3"
    assert len(receiver.got) == 2
    sent(transport, receiver)
    assert len(prepared) == 2


def test_errors_are_as_in_stock(receiver, instrumentor):
    """An address that is none, a bad header, no server: the same error as without us, in the result."""

    def errors():
        transport = RequestsHTTPTransport()
        sent(transport, receiver)
        yield transport.request("POST", "no address", data=b"body")
        yield transport.request("POST", receiver.url, headers={"bad": "a\nb"}, data=b"body")
        yield transport.request("POST", closed, data=b"body", timeout=PATIENCE)
        yield sent(transport, receiver)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    stock = [type(result.error) for result in errors()]
    assert [kind.__name__ for kind in stock] == ["InvalidURL", "InvalidHeader", "ConnectionError", "NoneType"]
    instrumentor.instrument()
    assert [type(result.error) for result in errors()] == stock


def test_undone_exactly(instrumentor):
    """Uninstrumented, the transport has stock's method again."""
    instrumentor.instrument()
    instrumentor.uninstrument()
    assert RequestsHTTPTransport.request is STOCK


@pytest.mark.usefixtures("fast")
def test_nothing_is_kept_of_a_transport_that_is_gone(receiver):
    """Neither it nor its session."""
    import gc
    import weakref

    transport = RequestsHTTPTransport()
    sent(transport, receiver)
    gone = [weakref.ref(transport), weakref.ref(transport._session)]
    transport.close()
    del transport
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
