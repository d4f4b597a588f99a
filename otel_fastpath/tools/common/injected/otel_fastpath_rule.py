"""What a confined program may reach: the loopback interface, and what the user allows.

`otel-fastpath bench`, `verify`, `profile` and `status` put the folder of this file on the path of what they start. That
may be another interpreter in another environment: only the standard library is needed, and little of it is imported.
"""

from __future__ import annotations

import _socket
import contextlib
import json
import os
from typing import Any, NamedTuple

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib would be imported by each program
# The variable with the rule, as JSON, and the one that is set where the kernel does not refuse connections.
RULE = "_OTEL_FASTPATH_LOOPBACK"
AUDIT = "_OTEL_FASTPATH_LOOPBACK_AUDIT"
# The variable that is set where otel-fastpath is to be added to a program that sets OpenTelemetry up by itself.
ADD = "_OTEL_FASTPATH_ADD"
# Name servers and agents of telemetry answer on the loopback interface, and pass on what they get.
_NAME_SERVICE = 53
_AGENTS = frozenset({_NAME_SERVICE, 4317, 4318, 6831, 6832, 8125, 8126, 9411, 14250, 14268})
_SOCKETS_OF_AGENTS = ("systemd/resolve/", "nscd/", "datadog/", "dd-agent/", "dsd.socket", "apm.socket")
_HOSTS = "/etc/hosts"
_MAPPED = bytes(10) + b"\xff\xff"


class Rule(NamedTuple):
    """What may be reached besides the loopback interface, and where refusals are reported.

    Attributes:
        report: The file that each refusal is appended to.
        names: The names of hosts that may be looked up.
        addresses: Pairs of an IP address and a port; None stands for all ports.
    """

    report: str
    names: tuple[str, ...] = ()
    addresses: tuple[tuple[str, int | None], ...] = ()

    def as_text(self) -> str:
        """For the environment."""
        return json.dumps(self)

    def allows_address(self, host: str, port: int) -> bool:
        """Whether an IP address may be reached."""
        address = packed(host)
        if any(address == packed(known) and only in (None, port) for known, only in self.addresses):
            return True
        if port == _NAME_SERVICE and self.names:
            # A host that is allowed by its name has to be looked up.
            return True
        return address is not None and is_loopback(address) and port not in _AGENTS

    def allows_name(self, name: str) -> bool:
        """Whether a host may be looked up: it is allowed, or is known without asking another machine."""
        plain = name.rstrip(".").lower()
        if not plain or plain in self.names or plain == "localhost" or plain.endswith(".localhost"):
            return True
        return packed(plain) is not None or plain in _names_in(_HOSTS)

    @staticmethod
    def allows_path(path: str) -> bool:
        """Whether a Unix socket may be reached: it is not that of a name service or an agent."""
        return not any(part in path for part in _SOCKETS_OF_AGENTS)


def of_text(text: str) -> Rule:
    """The rule that `Rule.as_text` wrote."""
    report, names, addresses = json.loads(text)
    return Rule(report, tuple(names), tuple((host, port) for host, port in addresses))


def is_loopback(address: bytes) -> bool:
    """Whether this is an address of the loopback interface, or the one that stands for all of this machine's own."""
    if address[:12] == _MAPPED:
        address = address[12:]
    if len(address) == 4:  # noqa: PLR2004  # the length of an IPv4 address
        return address[0] == 127 or not any(address)  # noqa: PLR2004  # 127.0.0.0/8
    return not any(address[:-1]) and address[-1] in (0, 1)


def packed(host: str) -> bytes | None:
    """The bytes of an IP address; None if it is a name."""
    plain = host.partition("%")[0]
    for family in (_socket.AF_INET, _socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            return _socket.inet_pton(family, plain)
    return None


_known_names: dict[str, frozenset[str]] = {}


def _names_in(path: str) -> frozenset[str]:
    """The names that a file of hosts has."""
    if path not in _known_names:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # see FOLDER
                lines = [line.partition("#")[0].lower().split() for line in file]
        except OSError:
            lines = []
        _known_names[path] = frozenset(name for line in lines for name in line[1:])
    return _known_names[path]


def append(path: str, **what: Any) -> None:
    """Append a refusal, or something else that the command asks about, to a file; never raises."""
    line = json.dumps(what) + "\n"
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
    except OSError:
        pass  # the command has ended
