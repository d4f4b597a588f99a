"""What the commands start reaches the loopback interface only, whatever opens the connection, and is named."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from otel_fastpath.tools.common.loopback import AllowError, Loopback, Refusal

HEAD = """
import ctypes, socket, struct, subprocess, sys

def attempt(function):
    try:
        print(function())
    except OSError as error:
        print(type(error).__name__)

libc = ctypes.CDLL(None, use_errno=True)
far = struct.pack("!2sH4s8x", struct.pack("=H", socket.AF_INET), 9, bytes([192, 0, 2, 1]))
"""
# What is tried -> what it prints, and the place that is named. 192.0.2.0/24 and 2001:db8::/32 are for documentation.
PYTHON = {
    "socket.socket().connect(('192.0.2.1', 80))": ("ConnectionRefusedError", "192.0.2.1:80"),
    "socket.socket().connect_ex(('192.0.2.1', 80))": ("111", "192.0.2.1:80"),
    "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))": ("ConnectionRefusedError", "[2001:db8::1]:80"),
    "socket.socket().connect(('a.example.com', 443))": ("ConnectionRefusedError", "a.example.com:443"),
    "socket.create_connection(('a.example.com', 443))": ("gaierror", "a.example.com:443"),
    "socket.gethostbyname('a.example.com')": ("gaierror", "a.example.com"),
    "udp().sendto(b'x', ('192.0.2.1', 9))": ("ConnectionRefusedError", "192.0.2.1:9"),
    "udp().sendto(b'x', 0, ('192.0.2.1', 9))": ("ConnectionRefusedError", "192.0.2.1:9"),
    "udp().sendmsg([b'x'], [], 0, ('192.0.2.1', 9))": ("ConnectionRefusedError", "192.0.2.1:9"),
    # The agents of vendors, and name servers, pass on what they get.
    "socket.socket().connect(('127.0.0.1', 8126))": ("ConnectionRefusedError", "127.0.0.1:8126"),
    "socket.socket().connect(('127.0.0.1', 4317))": ("ConnectionRefusedError", "127.0.0.1:4317"),
    "socket.socket(socket.AF_UNIX).connect('/run/datadog/apm.socket')": (
        "ConnectionRefusedError",
        "/run/datadog/apm.socket",
    ),
}
C = {
    "libc.connect(libc.socket(2, 1, 0), far, 16)": "-1",
    "libc.sendto(libc.socket(2, 2, 0), b'x', 1, 0, far, 16)": "-1",
    "subprocess.run([sys.executable, '-I', '-c', 'import socket; socket.create_connection((\"192.0.2.1\", 9))'],"
    " stderr=-3, env={}).returncode": "1",
}
SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        with socket.create_connection((host, server.getsockname()[1])):
            pass
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", udp.getsockname())
    print(udp.recv(9))
"""
GRPC = """
import grpc, grpc.aio, asyncio

def call(target):
    with grpc.insecure_channel(target) as channel:
        try:
            return channel.unary_unary("/a/b")(b"", timeout=5)
        except grpc.RpcError as error:
            return error.code().name

async def call_async(target):
    async with grpc.aio.secure_channel(target, grpc.ssl_channel_credentials()) as channel:
        try:
            return await channel.unary_unary("/a/b")(b"", timeout=5)
        except grpc.RpcError as error:
            return error.code().name

print(call("192.0.2.1:4317"))
print(call("dns:///b.example.com:443"))
print(call("ipv6:[2001:db8::1]:80"))
print(asyncio.run(call_async("c.example.com")))
server = grpc.server(__import__("concurrent.futures").futures.ThreadPoolExecutor(1))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(call(f"localhost:{port}"))
server.stop(None)
"""


def is_confined_by_the_kernel():
    """Whether the kernel asks about connections here."""
    with Loopback() as loopback:
        loopback.popen([sys.executable, "-c", ""], os.environ).wait()
        return not loopback.notes()


kernel_only = pytest.mark.skipif(not is_confined_by_the_kernel(), reason="the kernel does not ask here")


@pytest.mark.parametrize("kernel", [pytest.param(True, marks=kernel_only), False], ids=["kernel", "python"])
def test_python_is_refused_and_named(confined, kernel):
    """Before anything is sent, with the line that tried; the program sees a refused connection."""
    source = f"{HEAD}\ndef udp(): return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    first = source.count("\n") + 1
    source += "".join(f"attempt(lambda: {code})\n" for code in PYTHON)

    printed, refused = confined(source, kernel=kernel)

    assert printed == [outcome for outcome, _ in PYTHON.values()]
    assert [each.place for each in refused] == [place for _, place in PYTHON.values()]
    lines = [int(each.who.rpartition("program.py:")[2]) for each in refused]
    assert lines == list(range(first, first + len(PYTHON)))


