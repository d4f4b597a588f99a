"""`otel-fastpath profile`: programs, modules and running processes; one clear error for the rest; no half files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from disabled_instrumentations import all_but

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
COMMAND = (sys.executable, "-m", "otel_fastpath", "profile", "--no-progress")
PROGRAM = """
import time
from opentelemetry.sdk.trace import TracerProvider

tracer = TracerProvider().get_tracer("shop")

def work():
    return sum(range(2_000))

def serve(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        with tracer.start_as_current_span("work"):
            work()

if __name__ == "__main__":
    serve({seconds})
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `shop.py`, a program that makes spans for some CPU time, and `endless.py`."""
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", all_but("fastpath"))
    for name, seconds in (("shop", 0.4), ("endless", 600)):
        tmp_path.joinpath(f"{name}.py").write_text(PROGRAM.format(seconds=seconds), encoding="utf-8")
    return tmp_path


def profile(folder, *arguments, code=0):
    """Run the command to its end; its output and its errors."""
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("command", [["shop.py"], ["-m", "shop"], [sys.executable, "shop.py"], ["--", "shop.py"]])
def test_a_program_is_profiled_to_its_end(folder, command):
    """A script, a module and a command; the result is the first line."""
    output, _ = profile(folder, *command)

    assert output.startswith("Telemetry takes ")
    assert "OpenTelemetry API" in output


def test_every_output_is_written(folder):
    """JSON, a page, speedscope's format and collapsed stacks, of the same profile."""
    names = {"json": "r.json", "html": "r.html", "speedscope": "s.json", "collapsed": "c.txt"}
    profile(folder, *(word for name, file in names.items() for word in (f"--{name}", file)), "shop.py")
    report = json.loads((folder / "r.json").read_text())
    scope = json.loads((folder / "s.json").read_text())
    lines = (folder / "c.txt").read_text().splitlines()
    listed = scope["profiles"][0]

    assert report["schema"] == 1
    assert report["share"]["direct"] <= report["share"]["total"] <= report["share"]["high"] <= 1
    assert sum(report["kinds"].values()) == pytest.approx(report["share"]["direct"])
    assert report["headline"] in (folder / "r.html").read_text()
    assert len(listed["samples"]) == len(listed["weights"])
    assert max(index for stack in listed["samples"] for index in stack) < len(scope["shared"]["frames"])
    assert sum(listed["weights"]) == pytest.approx(report["cpu"])
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == pytest.approx(report["cpu"] * 1e6, rel=0.01)
    assert sorted(path.name for path in folder.iterdir() if path.name[0] == ".") == []


def test_an_output_to_a_pipe_is_only_that(folder):
    """With a dash, standard output has the file, and the tables go to standard error."""
    output, errors = profile(folder, "--json", "-", "shop.py")

    assert json.loads(output)["headline"] in errors


def test_the_time_ends_it(folder):
    """A program that goes on is stopped as by Ctrl-C."""
    output, errors = profile(folder, "--seconds", "1", "endless.py")

    assert output.startswith("Telemetry takes ")
    assert "KeyboardInterrupt" in errors


def test_ctrl_c_leaves_a_report(folder):
    """What was recorded until then."""
    (folder / "noticed.py").write_text("import pathlib, shop\npathlib.Path('begun').touch()\nshop.serve(600)\n")
    process = subprocess.Popen(
        [*COMMAND, "--json", "r.json", "noticed.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not (folder / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=90)

    assert process.returncode == 0, errors
    assert output.startswith("Telemetry takes ")
    assert json.loads((folder / "r.json").read_text())["samples"] > 0


def test_nothing_recorded_leaves_nothing(folder):
    """A program that uses no CPU time, or is not Python: no file, and one line that says why."""
    _, errors = profile(folder, "--json", "r.json", "true", code=2)

    assert "nothing was recorded" in errors
    assert not (folder / "r.json").exists()
    _, errors = profile(folder, "--json", "r.json", "-m", "no_such_module", code=1)
    assert (
        "the program ended by itself with exit status 1\notel-fastpath: nothing was recorded: the program used"
        in errors
    )
    assert not (folder / "r.json").exists()


def test_the_exit_status_is_the_programs(folder):
    """A program that fails is no success, with a report or without one; one sentence says so."""
    (folder / "failing.py").write_text("import shop\nshop.serve(0.5)\nraise SystemExit(3)\n", encoding="utf-8")
    output, errors = profile(folder, "failing.py", code=3)

    assert output.startswith("Telemetry takes ")
    assert "the program ended by itself with exit status 3" in errors
    (folder / "killed.py").write_text("import os\nos.kill(os.getpid(), 9)\n", encoding="utf-8")
    _, errors = profile(folder, "killed.py", code=137)
    assert "killed before it could write" in errors


def test_a_set_up_of_opentelemetry_that_fails_is_the_reason(folder):
    """The profile begins where opentelemetry-instrument sets OpenTelemetry up."""
    launcher = os.path.join(os.path.dirname(sys.executable), "opentelemetry-instrument")  # noqa: PTH118, PTH120  # the link
    _, errors = profile(folder, launcher, "--traces_exporter", "missing", sys.executable, "shop.py", code=2)

    assert "nothing was recorded: OpenTelemetry was not set up in the program" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1234"], "1234: expected a command; a running process is --pid 1234"),
        ([], "expected a command, or --pid PID"),
        (["--pid", "1", "shop.py"], "expected a command, or --pid PID"),
        (["--pid", "x"], "x: expected the id of a process"),
        (["--pid", "999999999"], "there is no process 999999999"),
        (["-m"], "-m: expected the name of a module"),
        (["missing.py"], "missing.py: no such file"),
        (["no-such-program"], "no-such-program: no such program"),
        (["no\x1bprogram"], "no\\x1bprogram: no such program"),
        (["--seconds", "0", "shop.py"], "0: expected a number of seconds above 0"),
        (["--seconds", "nan", "shop.py"], "nan: expected a number of seconds above 0"),
        (["--requests", "-1", "shop.py"], "-1: expected a number from 1 upwards"),
        (["--rate", "5000", "shop.py"], "5000: expected a number from 1 to 1000"),
        (["--html", "/nowhere/r.html", "shop.py"], "--html /nowhere/r.html: this cannot be written"),
    ],
)
def test_a_bad_command_line_is_one_clear_error(folder, arguments, said):
    """At once, and not after the time of the profile."""
    output, errors = profile(folder, *arguments, code=2)

    assert output == ""
    assert errors.splitlines()[-1].endswith(said) or said in errors.splitlines()[-1]
    assert "Traceback" not in errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_children_are_profiled(folder):
    """As workers of a server: each process writes its own recording."""
    (folder / "forking.py").write_text(
        textwrap.dedent("""
            import os, shop
            children = []
            for _ in range(2):
                child = os.fork()
                if not child:
                    shop.serve(1)
                    raise SystemExit
                children.append(child)
            shop.serve(0.5)
            for child in children:
                os.waitpid(child, 0)
        """),
        encoding="utf-8",
    )
    profile(folder, "--json", "r.json", "forking.py")
    report = json.loads((folder / "r.json").read_text())

    assert report["processes"] == 3
    assert report["cpu"] > 1.5


def test_a_program_under_opentelemetry_instrument_is_profiled(folder):
    """It has a `sitecustomize` of its own; ours begins in its place, and the launcher is not what is profiled."""
    launcher = os.path.join(os.path.dirname(sys.executable), "opentelemetry-instrument")  # noqa: PTH118, PTH120  # the link
    exporters = [word for kind in ("traces", "metrics", "logs") for word in (f"--{kind}_exporter", "none")]
    output, _ = profile(folder, "--json", "-", launcher, *exporters, sys.executable, "shop.py")

    assert json.loads(output)["processes"] == 1


def test_a_running_process_answers_the_signal(folder):
    """Before Python 3.14, where a setting names the signal; the process goes on."""
    program = textwrap.dedent("""
        import otel_fastpath, shop
        otel_fastpath.FastpathInstrumentor().instrument()
        print("ready", flush=True)
        shop.serve(600)
    """)
    environ = {**os.environ, "OTEL_FASTPATH_PROFILE_SIGNAL": "SIGUSR2"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            done = subprocess.run(
                [*COMMAND, "--seconds", "1.5", "--pid", str(process.pid)],
                env=environ,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("Telemetry takes ")
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec is new in Python 3.14")
def test_a_running_process_is_profiled_without_a_setting(folder):
    """From Python 3.14 on, also one without otel-fastpath's instrumentation, more than once; it goes on."""
    program = "import shop; print('ready', flush=True); shop.serve(600)"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True)
    asked = [*COMMAND, "--seconds", "1.5", "--json", "r.json", "--pid", str(process.pid)]
    try:
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
            if "not permitted" in done.stderr or "Permission denied" in done.stderr:
                pytest.skip("this system lets no process look into another one")
            report = json.loads((folder / "r.json").read_text()) if done.returncode == 0 else {}
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("Telemetry takes ")
            assert report["share"]["direct"] > 0.1
            assert report["processes"] == 1
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec is new in Python 3.14")
def test_a_process_that_cannot_be_entered_is_one_clear_error(folder):
    """One that is not Python, and one that refuses."""
    refusing = {**os.environ, "PYTHON_DISABLE_REMOTE_DEBUG": "1"}
    for command in (["sleep", "60"], [sys.executable, "-c", "while True: pass"]):
        process = subprocess.Popen(command, env=refusing)
        try:
            time.sleep(1)
            output, errors = profile(folder, "--pid", str(process.pid), code=2)
            assert output == ""
            assert f"otel-fastpath: process {process.pid} cannot be profiled: " in errors
            assert "Traceback" not in errors
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()


@pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="this Python can ask any process of its version")
def test_a_process_that_cannot_be_asked_is_refused(folder):
    """One line says which setting is missing; nothing is sent to the process, which it could end."""
    _, errors = profile(folder, "--pid", str(os.getpid()), code=2)

    assert "OTEL_FASTPATH_PROFILE_SIGNAL" in errors
