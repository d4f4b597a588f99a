"""What vendors' packages send to their own addresses does not leave the machine, and is named."""

from __future__ import annotations

import pytest
from confined.run import is_kept
from vendor_checks.environment import provide

from examples.founding_case.environment import SetupError

REQUIREMENTS = (
    "logfire",
    "sentry-sdk",
    "azure-monitor-opentelemetry-exporter",
    "ddtrace",
    "opentelemetry-exporter-otlp-proto-http>=1.40",
    "opentelemetry-exporter-otlp-proto-grpc>=1.40",
    "opentelemetry-exporter-zipkin-json",
    "opentelemetry-exporter-prometheus-remote-write",
)
VENDORS = ("logfire", "sentry", "azure", "otlp", "grpc", "zipkin", "prometheus")
# Its sockets are those of a library in Rust, which only the kernel sees.
IN_RUST = ("ddtrace", "ddtrace_agent")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "python"])
def test_vendors_are_kept_on_this_machine(kernel):
    """With the newest releases; as root, the packets that leave are looked at."""
    try:
        python = str(provide(REQUIREMENTS).bin / "python")
    except SetupError as error:
        pytest.skip(f"the environment cannot be made: {error}")

    names = (*VENDORS, *IN_RUST) if kernel else VENDORS
    assert [name for name in names if not is_kept(python, name, kernel=kernel)] == []
