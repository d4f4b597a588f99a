"""Answers the kernel's questions about the connections of a confined program: see `confine` and seccomp_unotify(2)."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.confine import MACHINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.tools.common.injected.otel_fastpath_rule import Rule

# struct seccomp_notif: its id, the thread's, flags, and struct seccomp_data with the number and arguments.
_QUESTION: Final = struct.Struct("=QIIiIQ6Q")
# struct seccomp_notif_resp: the id, the call's result, its error, flags.
_ANSWER: Final = struct.Struct("=QqiI")
# struct seccomp_notif_addfd: the id, flags, the file here, its number there, that file's flags.
_FILE: Final = struct.Struct("=QIIII")
_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_IS_VALID: Final = 0x40082102
_ADD_FILE: Final = 0x40182103
# The call is made as if nobody had asked.
_CONTINUE: Final = 1
_LONGEST_ADDRESS: Final = 128
# struct mmsghdr: struct msghdr, which begins with a pointer and a length, and the number of bytes that were sent.
_MESSAGE: Final = struct.Struct("=QII6QII")
_MOST_MESSAGES: Final = 1024


class Supervisor(threading.Thread):
    """Answers until the program and all that it has started are gone.

    Args:
        listener: The file that the questions come from; it is closed at the end.
        rule: What may be reached.
        refused: Called with the host or path, the port if there is one, and the program that tried.
    """

    def __init__(self, listener: int, rule: Rule, refused: Callable[[str, int | None, str], None]) -> None:
        super().__init__(name="otel-fastpath-confined", daemon=True)
        self._listener = listener
        self._rule = rule
        self._refused = refused
        self._calls = MACHINES[os.uname().machine]

    def run(self) -> None:
        """Answer questions."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        try:
            while not any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll()):
                self._answer_next()
        finally:
            os.close(self._listener)

    def _answer_next(self) -> None:
        question = bytearray(_QUESTION.size)
        try:
            _ioctl(self._listener, _RECEIVE, question)
        except OSError:
            return  # who asked is gone
        number, thread, _, call, _, _, *arguments = _QUESTION.unpack(question)
        answer = _ANSWER.pack(number, 0, 0, _CONTINUE)
        try:
            if call == self._calls.socket:
                answer = self._socket(number, arguments) or answer
            elif not self._is_allowed(number, thread, call, arguments):
                answer = _ANSWER.pack(number, 0, -errno.ECONNREFUSED, 0)
        except OSError:
            # Its memory cannot be read, so it is not known what it wants to reach.
            self._refused("an address that cannot be read", None, _program(thread))
            answer = _ANSWER.pack(number, 0, -errno.ECONNREFUSED, 0)
        with contextlib.suppress(OSError):
            _ioctl(self._listener, _SEND, bytearray(answer))

    def _is_allowed(self, number: int, thread: int, call: int, arguments: list[int]) -> bool:
        with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
            # It may have ended meanwhile, and its id may be another one's.
            _ioctl(self._listener, _IS_VALID, bytearray(struct.pack("=Q", number)))
            if call == self._calls.connect:
                places = [(arguments[1], arguments[2])]
            elif call == self._calls.sendto:
                places = [(arguments[4], arguments[5])]
            else:
                size = _MESSAGE.size * min(arguments[2], _MOST_MESSAGES)
                messages = _MESSAGE.iter_unpack(os.pread(memory.fileno(), size, arguments[1]))
                places = [(each[0], each[1]) for each in messages if each[0]]
            addresses = [
                os.pread(memory.fileno(), min(length, _LONGEST_ADDRESS), place) if length else b""
                for place, length in places
            ]
        refused = [place for place in map(self._place_refused, addresses) if place is not None]
        for host, port in refused:
            # Asked by each look-up of the C library, which goes on without it.
            if "nscd/" not in host:
                self._refused(host, port, _program(thread))
        return not refused

    def _place_refused(self, address: bytes) -> tuple[str, int | None] | None:
        """The host and port, or the path, of an address that may not be reached; None if it may be."""
        family = int.from_bytes(address[:2], sys.byteorder)
        if family in (socket.AF_INET, socket.AF_INET6):
            packed = address[4:8] if family == socket.AF_INET else address[8:24]
            try:
                host, port = socket.inet_ntop(family, packed), int.from_bytes(address[2:4], "big")
            except ValueError:
                return None  # too short: the kernel refuses it
            return None if self._rule.allows_address(host, port) else (host, port)
        if family == socket.AF_UNIX:
            path = os.fsdecode(address[2:].lstrip(b"\0").partition(b"\0")[0])
            return None if self._rule.allows_path(path) else (path, None)
        # An empty address ends a connection; the other family's sockets speak with the kernel.
        return None if family in (socket.AF_UNSPEC, socket.AF_NETLINK) else (f"a socket of family {family}", None)

    def _socket(self, number: int, arguments: list[int]) -> bytes:
        """Make a socket that needs no `connect` to send, for the loopback interface only; empty if there is no need."""
        family, kind, protocol = arguments[:3]
        if family not in (socket.AF_INET, socket.AF_INET6) or self._rule.names or self._rule.addresses:
            return b""
        flags = kind & ~0xF
        try:
            made = socket.socket(family, kind & 0xF, protocol)
        except OSError as error:
            return _ANSWER.pack(number, 0, -(error.errno or errno.EPERM), 0)
        with made:
            try:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
                made.setblocking(not flags & socket.SOCK_NONBLOCK)
                of_file = os.O_CLOEXEC if flags & socket.SOCK_CLOEXEC else 0
                there = _ioctl(self._listener, _ADD_FILE, bytearray(_FILE.pack(number, 0, made.fileno(), 0, of_file)))
            except OSError:
                return b""  # before Linux 5.9
            return _ANSWER.pack(number, there, 0, 0)


def _ioctl(file: int, request: int, argument: bytearray) -> int:
    import fcntl  # noqa: PLC0415  # not on Windows, where nothing is supervised

    result: int = fcntl.ioctl(file, request, argument)
    return result


def _program(thread: int) -> str:
    try:
        words = Path(f"/proc/{thread}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return f"process {thread}"
    name = " ".join(os.fsdecode(each) for each in words if each)
    return f"code that is not Python's, in {name[:60]}{'...' if len(name) > 60 else ''}"  # noqa: PLR2004  # one line
