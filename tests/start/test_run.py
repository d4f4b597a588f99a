"""`otel-fastpath run` runs a command as `opentelemetry-instrument` does, a Python program in the same interpreter."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request

import pytest
from newer_releases import needs
from start_ways import SCRIPTS, command, spans

# What a program can see of how it was started; `ours` is how many modules of the command are left in its stack.
SEES = """
import inspect, json, os, sys
main = sys.modules["__main__"]
print(json.dumps({
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "path": sys.path,
    "python path": os.environ["PYTHONPATH"],
    "main": sorted(name for name in vars(main) if name.startswith("__")),
    "is main": vars(main) is globals(),
    "file": globals().get("__file__"),
    "name": __name__,
    "package": __package__,
    "spec": getattr(__spec__, "name", None),
    "site": sys.modules["sitecustomize"].__file__,
    "executable": sys.executable,
    "annotations": globals().get("__annotations__"),
}))
"""
TRACES = """
from opentelemetry import trace
with trace.get_tracer("service").start_as_current_span({name!r}):
    pass
"""
# Shows an exception by its class, and how many frames its traceback has, in both of its places.
COUNTS = """
import sys, traceback
def show(kind, error, trace):
    print(kind.__name__, len(traceback.extract_tb(trace)), len(traceback.extract_tb(error.__traceback__)))
sys.excepthook = show
"""


def shape(result):
    """What a program saw, for comparison."""
    return json.loads(result.stdout.splitlines()[0])


@pytest.fixture
def used():
    """The instrumentations that the programs use."""
    return {"fastpath"}


@pytest.fixture
def program(tmp_path):
    """Writes a file."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "words",
    [
        (sys.executable, "program.py", "a", "b"),
        pytest.param((sys.executable, "folder/program.py"), marks=pytest.mark.slow),
        pytest.param((sys.executable, "link.py"), marks=pytest.mark.slow),
        pytest.param((sys.executable, "-c", SEES, "a", "-b"), marks=pytest.mark.slow),
        pytest.param((sys.executable, "-m", "package.program", "a", "-b"), marks=pytest.mark.slow),
        (sys.executable, "-m", "package"),
        # Not in this interpreter.
        (sys.executable, "-u", "program.py", "a"),
        pytest.param((sys.executable, "package"), marks=pytest.mark.slow),
    ],
)
def test_a_program_sees_what_it_sees_under_opentelemetry_instrument(start, program, tmp_path, words):
    """Its arguments, path, environment and `__main__`."""
    for name in ("program.py", "folder/program.py", "package/__init__.py", "package/program.py", "package/__main__.py"):
        program("" if name.endswith("__init__.py") else SEES, name)
    (tmp_path / "link.py").symlink_to(tmp_path / "folder" / "program.py")

    ours, stock = (start(way, *words) for way in ("run", "stock"))

    assert shape(ours) == shape(stock)
    assert ours.stderr == stock.stderr == ""


def test_it_has_telemetry(start, program):
    """As with `opentelemetry-instrument`, and the program runs in the interpreter that was started."""
    path = program("import sys\nprint('otel_fastpath.start.run' in sys.modules)\n" + TRACES.format(name="work"))
    result = start("run", sys.executable, path)

    assert result.stdout.startswith("True\n")
    assert [span["name"] for span in spans(result.stdout)] == ["work"]


def test_a_script_of_this_environment_is_run_in_this_interpreter(start, program):
    """As those that installers write: gunicorn, uvicorn, celery. Of other interpreters and with options it is not."""
    text = SEES + "print('otel_fastpath.start.run' in sys.modules)\n"
    found = {}
    for line in (sys.executable, f"{sys.executable} -s", shutil.which("python3", path="/usr/bin") or sys.executable):
        path = program(f"#!{line}\n{text}", "tool")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        ours = start("run", path, "a", PATH=os.environ["PATH"], check=False)
        found[line] = ours.stdout.splitlines()[1:]
        if line == sys.executable:
            assert shape(ours) == shape(start("stock", path, "a"))

    assert found[sys.executable] == ["True"]
    assert found[f"{sys.executable} -s"] == ["False"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("import sys; sys.exit(3)", 3, marks=pytest.mark.slow),
        ("import sys; sys.exit('no')", 1),
        pytest.param("raise SystemExit", 0, marks=pytest.mark.slow),
        pytest.param("def f():\n    raise ValueError('no')\nf()", 1, marks=pytest.mark.slow),
        pytest.param(
            "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('no') from error",
            1,
            marks=pytest.mark.slow,
        ),
        pytest.param("syntax error", 1, marks=pytest.mark.slow),
        pytest.param("import os; os._exit(4)", 4, marks=pytest.mark.slow),
        ("import sys\nsys.excepthook = lambda *found: print(found[0].__name__)\nraise ValueError", 1),
        ("def f():\n    raise KeyboardInterrupt\nf()", -signal.SIGINT),
        (f"{COUNTS}raise KeyboardInterrupt", -signal.SIGINT),
        pytest.param(
            f"{COUNTS}import os, signal\nos.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT, marks=pytest.mark.slow
        ),
        pytest.param("import atexit\natexit.register(print, 'at exit')\nraise ValueError", 1, marks=pytest.mark.slow),
        ("import threading, time\nthreading.Timer(0.1, print, ['later']).start()", 0),
    ],
)
def test_it_ends_as_under_opentelemetry_instrument(start, program, text, status):
    """With the same exit status, output and traceback."""
    path = program(text)
    ours, stock = (start(way, sys.executable, path, check=False) for way in ("run", "stock"))

    assert (ours.returncode, ours.stdout, ours.stderr) == (status, stock.stdout, stock.stderr)
    assert stock.returncode == status


