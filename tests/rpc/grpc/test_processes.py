"""Calls of gRPC in a forked process, and in greenlets of gevent."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_BEGIN = """
    import os, sys
    sys.path.insert(0, "tests")
    from otel_fastpath import FastpathInstrumentor
    FastpathInstrumentor().instrument(core={core!r})
"""
_FORKING = """
    from opentelemetry.instrumentation.grpc import client_interceptor, server_interceptor
    from tests.rpc.grpc.conftest import Telemetry
    from tests.rpc.grpc.called import DETAILS, Context
    telemetry = Telemetry()
    client, server = telemetry.client(), telemetry.server()
    class Call:
        full_method, timeout = "/shop.Orders/Charge", None
    def use():
        assert client.intercept_unary(b"one", None, Call, lambda request, metadata: metadata)[0][0] == "traceparent"
        with server._set_remote_context(Context("unix:")), server._start_span(DETAILS, Context("unix:")):
            pass
        return len(telemetry.finished())
    assert use() == 2
    child = os.fork()
    if not child:
        os._exit(0 if use() == 4 else 1)
    assert os.waitpid(child, 0)[1] == 0
    print(use())
"""
_GREENLETS = """
    import gevent, grpc
    from grpc.experimental.gevent import init_gevent
    init_gevent()
    from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
    from tests.rpc.grpc.conftest import Telemetry
    from tests.rpc.grpc.called import KINDS, call, serving
    telemetry = Telemetry()
    with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, telemetry.client())
        jobs = [gevent.spawn(call, channel, kind, b"ok") for kind in KINDS]
        gevent.joinall(jobs, timeout=20)
        assert all(job.value in (b"TrueNone", [b"TrueNone", b"second"]) for job in jobs), [job.value for job in jobs]
        telemetry.wait_for(8)
    print(len(telemetry.seen()))
"""


def run(text):
    """What such a program prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def test_a_forked_process(core):
    """It goes on where its parent was, and so does that."""
    assert run(_BEGIN.format(core=core) + _FORKING) == "4"


def test_greenlets(core):
    """Each has its own current span."""
    pytest.importorskip("gevent", reason="gevent is not installed")
    start = "\n    from gevent import monkey\n    monkey.patch_all()\n"
    assert run(start + _BEGIN.format(core=core) + _GREENLETS) == "8"
