"""What the tests of the core share: how much to do, and a provider that keeps what it exports."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

# OTEL_FASTPATH_TESTS=heavy does as much as the project promises.
HEAVY = os.environ.get("OTEL_FASTPATH_TESTS") == "heavy"


def pytest_collection_modifyitems(items):
    """What does ten times as much may take longer."""
    if HEAVY:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture
def amount():
    """`amount(default, heavy)`: how many, under the profile in force."""
    return lambda default, heavy: heavy if HEAVY else default


@pytest.fixture
def switching():
    """Threads take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def exporting(instrumented):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Makes providers with room enough in their queue; used in a `with`, gives one and the list of what it exported."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Keeping(SpanExporter):
        def __init__(self, read, got):
            self._read = read
            self._got = got

        def export(self, spans):
            self._got.extend(self._read(span) for span in spans)
            return SpanExportResult.SUCCESS

    @contextmanager
    def make(read=lambda span: span, queue=1 << 20, **settings):
        got = []
        provider = TracerProvider(shutdown_on_exit=False, **settings)
        processor = BatchSpanProcessor(Keeping(read, got), max_queue_size=queue, schedule_delay_millis=3_600_000)
        provider.add_span_processor(processor)
        try:
            yield provider, got
        finally:
            provider.shutdown()

    return make
