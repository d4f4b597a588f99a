"""`otel-fastpath status PID`: a running process is asked for its status through a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from otel_fastpath.__main__ import main
from otel_fastpath.status import running

SERVICE = """
import os, sys
from opentelemetry.sdk.trace import TracerProvider
from otel_fastpath import FastpathInstrumentor

FastpathInstrumentor().instrument(core=sys.argv[1])
tracer = TracerProvider(shutdown_on_exit=False).get_tracer("checkout")
tracer.start_span("span").end()
child = os.fork() if "fork" in sys.argv else None
os.write(1, b"%d\\n" % os.getpid())  # at once: two processes write to one pipe
# Until the test closes it.
sys.stdin.read()
"""


@pytest.fixture
def folder(environ, tmp_path):
    """The folder of requests, with nothing left in it after the test."""
    environ.setenv("OTEL_FASTPATH_STATUS_FOLDER", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def serve(core, folder):  # noqa: ARG001  # it sets the variable
    """Runs the service; gives as many ids of its processes as are asked for."""
    made = []

    def run(*arguments, number=1):
        program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(SERVICE), core, *arguments]
        service = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made.append(service)
        return [int(service.stdout.readline()) for _ in range(number)]

    yield run
    for each in made:
        each.stdin.close()
        assert each.wait(30) == 0
        each.stdout.close()


def waiting():
    """The threads that wait for requests."""
    return [each for each in threading.enumerate() if each.name == "otel-fastpath-status"]


def ended(threads):
    """Whether these threads end soon."""
    for each in threads:
        each.join(10)
    return not any(each.is_alive() for each in threads)


def test_a_running_process_answers(serve, core, capsys):
    """With its own status: its core, its patches and its tracers, as JSON and as text, as often as it is asked."""
    (process,) = serve()

    assert main(["status", "--json", str(process)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["core"] == core
    assert [way["tracers"] for way in document["tracers"]] == [["checkout"]]
    assert main(["status", str(process)]) == 0
    short = capsys.readouterr().out.splitlines()
    assert "TRACERS IN USE, AND WHICH WAY THEIR SPANS TAKE" in short
    assert main(["status", "--all", str(process)]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(short)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_answers(serve, capsys):
    """Under its own process id, as its parent does."""
    processes = serve("fork", number=2)

    assert len(set(processes)) == 2
    for process in processes:
        assert main(["status", "--json", str(process)]) == 0
        assert json.loads(capsys.readouterr().out)["schema"] == 1


def test_a_process_that_does_not_answer_is_told(folder, monkeypatch, capsys):
    """On stderr, with exit status 2; the request does not stay."""
    monkeypatch.setattr(running, "PATIENCE", 0.1)

    assert main(["status", str(os.getpid())]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(f"otel-fastpath: process {os.getpid()} cannot be asked: no answer within 0.1 seconds, as ")
    assert list(folder.iterdir()) == []


def test_without_the_folder_nobody_can_be_asked(environ, capsys):
    """The message names the variable."""
    environ.delenv("OTEL_FASTPATH_STATUS_FOLDER", raising=False)

    assert main(["status", "1"]) == 2
    assert "OTEL_FASTPATH_STATUS_FOLDER" in capsys.readouterr().err


def test_the_thread_ends_with_the_instrumentation(instrumentor, folder):
    """There is one while the process is instrumented with a folder, and none otherwise."""
    assert waiting() == []
    instrumentor.instrument(status_folder=str(folder))
    threads = waiting()
    assert len(threads) == 1
    instrumentor.uninstrument()

    assert ended(threads)


def test_a_status_that_fails_leaves_the_thread_alive(folder, no_faults, monkeypatch):
    """The fault is counted, and the next request is answered."""
    monkeypatch.setattr(running, "INTERVAL", 0.01)
    results = iter([[]])

    def report():
        if not no_faults.counts():
            raise ValueError
        return next(results)

    running.answer(str(folder), report)
    threads = waiting()
    try:
        (folder / f"{os.getpid()}.request").touch()
        end = time.monotonic() + 10
        while not no_faults.counts() and time.monotonic() < end:
            time.sleep(0.01)
        found = running.ask(str(folder), os.getpid())
    finally:
        running.stop()

    assert no_faults.counts() == {"status": 1}
    assert json.loads(found["json"])["patches"] == []
    assert ended(threads)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links on this platform")
def test_a_link_is_not_written_through(folder, monkeypatch, tmp_path_factory):
    """A file of another user's cannot be made to be overwritten."""
    monkeypatch.setattr(running, "INTERVAL", 0.01)
    target = tmp_path_factory.mktemp("other") / "file"
    target.write_text("kept")
    for ending in ("partial", "status"):
        (folder / f"{os.getpid()}.{ending}").symlink_to(target)
    running.answer(str(folder), list)
    threads = waiting()
    try:
        running.ask(str(folder), os.getpid())
    finally:
        running.stop()

    assert target.read_text() == "kept"
    assert ended(threads)


