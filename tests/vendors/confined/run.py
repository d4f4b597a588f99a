"""Runs programs that send to their vendors' addresses as `otel-fastpath bench` starts them, and says what left.

    python tests/vendors/confined/run.py PYTHON NAME...

PYTHON has the vendors' packages. As root on Linux, the packets of this machine are watched meanwhile.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

from otel_fastpath.tools.common.loopback import Loopback

PROGRAMS = Path(__file__).with_name("programs.py")
# Of the program, in whatever protocol: its address for documentation, and its host's name in a question.
MARKS = (socket.inet_aton("192.0.2.77"), b"telemetry\x07example\x03com")
TIMEOUT_S = 90


def main(python: str, *names: str) -> int:
    """Run them; returns the number of those that sent something, or that were not seen to try."""
    return sum(not is_kept(python, name) for name in names)


def is_kept(python: str, name: str, *, kernel: bool = True) -> bool:
    """Run one, print what was refused, and say whether it tried, was named, and sent nothing."""
    with watching() as packets, Loopback() as loopback:
        if not kernel:
            loopback.refuse_in_python("the test says so")
        command = [python, str(PROGRAMS), name]
        process = loopback.popen(command, os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        sent = packets()
        notes = [note for note in loopback.notes() if note.startswith("refused: ")]
    print(f"{name}: {len(sent)} packets left; " + ("; ".join(notes) or f"nothing was refused: {errors[-500:]}"))
    return bool(notes) and not sent


@contextlib.contextmanager
def watching():
    """Gives a function that returns the packets, with one of the marks, that have left until then."""
    try:
        watcher = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    except (AttributeError, PermissionError):
        yield list
        return
    with watcher:
        watcher.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        watcher.settimeout(0)

        def packets():
            found = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet, address = watcher.recvfrom(65535)
                    if address[0] != "lo" and any(mark in packet for mark in MARKS):
                        found.append(packet)
            return found

        yield packets


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
