"""Requests to one URL from several clients at a time, over connections that stay open."""

from __future__ import annotations

import http.client
import math
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from urllib.parse import SplitResult

_TIMEOUT_S = 30.0
# From here upwards, an answer says that the request failed.
_FAILED = 400
_STEP_S = 0.1


class Load(NamedTuple):
    """What the clients have done.

    Attributes:
        requests: The number of answers that count.
        failures: How many requests had no answer, or one that does not count, by what was wrong.
        seconds: The time that it took.
    """

    requests: int
    failures: Counter[str]
    seconds: float

    @property
    def failed(self) -> int:
        """How many requests failed."""
        return sum(self.failures.values())


class _Client(threading.Thread):
    """Sends requests, one after another, until the time is over."""

    def __init__(self, url: str, end: float, expected: Collection[int]) -> None:
        super().__init__(daemon=True)
        self._parts = urlsplit(url)
        self._end = end
        self._expected = expected
        self.requests = 0
        self.failures: Counter[str] = Counter()

    def run(self) -> None:
        """Send them."""
        connection, target = _connect(self._parts)
        while time.monotonic() < self._end:
            try:
                connection.request("GET", target)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.failures[type(error).__name__] += 1
                connection.close()  # the next request has a new connection
                continue
            if answer.status in self._expected if self._expected else answer.status < _FAILED:
                self.requests += 1
            else:
                self.failures[f"status {answer.status}"] += 1
        connection.close()

    def stop(self) -> None:
        """End after the request that is under way."""
        self._end = 0.0
        if self.ident is not None:
            self.join()


def _connect(parts: SplitResult) -> tuple[http.client.HTTPConnection, str]:
    """A connection, not opened yet, and what to ask for over it."""
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S), target


def status_of(url: str, timeout: float = 1.0) -> int | None:
    """The status of the answer to a GET request; None if nobody answers as HTTP does in so many seconds."""
    try:
        with opened(url, timeout) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        answer.close()
        return answer.code
    except (OSError, http.client.HTTPException, ValueError):
        return None


def opened(url: str, timeout: float) -> http.client.HTTPResponse:
    """The answer to a GET request; exceptions are those of `urllib.request`."""
    # A proxy of the environment would answer in its place.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    found: http.client.HTTPResponse = opener.open(url, timeout=timeout)
    return found


def ask(url: str, number: int) -> Counter[str]:
    """Send so many GET requests to a URL, one after another; returns the failures as in `Load`."""
    connection, target = _connect(urlsplit(url))
    failures: Counter[str] = Counter()
    for _ in range(number):
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:  # noqa: PERF203  # the next one may succeed
            failures[type(error).__name__] += 1
            connection.close()
        else:
            failures.update([f"status {answer.status}"] if answer.status >= _FAILED else [])
    connection.close()
    return failures


def load(url: str, clients: int, seconds: float, expected: Collection[int] = ()) -> Load:
    """Send GET requests to a URL.

    Args:
        url: The URL.
        clients: How many clients send them at the same time.
        seconds: For how long.
        expected: The statuses of answers that count; by default, all below 400 do.
    """
    began = time.monotonic()
    working = [_Client(url, began + seconds, expected) for _ in range(clients)]
    for client in working:
        client.start()
    for client in working:
        client.join()
    failures: Counter[str] = sum((each.failures for each in working), Counter())
    return Load(sum(each.requests for each in working), failures, time.monotonic() - began)


class Requests:
    """Requests that are sent in the background, from the time that a page answers, until they are stopped.

    If the URL is empty, there are none.
    """

    def __init__(self, url: str, clients: int, expected: Collection[int] = ()) -> None:
        self._url = url
        self._clients = [_Client(url, math.inf, expected) for _ in range(clients)]
        self._is_over = threading.Event()
        self._waiting = threading.Thread(target=self._begin, daemon=True)
        self._waiting.start()

    def _begin(self) -> None:
        while not self._url or status_of(self._url) is None:
            if self._is_over.wait(_STEP_S):
                return
        for client in self._clients:
            client.start()

    def stop(self) -> Load:
        """Let no client begin another request, and say what was done."""
        self._is_over.set()
        self._waiting.join()
        for client in self._clients:
            client.stop()
        failures: Counter[str] = sum((each.failures for each in self._clients), Counter())
        return Load(sum(each.requests for each in self._clients), failures, 0.0)


def main(arguments: Sequence[str]) -> int:
    """Ask for a URL so many times, as `python -m otel_fastpath.tools.common.load URL NUMBER`; 1 if a request fails."""
    url, number = arguments
    failures = ask(url, int(number))
    if failures:
        sys.stderr.write(
            f"{url}: {sum(failures.values())} of {number} requests failed: {', '.join(sorted(failures))}\n"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
