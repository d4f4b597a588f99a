"""Sessions, adapters, methods and settings of requests that others change after the first request are honoured."""

from __future__ import annotations

import functools

import pytest
import requests
import wrapt
from httpreceiver import PATIENCE, Receiver, sent
from requests.adapters import HTTPAdapter

from otel_fastpath.otlp import patches_http
from otel_fastpath.settings import Config

# What is patched came with 1.45.
RequestsHTTPTransport = pytest.importorskip(
    "opentelemetry.exporter.http.transport._requests", reason="before 1.45 exporters have no transport"
).RequestsHTTPTransport
STOCK = RequestsHTTPTransport.request


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
    assert calls == [(receiver.url, b"body", PATIENCE)]


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
    proxy.close()


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
