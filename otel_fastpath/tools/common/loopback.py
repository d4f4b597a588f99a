"""Starts programs that reach nothing but this machine's loopback interface, and names what was refused.

Where Linux allows it, the kernel asks about each connection, of whatever language the code is. Elsewhere Python's own
sockets and gRPC's channels are refused, and `Loopback.notes` says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.tools.common import confine, supervisor
from otel_fastpath.tools.common.injected import otel_fastpath_rule as rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

_CONFINED: Final = b"confined"
_LONGEST_MESSAGE: Final = 1000
# A proxy on the loopback interface would pass everything on.
_PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "ftp_proxy", "no_grpc_proxy"})
# The report names so many.
_MOST: Final = 10


class AllowError(ValueError):
    """A value of --allow is not valid; the message is one line."""


class Refusal(NamedTuple):
    """What was refused.

    Attributes:
        host: The name or address of a host, or the path of a Unix socket.
        port: None if there is none.
        who: The code or the program that tried.
    """

    host: str
    port: int | None
    who: str

    @property
    def place(self) -> str:
        """The host with its port."""
        if self.port is None:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_here(host: str) -> bool:
    """Whether a host is this machine, by an address of the loopback interface."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return all(rules.is_loopback(socket.inet_pton(each[0], str(each[4][0]).partition("%")[0])) for each in found)


class Loopback:
    """Starts programs that reach nothing but the loopback interface, while it is used in a `with` statement.

    Args:
        allowed: What they may reach besides, each "HOST" or "HOST:PORT".

    Raises:
        AllowError: One of these is neither.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        names, addresses = _resolved(allowed)
        self._folder = tempfile.TemporaryDirectory(prefix="otel-fastpath-")
        file = Path(self._folder.name, "refused")
        file.touch()
        self._rule = rules.Rule(str(file), names, addresses)
        self._why_not = "" if sys.platform == "linux" else "it is not Linux"

    def __enter__(self) -> Loopback:  # noqa: PYI034  # Self is not in Python 3.10
        """Nothing has to begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the file of refusals."""
        self._folder.cleanup()

    def popen(self, command: Sequence[str], env: Mapping[str, str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program; arguments and exceptions are those of `subprocess.Popen`."""
        environment = self._environment(env)
        if self._why_not:
            return subprocess.Popen(command, env={**environment, rules.AUDIT: "1"}, **options)  # noqa: S603  # as asked
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                number = theirs.fileno()
                launcher = [sys.executable, "-I", confine.__file__, str(number), rules.AUDIT]
                process = subprocess.Popen(  # noqa: S603  # likewise
                    [*launcher, *command], env=environment, pass_fds=(number, *options.pop("pass_fds", ())), **options
                )
            self._supervise(ours)
            failed = ours.recv(_LONGEST_MESSAGE)
        if failed:
            process.wait()
            raise OSError(int(failed), os.strerror(int(failed)), command[0])
        return process

    def refuse_in_python(self, why: str) -> None:
        """Do not let the kernel ask from now on, for this reason."""
        self._why_not = why

    def refusals(self) -> Counter[Refusal]:
        """What was refused so far, with how often at least: what is tried again and again is reported now and then."""
        return Counter(Refusal(**each) for each in self._reports() if "host" in each)

    def imports_fastpath(self) -> bool:
        """Whether a program has imported otel-fastpath's instrumentor so far."""
        return any("imports" in each for each in self._reports())

    def _reports(self) -> list[dict[str, Any]]:
        found = []
        for line in Path(self._rule.report).read_text(encoding="utf-8").splitlines():
            # A program may have been killed while it wrote.
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def notes(self) -> tuple[str, ...]:
        """What was refused, for a report; and why not everything is, if that is so here."""
        found = self.refusals()
        notes = [f"refused: {each.place}, tried by {each.who or 'unknown code'}" for each in list(found)[:_MOST]]
        if len(found) > _MOST:
            notes.append(f"refused: {len(found) - _MOST} more")
        if found:
            notes.append(
                "only the loopback interface may be reached; --allow HOST[:PORT] allows a host of the application's"
            )
        if self._why_not:
            notes.append(
                f"connections are refused in Python's own sockets and in gRPC's channels only, because {self._why_not}"
            )
        return tuple(notes)

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        found = {name: value for name, value in env.items() if name.lower() not in _PROXIES}
        path = os.pathsep.join(filter(None, (rules.FOLDER, env.get("PYTHONPATH", ""))))
        return {**found, rules.RULE: self._rule.as_text(), "PYTHONPATH": path}

    def _supervise(self, launcher: socket.socket) -> None:
        message, listeners, _, _ = socket.recv_fds(launcher, _LONGEST_MESSAGE, 1)
        if message == _CONFINED:
            supervisor.Supervisor(listeners[0], self._rule, self._report_refused).start()
        else:
            self._why_not = f"the kernel refuses more ({message.decode(errors='replace') or 'no answer'})"

    def _report_refused(self, host: str, port: int | None, who: str) -> None:
        rules.append(self._rule.report, host=host, port=port, who=who)


def _resolved(allowed: Iterable[str]) -> tuple[tuple[str, ...], tuple[tuple[str, int | None], ...]]:
    """The names and the addresses, as in `Rule`."""
    names, addresses = [], []
    for text in allowed:
        host, port = _host_and_port(text)
        try:
            found = {each[4][0] for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError) as error:
            raise AllowError(f"--allow {text}: {host} is not known here ({error})") from None
        addresses += [(str(address), port) for address in sorted(map(str, found))]
        if host not in found:
            names.append(host.lower())
    return tuple(names), tuple(addresses)


def _host_and_port(text: str) -> tuple[str, int | None]:
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isdecimal() and 0 < int(port) < 1 << 16)) or "/" in text:
        raise AllowError(f"--allow {text}: expected HOST or HOST:PORT, e.g. db.internal:5432")
    return host, int(port) if port else None