@pytest.fixture
def answering(folder, monkeypatch):
    """Puts a file at the place of this process's answer as soon as there is a request: `answering(make)`."""
    threads = []

    def run(make):
        request, answer = (folder / f"{os.getpid()}.{ending}" for ending in ("request", "status"))

        def wait():
            end = time.monotonic() + 10
            while not request.exists() and time.monotonic() < end:
                time.sleep(0.01)
            partial = answer.with_suffix(".forged")
            make(partial)
            partial.replace(answer)

        threads.append(threading.Thread(target=wait))
        threads[-1].start()

    monkeypatch.setattr(running, "PATIENCE", 10)
    yield run
    for each in threads:
        each.join()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links on this platform")
def test_a_link_in_the_place_of_a_request_is_not_followed(folder, monkeypatch, tmp_path_factory):
    """Neither by who asks, which would make a file elsewhere, nor by who answers."""
    monkeypatch.setattr(running, "INTERVAL", 0.01)
    monkeypatch.setattr(running, "PATIENCE", 0.2)
    target = tmp_path_factory.mktemp("other") / "file"
    request = folder / f"{os.getpid()}.request"
    request.symlink_to(target)

    with pytest.raises(TimeoutError):
        running.ask(str(folder), os.getpid())
    assert not target.exists()
    target.write_text("kept")
    request.symlink_to(target)
    running.answer(str(folder), list)
    threads = waiting()
    time.sleep(0.1)
    running.stop()

    assert ended(threads)
    assert list(folder.iterdir()) == [request]
    request.unlink()
    assert target.read_text() == "kept"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners on this platform")
@pytest.mark.parametrize("kind", ["others may write", "another user's", "a link", "a pipe", "no JSON", "no status"])
def test_a_foreign_answer_is_refused(folder, answering, capsys, kind, tmp_path_factory):
    """With one line on stderr and exit status 2."""
    if kind == "another user's" and os.getuid():
        pytest.skip("only root can give files away")

    def make(path):
        if kind == "a link":
            target = tmp_path_factory.mktemp("other") / "file"
            target.write_text('{"text": "forged"}')
            path.symlink_to(target)
        elif kind == "a pipe":
            os.mkfifo(path)
        else:
            path.write_text({"no JSON": "forged", "no status": "[1]"}.get(kind, '{"text": "forged"}'))
            path.chmod(0o666 if kind == "others may write" else 0o600)
            if kind == "another user's":
                os.chown(path, 12345, 12345)

    answering(make)

    assert main(["status", str(os.getpid())]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("otel-fastpath: ")
    assert "forged" not in err
    assert err.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_an_answer_cannot_steer_the_terminal(folder, answering, capsys):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Escape sequences are printed as text; lines stay lines."""
    answering(
        lambda path: (
            path.write_text(json.dumps({"text": "one\x1b[2J\x9b1m\rtwo\nthree é \u202e"})) and path.chmod(0o600)
        )
    )

    assert main(["status", str(os.getpid())]) == 0
    assert capsys.readouterr().out == "one\\x1b[2J\\x9b1m\\rtwo\nthree é \\u202e\n"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners on this platform")
def test_a_folder_that_others_can_write_to_is_refused(folder, capsys):
    """They could put their own files there; with the sticky bit, they could not replace those of this user."""
    folder.chmod(0o777)
    assert main(["status", str(os.getpid())]) == 2
    assert "is not a folder that only this user can write to" in capsys.readouterr().err
    folder.chmod(0o700)


@pytest.mark.parametrize("machine", ["", "[]", "{", '{"patches": 1}'])
def test_an_answer_that_is_no_status_makes_no_page(folder, answering, capsys, tmp_path, machine):  # noqa: ARG001  # likewise
    """One line, and no file."""
    answering(lambda path: path.write_text(json.dumps({"text": "one", "json": machine})) and path.chmod(0o600))

    assert main(["status", "--html", str(tmp_path / "s.html"), "--pid", str(os.getpid())]) == 2
    assert f"status --pid {os.getpid()}: its answer is not a status" in capsys.readouterr().err
    assert not (tmp_path / "s.html").exists()
