"""Requests to one URL from several clients at a time, over connections that stay open."""

from __future__ import annotations

import http.client
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

_TIMEOUT_S = 30.0
_FAILED = 500


class Load(NamedTuple):
    """What the clients have done.

    Attributes:
        requests: The number of answers.
        failed: How many of the requests had no answer, or one with a status from 500 upwards.
        seconds: The time that it took.
    """

    requests: int
    failed: int
    seconds: float


class _Client(threading.Thread):
    """Sends requests, one after another, until the time is over."""

    def __init__(self, url: str, end: float) -> None:
        super().__init__(daemon=True)
        self._parts = urlsplit(url)
        self._end = end
        self.requests = self.failed = 0

    def run(self) -> None:
        """Send them."""
        parts = self._parts
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        while time.monotonic() < self._end:
            try:
                connection.request("GET", target)
                answer = connection.getresponse()
                answer.read()
                self.requests += 1
                self.failed += answer.status >= _FAILED
            except (OSError, http.client.HTTPException):  # noqa: PERF203  # the next request has a new connection
                self.failed += 1
                connection.close()
        connection.close()


def load(url: str, clients: int, seconds: float) -> Load:
    """Send GET requests to a URL.

    Args:
        url: The URL.
        clients: How many clients send them at the same time.
        seconds: For how long.
    """
    began = time.monotonic()
    working = [_Client(url, began + seconds) for _ in range(clients)]
    for client in working:
        client.start()
    for client in working:
        client.join()
    requests, failed = sum(each.requests for each in working), sum(each.failed for each in working)
    return Load(requests, failed, time.monotonic() - began)
