"""Logfire, with its own span wrapper, pending spans, metrics and handler of the standard library's logging."""

from __future__ import annotations

import logging
import time

import logfire


def set_up(receiver: str) -> None:
    """Everything goes to `receiver`."""
    logfire.configure(
        token="pylf_v1_local_0123456789",  # noqa: S106  # no token of anyone's
        send_to_logfire=True,
        service_name="vendors",
        console=False,
        inspect_arguments=False,
        advanced=logfire.AdvancedOptions(base_url=receiver),
    )
    logging.getLogger().addHandler(logfire.LogfireLoggingHandler())
    # Logfire exports after 100 ms until it has seen ten spans. A span that is open at that moment is sent as pending:
    # the program must begin after it.
    for _ in range(10):
        logfire.info("started")
    time.sleep(0.5)


def use() -> None:
    """Logfire's own API."""
    with logfire.span("logfire: {what}", what="own") as span:
        span.set_attribute("result", {"a": [1, 2]})
        logfire.info("in a span: {number}", number=3)
        try:
            raise ValueError("captured")  # noqa: TRY301  # caught on purpose
        except ValueError:
            logfire.exception("logfire: exception")
    with logfire.span("logfire: pending"):
        logfire.force_flush()


def finish() -> None:
    """Send what is left."""
    logfire.shutdown()
