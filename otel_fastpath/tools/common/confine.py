"""Becomes a program whose connections the kernel asks the starting command about: `confine.py SOCKET PROGRAM ...`.

Run as a script by `otel_fastpath.tools.common.loopback`, in an interpreter of its own that ignores the environment's
Python variables. A filter of system calls (seccomp) is kept by the program and by whatever it starts, in any
language.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import sys
from typing import Final, NamedTuple


class Machine(NamedTuple):
    """The numbers of system calls."""

    audit: int
    seccomp: int
    socket: int
    connect: int
    sendto: int
    sendmmsg: int
    io_uring_setup: int = 425


MACHINES: Final = {
    "x86_64": Machine(0xC000003E, 317, 41, 42, 44, 307),
    "aarch64": Machine(0xC00000B7, 277, 198, 203, 206, 269),
}
# linux/seccomp.h, linux/bpf_common.h and linux/prctl.h.
_SET_MODE_FILTER: Final = 1
# Without the second flag, older kernels slow the program's branches down.
_NEW_LISTENER: Final = 8
_SPEC_ALLOW: Final = 4
_ALLOW: Final = 0x7FFF0000
_ASK: Final = 0x7FC00000
_ENOSYS: Final = 0x00050000 | 38
_NO_NEW_PRIVILEGES: Final = 38
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_AND: Final = 0x54
# The type of a socket without its flags.
_KINDS_OF_SOCKETS: Final = 0xF
# Offsets in struct seccomp_data: the number, the architecture, the second argument, which is the type of a socket, and
# the fifth, an address or null.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_TYPE: Final = 16 + 8
_ADDRESS: Final = 16 + 4 * 8


def _statement(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _filter(machine: Machine) -> bytes:
    """Ask about `connect`, `sendto` with an address, `sendmmsg`, and sockets that need no `connect`.

    There is no io_uring, which connects without these.
    """
    return b"".join(
        [
            _statement(_LOAD, _ARCHITECTURE),
            _statement(_IF_EQUAL, machine.audit, 0, 13),
            _statement(_LOAD, _NUMBER),
            _statement(_IF_EQUAL, machine.connect, 12),
            _statement(_IF_EQUAL, machine.sendmmsg, 11),
            _statement(_IF_EQUAL, machine.io_uring_setup, 11),
            _statement(_IF_EQUAL, machine.sendto, 4),
            _statement(_IF_EQUAL, machine.socket, 0, 7),
            _statement(_LOAD, _TYPE),
            _statement(_AND, _KINDS_OF_SOCKETS),
            _statement(_IF_EQUAL, socket.SOCK_STREAM, 4, 5),
            _statement(_LOAD, _ADDRESS),
            _statement(_IF_EQUAL, 0, 0, 3),
            _statement(_LOAD, _ADDRESS + 4),
            _statement(_IF_EQUAL, 0, 0, 1),
            _statement(_RETURN, _ALLOW),
            _statement(_RETURN, _ASK),
            _statement(_RETURN, _ENOSYS),
        ]
    )


def listen(machine: Machine) -> int:
    """Install the filter in this process; returns the file that the kernel's questions are read from.

    Raises:
        OSError: The kernel, or what runs this container, does not allow it.
    """
    program = _filter(machine)
    instructions = ctypes.create_string_buffer(program)
    described = ctypes.create_string_buffer(
        struct.pack("@HP", len(program) // len(_statement(0, 0)), ctypes.addressof(instructions))
    )
    library = ctypes.CDLL(None, use_errno=True)
    for step in ("with privileges", "without"):
        # Only root may install a filter and keep the privileges of programs such as sudo.
        if step == "without":
            library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        listener: int = library.syscall(machine.seccomp, _SET_MODE_FILTER, _NEW_LISTENER | _SPEC_ALLOW, described)
        if listener >= 0:
            return listener
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(control: int, fallback: str, command: list[str]) -> None:
    """Confine this process, hand over the listener, and become the program."""
    os.set_inheritable(control, False)  # noqa: FBT003  # positional only
    with socket.socket(fileno=control) as parent:
        try:
            listener = listen(MACHINES[os.uname().machine])
        except (OSError, KeyError) as error:
            os.environ[fallback] = "1"
            parent.send(f"{type(error).__name__}: {error}".encode())
        else:
            socket.send_fds(parent, [b"confined"], [listener])
            os.close(listener)
        # A shell lets what it starts in the background ignore Ctrl-C, by which the program is ended.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)  # noqa: S606  # what the user asks for
        except OSError as error:
            parent.send(str(error.errno).encode())
            os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
