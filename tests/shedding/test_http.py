"""The hooks of HTTP servers and clients: with real libraries, calls are counted, and timed without the host's part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

for _module in ("aiohttp", "django", "flask", "httpx", "requests"):
    pytest.importorskip(_module, reason=f"{_module} is not installed")

CALLS = 5
# The parts of the host take 30 ms each, and telemetry's less than one.
_MOST_NS = 20e6
# Patch -> calls. `requests` calls urllib3, and a request of aiohttp's client is two hooks.
EXPECTED = {
    "aiohttp_client.trace_config": 2 * CALLS,
    "aiohttp_server.request": CALLS,
    "django.process_request": CALLS,
    "django.process_response": CALLS,
    "flask.before_request": CALLS,
    "flask.request": CALLS,
    "flask.teardown_request": CALLS,
    "httpx.async": CALLS,
    "httpx.sync": CALLS,
    "requests.send": CALLS,
    "urllib3.urlopen": 2 * CALLS,
    "wsgi.request": CALLS,
}


def test_calls_are_counted_and_timed_without_the_hosts_part(core):
    """Whether the library looks a hook up for each call, or holds it: no call is missed, and none is made twice."""
    program = Path(__file__).with_name("timed_calls.py")
    done = subprocess.run(
        [sys.executable, str(program), core], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    prices = {name: found["prices"][name] for name in EXPECTED}

    assert {name: calls for name, (calls, _) in prices.items()} == EXPECTED
    assert {name: price for name, (_, price) in prices.items() if not 0 < price < _MOST_NS} == {}
    assert found["spans"] == 9 * CALLS
    # After the layers are lifted, calls have their spans as before.
    assert (found["after"] - found["spans"], found["layers"]) == (2, 0)
