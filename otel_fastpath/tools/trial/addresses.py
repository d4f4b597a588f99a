"""Finds the page of a service to ask for: a port that its processes listen at, and a path that it answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from otel_fastpath.tools.common.load import opened, status_of
from otel_fastpath.tools.common.program import START_S, ProgramError, last_lines

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_STEP_S: Final = 0.1
_TIMEOUT_S: Final = 5.0
# The first status that says that a request failed.
_FAILED: Final = 400
_LOGINS: Final = frozenset({401, 403})
# The state of a listening socket, as in /proc/net/tcp.
_LISTENING: Final = "0A"
# The flag of a listening Unix socket, as in /proc/net/unix.
_ACCEPTS: Final = "00010000"
_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")


def find_url(process: subprocess.Popen[bytes], output: IO[bytes], seconds: float = START_S) -> str:
    """The URL of a page that a service answers.

    Args:
        process: Leads the group of the service's processes.
        output: What they print.
        seconds: How long to wait for it to answer.

    Raises:
        ProgramError: The service ends, or none of its ports speaks HTTP, or no page that is known answers.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            printed = last_lines(output)
            if process.returncode:
                raise ProgramError(f"the service ended with exit status {process.returncode}{printed}")
            raise ProgramError(
                "expected a service that answers requests, and the program ended with exit status 0: see "
                f"`otel-fastpath verify` and `otel-fastpath profile` for such a program{printed}"
            )
        for port in _ports(process.pid):
            base = f"http://127.0.0.1:{port}"
            status = status_of(f"{base}/", _TIMEOUT_S)
            if status is not None:
                return _page(base, status)
        time.sleep(_STEP_S)
    if not is_python(process.pid):
        raise ProgramError(f"it is not a Python program, and does not answer requests{last_lines(output)}")
    if (paths := _paths(process.pid)) and not _ports(process.pid):
        raise ProgramError(f"the service listens at the Unix socket {paths[0]}, and at no port: let it listen at one")
    raise ProgramError(
        f"no port of the service has answered a request within {seconds:g} seconds: name a page by --url"
        f"{last_lines(output)}"
    )


def is_python(group: int) -> bool:
    """Whether one of the processes of a group is a Python program."""
    for process in _processes(group):
        # It may have ended.
        with contextlib.suppress(OSError):
            if "python" in Path(process, "maps").read_text(errors="replace"):
                return True
    return False


def _page(base: str, status: int) -> str:
    if status < _FAILED:
        return f"{base}/"
    for path in _described(base):
        found = status_of(f"{base}{path}", _TIMEOUT_S)
        if found is not None and found < _FAILED:
            return f"{base}{path}"
    why = " (it needs a login)" if status in _LOGINS else ""
    raise ProgramError(f"{base}/ answers with status {status}{why}: name another page by --url")


def _described(base: str) -> Iterator[str]:
    """The paths without parameters that a service says it can be asked for (OpenAPI)."""
    try:
        with opened(f"{base}/openapi.json", _TIMEOUT_S) as answer:
            paths = json.load(answer)["paths"]
        yield from (path for path, methods in paths.items() if "get" in methods and "{" not in path)
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError):
        return


def _ports(group: int) -> list[int]:
    """The TCP ports that the processes of a group listen at."""
    sockets = _sockets(group)
    ports = set()
    for table in ("tcp", "tcp6"):
        for fields in _table(table):
            if fields[3] == _LISTENING and fields[9] in sockets:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports)


def _paths(group: int) -> list[str]:
    """The Unix sockets that they listen at."""
    sockets = _sockets(group)
    return [fields[7] for fields in _table("unix") if fields[3] == _ACCEPTS and fields[6] in sockets and fields[7:]]


def _table(name: str) -> list[list[str]]:
    return [line.split() for line in Path("/proc/net", name).read_text(errors="replace").splitlines()[1:]]


def _sockets(group: int) -> set[str]:
    """The inodes of the sockets that the processes of a group have."""
    sockets = set()
    for process in _processes(group):
        for file in Path(process, "fd").glob("*"):
            try:
                found = _SOCKET.fullmatch(os.readlink(file))  # noqa: PTH115  # it is no path
            except OSError:
                continue
            if found is not None:
                sockets.add(found[1])
    return sockets


def _processes(group: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # It may have ended.
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(int(process.name)) == group:
                found.append(str(process))
    return found
