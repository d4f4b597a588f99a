"""The refusals in a confined program's Python processes, which name the code that tried: see `otel_fastpath_rule`."""

from __future__ import annotations

import _socket
import errno
import os
import sys
from typing import Any

from otel_fastpath_rule import (  # type: ignore[import-not-found]  # beside this file, which is on the path
    ADD,
    AUDIT,
    FOLDER,
    RULE,
    append,
    of_text,
    packed,
)

# Code that sends what other code asks it to.
_TRANSPORTS = ("aiohttp", "anyio", "botocore", "gevent", "grpc", "httpcore", "httpx", "requests", "urllib3", "uvloop")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_CYGRPC = "grpc._cython.cygrpc"
_INSTRUMENTOR = "otel_fastpath.instrumentor"
# gRPC finds nobody there.
_NOWHERE = b"unix:/otel-fastpath-refused"


class _Guard:
    """Applies a rule in this process."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self._reported: dict[tuple[str, int | None, str], int] = {}

    def check(self, sock: Any, address: Any) -> None:
        """Raise unless a socket may reach this address."""
        family = sock.family
        if family == getattr(_socket, "AF_UNIX", None):
            path = os.fsdecode(bytes(address)) if isinstance(address, (bytes, bytearray)) else str(address)
            if not self.rule.allows_path(path):
                self._refuse(path, None)
        elif family in (_socket.AF_INET, _socket.AF_INET6) and isinstance(address, tuple) and len(address) > 1:
            host, port = address[:2]
            host = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else host
            if isinstance(host, str) and isinstance(port, int):
                self.check_host(host, port)

    def check_host(self, host: str, port: int) -> None:
        """Raise unless this host may be reached there."""
        addresses = [host] if packed(host) is not None or not host else []
        if not addresses and self.rule.allows_name(host):
            addresses = [str(found[4][0]) for found in _getaddrinfo(host, port, 0, _socket.SOCK_STREAM)]
        if host and (not addresses or not all(self.rule.allows_address(each, port) for each in addresses)):
            self._refuse(host, port)

    def check_name(self, name: Any, port: Any = None) -> None:
        """Raise unless this host may be looked up."""
        text = name.decode("utf-8", "replace") if isinstance(name, (bytes, bytearray)) else name
        if isinstance(text, str) and not self.rule.allows_name(text):
            self._report(text, int(port) if str(port).isdecimal() else None)
            raise _socket.gaierror(_socket.EAI_NONAME, _message(text))

    def target(self, target: Any) -> Any:
        """A target of gRPC, or another one, where nobody answers, if that may not be reached."""
        text = target.decode("utf-8", "replace") if isinstance(target, bytes) else str(target)
        scheme, colon, rest = text.partition(":")
        if colon and scheme in ("unix", "unix-abstract"):
            return target if self.rule.allows_path(rest) else self._nowhere(rest, None)
        is_numeric = bool(colon) and scheme in ("ipv4", "ipv6")
        if is_numeric or (colon and (scheme == "dns" or rest.startswith("//"))):
            text = rest
        if text.startswith("//"):
            text = text[2:].partition("/")[2]
        for each in text.split(",") if is_numeric else [text]:
            host, port = _host_and_port(each)
            try:
                self.check_host(host, port)
            except OSError:
                return _NOWHERE
        return target

    def _nowhere(self, host: str, port: int | None) -> bytes:
        self._report(host, port)
        return _NOWHERE

    def _refuse(self, host: str, port: int | None) -> None:
        self._report(host, port)
        place = host if port is None else f"{host}:{port}"
        raise ConnectionRefusedError(errno.ECONNREFUSED, _message(place))

    def _report(self, host: str, port: int | None) -> None:
        key = (host, port, _who())
        count = self._reported[key] = self._reported.get(key, 0) + 1
        # An exporter tries again and again: the first time, and then less and less often.
        if count & (count - 1) == 0:
            append(self.rule.report, host=host, port=port, who=key[2])


def _message(place: str) -> str:
    return f"refused by otel-fastpath, which started this program: {place} is not on the loopback interface"


def _host_and_port(text: str) -> tuple[str, int]:
    """The parts of a target of gRPC; its default port is that of HTTPS."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.startswith("[")):
        return text.strip("[]"), 443
    return host.strip("[]"), int(port)


def _who() -> str:
    """The code that tries: the innermost that is neither the standard library's nor a transport's."""
    library = os.path.dirname(os.__file__)  # noqa: PTH120  # see FOLDER
    first = ""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename.replace("\\", "/")
        name = next((file.partition(part)[2] for part in _PACKAGES if part in file), "")
        is_own = bool(name) or not file.startswith((library, "<", FOLDER, "grpc/"))
        if is_own and file != __file__:
            place = f"{name or file}:{frame.f_lineno}"
            if name.partition("/")[0] not in _TRANSPORTS:
                return place
            first = first or place
        frame = frame.f_back
    return first


_getaddrinfo = _socket.getaddrinfo


def begin() -> None:
    """Refuse what the rule in the environment does not allow, in this process and those that it starts."""
    text = os.environ.get(RULE)
    if not text:
        return
    guard = _Guard(of_text(text))
    _replace_sockets(guard)
    sys.meta_path.insert(0, _Finder(guard))
    _keep_path()
    if os.environ.get(AUDIT):
        sys.addaudithook(_hook(guard))


def _replace_sockets(guard: _Guard) -> None:
    """Let the functions and the class of `_socket`, from which `socket` takes its own, ask the guard first."""

    class Socket(_socket.socket):
        __slots__ = ()

        def connect(self, address: Any, /) -> None:
            guard.check(self, address)
            super().connect(address)

        def connect_ex(self, address: Any, /) -> int:
            try:
                guard.check(self, address)
            except ConnectionRefusedError:
                return errno.ECONNREFUSED
            return super().connect_ex(address)

        def sendto(self, *arguments: Any) -> int:
            if len(arguments) > 1:
                guard.check(self, arguments[-1])
            return super().sendto(*arguments)

    if hasattr(_socket.socket, "sendmsg"):

        def sendmsg(self: Any, *arguments: Any) -> int:
            if len(arguments) > 3 and arguments[3] is not None:  # noqa: PLR2004  # buffers, ancdata, flags, address
                guard.check(self, arguments[3])
            sent: int = super(Socket, self).sendmsg(*arguments)
            return sent

        Socket.sendmsg = sendmsg  # type: ignore[method-assign]
    Socket.__name__ = Socket.__qualname__ = "socket"
    Socket.__module__ = "_socket"
    _socket.socket = Socket  # type: ignore[misc]
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(_socket, name, _asking(guard, getattr(_socket, name)))


def _asking(guard: _Guard, function: Any) -> Any:
    def ask(host: Any, *arguments: Any, **keywords: Any) -> Any:
        guard.check_name(host, *arguments[:1])
        return function(host, *arguments, **keywords)

    ask.__name__ = ask.__qualname__ = function.__name__
    return ask


class _Finder:
    """Finds gRPC's module in C, and lets its channels ask the guard: Python does not see their sockets.

    It also reports that the program imports otel-fastpath's instrumentor.
    """

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find gRPC's as the next finder does; any other module is none of ours."""
        if name == _INSTRUMENTOR:
            append(self._guard.rule.report, imports=name)
        if name != _CYGRPC:
            return None
        for finder in [each for each in sys.meta_path if each is not self]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Loader(spec.loader, self._guard)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    def __init__(self, loader: Any, guard: _Guard) -> None:
        self._loader = loader
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Create it as the loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Execute it, and let its channels ask the guard."""
        self._loader.exec_module(module)
        for name in ("Channel", "AioChannel"):
            if hasattr(module, name):
                setattr(module, name, self._channel(getattr(module, name)))

    def _channel(self, channel: Any) -> Any:
        guard = self._guard

        class Channel(channel):  # type: ignore[misc]
            def __new__(cls, target: Any, *arguments: Any, **keywords: Any) -> Any:
                return super().__new__(cls, guard.target(target), *arguments, **keywords)

        Channel.__name__ = Channel.__qualname__ = channel.__name__
        return Channel


def add() -> None:
    """Instrument this process with otel-fastpath if the command asks for it and the package is there."""
    if not os.environ.get(ADD):
        return
    try:
        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # another environment may not have it
    except ImportError:
        return
    FastpathInstrumentor().instrument()


def _keep_path() -> None:
    """Keep this folder in front of opentelemetry-instrument's, which it puts there before it becomes the program."""

    def in_front(path: str) -> str:
        folders = [folder for folder in path.split(os.pathsep) if folder and folder != FOLDER]
        return os.pathsep.join([FOLDER, *folders])

    execv, execve = os.execv, os.execve

    def execv_in_front(path: Any, arguments: Any, /) -> Any:
        os.environ["PYTHONPATH"] = in_front(os.environ.get("PYTHONPATH", ""))
        return execv(path, arguments)

    def execve_in_front(path: Any, arguments: Any, environment: Any) -> Any:
        return execve(path, arguments, {**environment, "PYTHONPATH": in_front(environment.get("PYTHONPATH", ""))})

    os.execv, os.execve = execv_in_front, execve_in_front  # type: ignore[assignment]


def _hook(guard: _Guard) -> Any:
    """The audit hook, for a socket whose class was there before this module, e.g. because of a `.pth` file."""

    def hook(event: str, arguments: Any) -> None:
        if not event.startswith("socket."):
            return
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            if arguments[1] is not None:
                guard.check(*arguments)
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            guard.check_name(*arguments[:2])

    return hook
