"""Which URLs are redacted: those that stock's function changes."""

from __future__ import annotations

import pytest
from opentelemetry.util import http

from otel_fastpath import compiled

NAMES = ("sig", "Signature", "AWSAccessKeyId", "X-Goog-Signature")
OWN = ("api_key", "my key", "größe", "a.b", "", "x=y")
QUERIES = (
    *(
        "api_key=1",
        "a=1&api_key=2",
        "api%5Fkey=1",
        "API_KEY=1",
        "my+key=1",
        "my%20key=1",
        "my key=1",
        "größe=1",
        "a.b=1",
    ),
    *("axb=1", "x=y", "x%3Dy=1", "=1", "sig=1", "SIG=1", "s\tig=1", "X-Goog-Signature=1", "a=1", "a=sig", "a=%26", ""),
)


@pytest.mark.parametrize("core", ["c", "py"])
@pytest.mark.parametrize("own", [(), *((name,) for name in OWN), OWN])
def test_what_stock_redacts_is_redacted(monkeypatch, core, own):
    """Also the parameters that an application has added, in place or with a list of its own, at any time."""
    module = compiled.load("http.redaction", core)
    names = list(NAMES)
    monkeypatch.setattr(http, "PARAMS_TO_REDACT", names)

    for added in ([], *([name] for name in own)):
        names.extend(added)
        for url in [f"http://host/path?{query}" for query in QUERIES]:
            assert module.needs_redaction(url) or http.redact_url(url) == url
    monkeypatch.setattr(http, "PARAMS_TO_REDACT", ("other",))
    assert module.needs_redaction("http://host/?other=1")
    assert not module.needs_redaction("http://host/?api_key=1")


@pytest.mark.parametrize("core", ["c", "py"])
def test_most_urls_are_not_looked_at(core):
    """Not those without one of the parameters."""
    module = compiled.load("http.redaction", core)

    assert not any(map(module.needs_redaction, ("http://host/", "http://host/sig", "http://host/?a=1&b=2+3")))