@kernel_only
def test_code_that_is_not_pythons_is_refused(confined):
    """A library in C, and a child that neither has the environment nor imports what is on the path."""
    printed, refused = confined(HEAD + "".join(f"attempt(lambda: {code})\n" for code in C))

    assert printed == list(C.values())
    assert {each.place for each in refused} == {"192.0.2.1:9"}
    assert len(refused) == 2
    assert all(each.who.startswith("code that is not Python's, in ") for each in refused)


@kernel_only
def test_a_datagram_of_c_with_an_address_stays_here(confined):
    """`sendmsg` is not asked about, because each message would be; its sockets know the loopback interface only."""
    source = "import socket\nprint(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).getsockopt(1, 25, 16))\n"

    printed, refused = confined(source)

    assert (printed, refused) == (["b'lo\\x00'"], [])


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "python"])
def test_the_loopback_interface_is_reached(confined, kernel):
    """By address, by name, by the address of all of this machine, and by datagrams."""
    assert confined(SERVER, kernel=kernel) == (["b'hello'"], [])


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "python"])
def test_grpc_is_refused_and_named(confined, kernel):
    """Python does not see its sockets: its channels are made for nowhere, and the targets are named."""
    pytest.importorskip("grpc")

    printed, refused = confined(GRPC, kernel=kernel)

    assert printed == ["UNAVAILABLE"] * 4 + ["UNIMPLEMENTED"]
    assert [each.place for each in refused] == [
        "192.0.2.1:4317",
        "b.example.com:443",
        "[2001:db8::1]:80",
        "c.example.com:443",
    ]


def test_a_proxy_is_not_used(confined):
    """One on the loopback interface would pass everything on."""
    variables = {"HTTPS_PROXY": "http://127.0.0.1:9", "all_proxy": "http://127.0.0.1:9", "no_proxy": "x"}

    printed, _ = confined("import os\nprint([n for n in os.environ if n.lower().endswith('_proxy')])", env=variables)

    assert printed == ["['no_proxy']"]


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "python"])
def test_what_is_allowed_is_tried(confined, kernel):
    """An address with its port, and no other port of it."""
    source = f"{HEAD}\nfor port in (8126, 8125): attempt(lambda: socket.socket().connect_ex(('127.0.0.1', port)))\n"

    _, refused = confined(source, ["127.0.0.1:8126"], kernel=kernel)

    assert [each.place for each in refused] == ["127.0.0.1:8125"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--allow : expected HOST or HOST:PORT, e.g. db.internal:5432"),
        ("db:no", "--allow db:no: expected HOST or HOST:PORT, e.g. db.internal:5432"),
        ("http://db", "--allow http://db: expected HOST or HOST:PORT, e.g. db.internal:5432"),
        ("no-such-host.invalid:1", "--allow no-such-host.invalid:1: no-such-host.invalid is not known here ("),
    ],
)
def test_what_cannot_be_allowed(text, message):
    """One line that names the value."""
    with pytest.raises(AllowError) as raised:
        Loopback([text])

    assert str(raised.value).startswith(message)


def test_a_program_that_does_not_exist():
    """The error of `subprocess`."""
    with Loopback() as loopback, pytest.raises(FileNotFoundError):
        loopback.popen(["no-such-program"], os.environ)


def test_children_with_the_launcher_of_opentelemetry_keep_the_refusals(tmp_path):
    """opentelemetry-instrument puts its own `sitecustomize` before ours, and becomes the program."""
    source = (
        "import os, sys\n"
        "os.environ['PYTHONPATH'] = os.pathsep.join([sys.argv[1], os.environ['PYTHONPATH']])\n"
        "code = 'import socket; socket.socket().connect((\"192.0.2.1\", 80))'\n"
        "os.execl(sys.executable, sys.executable, '-c', code)\n"
    )
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text("print('theirs', flush=True)\n", encoding="utf-8")
    with Loopback() as loopback:
        loopback.refuse_in_python("the test says so")
        process = loopback.popen(
            [sys.executable, "-c", source, str(tmp_path / "first")], os.environ, stdout=-1, stderr=-3, text=True
        )
        printed, _ = process.communicate(timeout=60)

        assert (printed, process.returncode) == ("theirs\n", 1)
        assert list(loopback.refusals()) == [Refusal("192.0.2.1", 80, "")]


def test_many_sockets_in_threads(confined):
    """The questions of a program with threads are answered, each to who asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = (
            "import socket\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "def go(number):\n"
            "    host = '127.0.0.1' if number % 2 else '192.0.2.1'\n"
            f"    return socket.socket().connect_ex((host, {server.getsockname()[1]}))\n"
            "print(list(ThreadPoolExecutor(8).map(go, range(64))) == [111, 0] * 32)\n"
        )

        assert confined(source)[0] == ["True"]