@pytest.mark.parametrize(
    "text", ["def f():\n    raise ValueError('no')\nf()", "raise KeyboardInterrupt", "exec('1 / 0')"]
)
def test_code_of_the_command_line_ends_as_under_opentelemetry_instrument(start, text):
    """Since Python 3.13, its lines are in the traceback."""
    ours, stock = (start(way, sys.executable, "-c", text, check=False) for way in ("run", "stock"))

    assert (ours.returncode, ours.stdout, ours.stderr) == (stock.returncode, stock.stdout, stock.stderr)
    assert (text.splitlines()[-1] in ours.stderr) is (sys.version_info >= (3, 13))


@pytest.mark.parametrize(("command", "name"), [("no-such", "no-such"), ("no\x1b[31m\nsuch", r"'no\x1b[31m\nsuch'")])
def test_a_command_that_does_not_exist_is_one_line(start, command, name):
    """With the exit status that shells have for it, and nothing that a terminal acts upon."""
    result = start("run", command, check=False)

    assert (result.returncode, result.stdout) == (127, "")
    assert result.stderr == f"otel-fastpath: {name}: command not found\n"


@pytest.mark.parametrize("words", [[], ["--"], ["--help"]])
def test_without_a_command_it_prints_its_usage(start, words):
    """And exits as other commands do."""
    result = start("run", *words, check=False)

    assert "otel-fastpath run [--] COMMAND [ARGUMENT ...]" in result.stdout + result.stderr
    assert result.returncode == (0 if words == ["--help"] else 2)


def test_two_dashes_end_the_options(start, program):
    """As of other commands."""
    assert start("run", "--", sys.executable, program("print('here')")).stdout == "here\n"


def test_another_command_replaces_the_process(start):
    """It is not Python, and has the same process."""
    result = start("run", "sh", "-c", "echo $PYTHONPATH")

    assert "auto_instrumentation" in result.stdout


CHILDREN = """
import subprocess, sys
from multiprocessing import get_context
sys.path.insert(0, ".")
import child

if __name__ == "__main__":
    subprocess.run([sys.executable, "child.py"], check=True)
    process = get_context("spawn").Process(target=child.work, args=("spawned",))
    process.start()
    process.join()
"""
CHILD = """
def work(name):
    from opentelemetry import trace
    with trace.get_tracer("service").start_as_current_span(name):
        pass
    trace.get_tracer_provider().force_flush()

if __name__ == "__main__":
    work("subprocess")
"""


@needs("opentelemetry-instrumentation", "0.63b0", "the first that leaves child processes its folder in PYTHONPATH")
def test_child_processes_have_telemetry(start, program):
    """Those that the program starts, and those of multiprocessing."""
    program(CHILD, "child.py")
    path = program(CHILDREN)
    ours, stock = (start(way, sys.executable, path) for way in ("run", "stock"))

    assert sorted(span["name"] for span in spans(ours.stdout)) == ["spawned", "subprocess"]
    assert spans(ours.stdout) == spans(stock.stdout)


@pytest.mark.parametrize("outer", ["stock", "lazy", "run"])
def test_within_another_it_sets_up_once(start, program, outer):
    """A program that starts itself again, or a command line that has both."""
    path = program(TRACES.format(name="work"))
    result = start(outer, *command("run", sys.executable, path))

    assert [span["name"] for span in spans(result.stdout)] == ["work"]
    assert result.stderr == ""


def test_the_environments_own_sitecustomize_does_not_hide_opentelemetrys(start, program, tmp_path):
    """As with `opentelemetry-instrument`, whose folder is the first."""
    program("print('own')", "sitecustomize.py")
    path = program(TRACES.format(name="work"))
    result = start("run", sys.executable, path, PYTHONPATH=str(tmp_path))

    assert [span["name"] for span in spans(result.stdout)] == ["work"]


SERVED = """
import flask

app = flask.Flask("served")

@app.get("/items/<int:item>")
def read(item):
    return str(item)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn is not for Windows")
@pytest.mark.parametrize(
    ("way", "preload"),
    [
        ("lazy", True),
        ("run", False),
        pytest.param("lazy", False, marks=pytest.mark.slow),
        pytest.param("run", True, marks=pytest.mark.slow),
    ],
)
def test_gunicorn_has_the_same_telemetry(environment, used, program, tmp_path, way, preload):
    """Whether the application is imported by the master, before it forks, or by each worker."""
    used.add("flask")
    pytest.importorskip("flask")
    pytest.importorskip("gunicorn")
    program(SERVED, "served.py")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = [served(environment, tmp_path, each, port, preload=preload) for each in ("stock", way)]

    assert [span["name"] for span in found[1]] == ["GET /items/<int:item>"]
    assert found[1] == found[0]


def served(environment, folder, way, port, *, preload):
    """The spans of a request to a service under gunicorn."""
    variables = environment(way, OTEL_BSP_SCHEDULE_DELAY="100")
    words = command(way, SCRIPTS / "gunicorn", "served:app", "--bind", f"127.0.0.1:{port}", "--workers", "1")
    output = folder / f"{way}.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [*words, *(["--preload"] if preload else [])], env=variables, cwd=folder, stdout=file, stderr=file
        )
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/items/1", timeout=10) as answer:
                        assert answer.read() == b"1"
                    break
                except OSError:
                    assert time.monotonic() < until, output.read_text()
                    assert process.poll() is None, output.read_text()
                    time.sleep(0.1)
            while not (found := spans(output.read_text())):
                assert time.monotonic() < until, output.read_text()
                time.sleep(0.1)
        finally:
            process.terminate()
            process.wait(30)
    for span in found:
        # The client's.
        span["attributes"].pop("net.peer.port", None)
    return found
