"""What the tests of the HTTP transport share: a receiver, and stock's transport with our patch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import requests

sys.path.insert(0, str(Path(__file__).parent))

from httpreceiver import Receiver

from otel_fastpath.otlp import patches_http
from otel_fastpath.patching import faults
from otel_fastpath.settings import Config


@pytest.fixture
def receiver(monkeypatch, tmp_path):
    """A receiver on loopback, and a home without a netrc file."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def fast(monkeypatch):
    """With our patch; it must not fail silently."""
    from opentelemetry.exporter.http.transport._requests import RequestsHTTPTransport

    before = faults.counts()
    [patch] = patches_http.PATCHES
    monkeypatch.setattr(RequestsHTTPTransport, "request", patch.make(RequestsHTTPTransport.request, Config()))
    yield
    assert faults.counts() == before


@pytest.fixture
def prepared(monkeypatch):
    """A list with an item for each request that was prepared."""
    calls = []
    original = requests.models.parse_url
    monkeypatch.setattr(requests.models, "parse_url", lambda url: calls.append(url) or original(url))
    return calls


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """A report without halves of surrogate pairs, which these tests log, and xdist cannot send."""
    report = yield
    report.sections = [(name, _sendable(text)) for name, text in report.sections]
    if report.longrepr is not None and not isinstance(report.longrepr, tuple):
        report.longrepr = _sendable(str(report.longrepr))
    return report


def _sendable(text):
    return text.encode(errors="backslashreplace").decode()
