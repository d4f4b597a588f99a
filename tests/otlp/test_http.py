"""Requests over HTTP that are prepared once are, to whoever receives or changes them, what upstream sends."""

from __future__ import annotations

import functools
import socket
import threading

import pytest
import requests
import wrapt
from requests.adapters import HTTPAdapter

from otel_fastpath.otlp import patches_http
from otel_fastpath.patching import faults
from otel_fastpath.settings import Config

# What is patched came with 1.45.
RequestsHTTPTransport = pytest.importorskip(
    "opentelemetry.exporter.http.transport._requests", reason="before 1.45 exporters have no transport"
).RequestsHTTPTransport
STOCK = RequestsHTTPTransport.request
HEADERS = {"content-type": "application/x-protobuf", "user-agent": "test", "x-key": "secret"}


class Receiver:
    """Keeps what comes in, to the byte, and answers 200 unless told otherwise."""

    def __init__(self):
        self.got = []
        self.status = "200 OK"
        self.extra = ""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/traces"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            while head := b"".join(iter(functools.partial(lines.readline), b"\r\n")):
                sizes = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                self.got.append((head, lines.read(int(sizes[0].partition(b":")[2]))))
                connection.sendall(f"HTTP/1.1 {self.status}\r\n{self.extra}Content-Length: 0\r\n\r\n".encode())


@pytest.fixture
def receiver(monkeypatch, tmp_path):
    """A receiver on loopback, and a home without a netrc file."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Receiver()
    yield made
    made.listener.close()


@pytest.fixture
def fast(monkeypatch):
    """With our patch; it must not fail silently."""
    before = faults.counts()
    [patch] = patches_http.PATCHES
    monkeypatch.setattr(RequestsHTTPTransport, "request", patch.make(STOCK, Config()))
    yield
    assert faults.counts() == before


@pytest.fixture
def prepared(monkeypatch):
    """A list with an item for each request that was prepared."""
    calls = []
    original = requests.models.parse_url
    monkeypatch.setattr(requests.models, "parse_url", lambda url: calls.append(url) or original(url))
    return calls


def sent(transport, receiver, data=b"body", **options):
    """Send, and give what came of it."""
    return transport.request("POST", receiver.url, headers={**HEADERS, **options}, data=data, timeout=5)


BODIES = (b"first", b"a longer body" * 5000, b"", None, b"x", bytearray(b"bytearray"))


@pytest.mark.proves("otlp.http_request")
def test_every_byte_is_upstreams(receiver, instrumentor):
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
        transport.request("POST", receiver.url, headers=headers, data=b"body", timeout=5)
    assert [b"token: a\r\n" in head for head, _ in receiver.got] == [True, False]


def test_settings_of_the_session_that_are_changed_later(receiver, monkeypatch):
    """Proxies, certificates and streaming are the session's as it is when it sends, and an adapter's to change."""
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    seen = []

    class Watched(HTTPAdapter):
        def send(self, request, **options):  # noqa: ARG002  # an adapter's
            seen.append((options["verify"], options["stream"], options["cert"], dict(options["proxies"])))
            options["proxies"]["http"] = "changed"
            response = requests.Response()
            response.status_code = 200
            return response

    [patch] = patches_http.PATCHES
    for request in (STOCK, patch.make(STOCK, Config())):
        transport = RequestsHTTPTransport()
        session = transport._session
        session.mount("http://", Watched())
        for verify, stream, cert, proxies in [(True, False, None, {})] * 2 + [(False, True, "file", {"no": "proxy"})]:
            session.verify, session.stream, session.cert, session.proxies = verify, stream, cert, proxies
            assert request(transport, "POST", receiver.url, data=b"body").status_code == 200
    assert seen[:3] == seen[3:] == [(True, False, None, {})] * 2 + [(False, True, "file", {"no": "proxy"})]


def _authorized(session):
    session.auth = ("user", "password")


def _with_parameters(session):
    session.params = {"tenant": "7"}


def _without_environment(session):
    session.trust_env = False
    session.headers["seen"] = "1"


def _with_cookies(session):
    session.cookies.set("session", "1")


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (_authorized, b"Authorization: Basic "),
        (_with_parameters, b"?tenant=7"),
        (_with_cookies, b"Cookie: session=1"),
        (_without_environment, b"seen: 1"),
    ],
)
def test_a_session_that_is_changed_later(receiver, change, seen):
    """What a user sets on the session holds from the next request on."""
    transport = RequestsHTTPTransport()
    sent(transport, receiver)
    change(transport._session)
    sent(transport, receiver)
    assert [seen in head for head, _ in receiver.got] == [False, True]


@pytest.mark.usefixtures("fast")
def test_hooks_of_the_session_are_called(receiver):
    """A hook sees each response; one that is added later, too."""
    transport, seen = RequestsHTTPTransport(), []
    sent(transport, receiver)
    transport._session.hooks["response"].append(lambda response, **_: seen.append(response.status_code))
    sent(transport, receiver)
    assert seen == [200]


@pytest.mark.usefixtures("fast")
def test_cookies_of_the_server_are_sent_back(receiver):
    """As a load balancer wants it."""
    transport = RequestsHTTPTransport()
    receiver.extra = "Set-Cookie: at=7; Path=/\r\n"
    for _ in range(2):
        sent(transport, receiver)
    assert [b"Cookie: at=7" in head for head, _ in receiver.got] == [False, True]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("owner", [requests.Session, HTTPAdapter])
def test_somebody_elses_send_is_called(receiver, monkeypatch, owner):
    """Instrumentations and mocks of requests replace `send`, of the session or of the adapter."""
    transport, calls, original = RequestsHTTPTransport(), [], owner.send
    sent(transport, receiver)

    def send(self, request, **options):
        calls.append((request.url, request.body, options["timeout"]))
        return original(self, request, **options)

    monkeypatch.setattr(owner, "send", send)
    sent(transport, receiver)
    assert calls == [(receiver.url, b"body", 5)]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", ["request", "prepare_request"])
def test_somebody_elses_request_is_called(receiver, monkeypatch, name):
    """Also on the session itself, also after the first request."""
    transport, calls, original = RequestsHTTPTransport(), [], getattr(requests.Session, name)
    sent(transport, receiver)

    def counted(*args, **options):
        calls.append(args[0])
        return original(*args, **options)

    with monkeypatch.context() as patching:
        patching.setattr(requests.Session, name, counted)
        sent(transport, receiver)
    setattr(transport._session, name, functools.partial(counted, transport._session))
    sent(transport, receiver)
    assert calls == [transport._session] * 2
    assert len(receiver.got) == 3


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", ["Session.request", "Session.prepare_request", "PreparedRequest.prepare_headers"])
def test_a_proxy_in_front_of_a_method_is_called(receiver, name):
    """What wrapt puts there says that it is equal to what it wraps."""
    transport, calls = RequestsHTTPTransport(), []
    sent(transport, receiver)
    owner = getattr(requests, name.partition(".")[0])

    def counted(wrapped, _instance, args, options):
        calls.append(name)
        return wrapped(*args, **options)

    method = name.partition(".")[2]
    original = vars(owner)[method]
    try:
        wrapt.wrap_function_wrapper(owner, method, counted)
        for _ in range(3):
            sent(transport, receiver)
    finally:
        setattr(owner, method, original)
    assert len(calls) == 3


@pytest.mark.usefixtures("fast")
def test_a_hook_of_one_request_is_not_of_the_next(receiver):
    """An adapter may add one to what it is given."""
    calls = []

    class Hooking(HTTPAdapter):
        def send(self, request, **options):
            request.register_hook("response", lambda response, **_: calls.append(response))
            return super().send(request, **options)

    transport = RequestsHTTPTransport()
    transport._session.mount("http://", Hooking())
    for _ in range(4):
        sent(transport, receiver)
    assert len(calls) == 4


@pytest.mark.usefixtures("fast")
def test_somebody_elses_request_from_before(receiver, monkeypatch):
    """Where preparing is not that of requests alone when we come, it is called each time, too."""
    calls, original = [], requests.Session.request

    @functools.wraps(original)
    def counted(*args, **options):
        calls.append(args[0])
        return original(*args, **options)

    monkeypatch.setattr(requests.Session, "request", counted)
    transport = RequestsHTTPTransport()
    for _ in range(3):
        sent(transport, receiver)
    assert calls == [transport._session] * 3


@pytest.mark.usefixtures("fast")
def test_a_session_of_another_class_is_left_alone(receiver):
    """Its `request` may do anything."""

    class Signed(requests.Session):
        def prepare_request(self, request):
            request.headers = {**request.headers, "signature": f"of {len(request.data)}"}
            return super().prepare_request(request)

    transport = RequestsHTTPTransport(session=Signed())
    for body in (b"1", b"22"):
        sent(transport, receiver, body)
    assert [b"signature: of 1" in receiver.got[0][0], b"signature: of 2" in receiver.got[1][0]] == [True, True]


@pytest.mark.usefixtures("fast")
def test_a_proxy_that_the_environment_names_later(receiver, monkeypatch):
    """A change of the environment holds from the next request on, both ways."""
    transport, proxy = RequestsHTTPTransport(), Receiver()
    sent(transport, receiver)
    monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1/traces"))
    sent(transport, receiver)
    assert len(receiver.got) == 1
    assert proxy.got[0][0].startswith(f"POST {receiver.url} ".encode())
    monkeypatch.delenv("HTTP_PROXY")
    sent(transport, receiver)
    assert (len(receiver.got), len(proxy.got)) == (2, 1)
    proxy.listener.close()


@pytest.mark.usefixtures("fast")
def test_a_netrc_file_that_names_the_host_is_read_each_time(receiver, tmp_path):
    """A password that changes is used from the next request on."""
    transport, netrc = RequestsHTTPTransport(), tmp_path / ".netrc"
    for password in ("one", "two"):
        netrc.write_text(f"machine 127.0.0.1 login me password {password}\n", encoding="ascii")
        sent(transport, receiver)
    lines = [next(line for line in head.splitlines() if b"Authorization" in line) for head, _ in receiver.got]
    assert lines[0] != lines[1]


@pytest.mark.usefixtures("fast")
def test_a_netrc_file_that_comes_later_is_read_after_a_refusal(receiver, tmp_path):
    """Deliberate: it is looked for when a request is prepared, which a status that is no success has done anew."""
    transport = RequestsHTTPTransport()
    sent(transport, receiver)
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password one\n", encoding="ascii")
    for status in ("200 OK", "401 Unauthorized", "200 OK"):
        receiver.status = status
        sent(transport, receiver)
    assert [b"Authorization" in head for head, _ in receiver.got] == [False, False, False, True]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(("status", "code"), [("503 Busy", 503), ("307 Temporary Redirect", 307)])
def test_what_is_no_success_is_told(prepared, receiver, status, code):
    """Status, reason and headers are there for upstream's retries, and no redirect is followed."""
    transport = RequestsHTTPTransport()
    sent(transport, receiver)
    receiver.status, receiver.extra = status, f"Location: {receiver.url}\r\nRetry-After: 3\r\n"
    result = sent(transport, receiver)
    assert (result.status_code, result.reason) == (code, status.partition(" ")[2])
    assert result.headers()["retry-after"] == "3"
    assert len(receiver.got) == 2
    sent(transport, receiver)
    assert len(prepared) == 2


def test_errors_are_upstreams(receiver, instrumentor):
    """An address that is none, a bad header, no server: the same error as without us, in the result."""

    def errors():
        transport = RequestsHTTPTransport()
        sent(transport, receiver)
        yield transport.request("POST", "no address", data=b"body")
        yield transport.request("POST", receiver.url, headers={"bad": "a\nb"}, data=b"body")
        yield transport.request("POST", closed, data=b"body", timeout=5)
        yield sent(transport, receiver)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    stock = [type(result.error) for result in errors()]
    assert [kind.__name__ for kind in stock] == ["InvalidURL", "InvalidHeader", "ConnectionError", "NoneType"]
    instrumentor.instrument()
    assert [type(result.error) for result in errors()] == stock


def test_undone_exactly(instrumentor):
    """Uninstrumented, the transport has upstream's method again."""
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
