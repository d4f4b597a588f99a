"""A day's slices: what is printed of them, and what the exit status says."""

from __future__ import annotations

import datetime as dt
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("asyncpg")
pytest.importorskip("sqlalchemy")

import today
from proofs import Proof
from schedule import Slice

DATE = dt.date(2026, 12, 1)
pytestmark = pytest.mark.source


@pytest.fixture
def day(monkeypatch, tmp_path, capsys):
    """Run a day with one slice of such a proof; gives the exit status and what was printed."""
    monkeypatch.setattr(today, "ROOT", tmp_path)
    monkeypatch.setattr(today, "LOGS", tmp_path / "logs")

    def go(program, items=("a", "b"), seconds=1, **settings):
        proof = Proof("spans", [sys.executable, "-c", program], items, seconds, **settings)
        monkeypatch.setattr(today, "slices_of", lambda _date, _proofs: [Slice(proof, tuple(items), 2, 3)])
        status = today.main(["--date", str(DATE)])
        return status, capsys.readouterr().out

    return go


def _read(file):
    """A file of a process, which may have ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_it_says_what_was_in_it(day):
    """The slice, its items, what came of it and how long it took."""
    status, printed = day("import sys; assert sys.argv[1:] == ['--only=a', '--only=b']", option="--only=")
    assert status == 0
    assert "spans: slice 2 of 3, 2 of 2:\n    a\n    b\n" in printed
    assert "Slow proofs of 2026-12-01, day 12 of 20:" in printed
    assert printed.splitlines()[-1].startswith("Slices: 1 passed, 0 failed, 0 not run, in ")


def test_a_slice_that_fails_is_an_error(day):
    """The end of what it printed is shown."""
    status, printed = day("import sys; print('line 7 reached the host'); sys.exit(2)")
    assert status == 1
    assert "line 7 reached the host" in printed
    assert "failed: exit status 2; all of it is in logs/spans.log" in printed
    assert "0 passed, 1 failed, 0 not run" in printed


def test_what_cannot_run_here_is_named(day):
    """An item by itself, and the proof where nothing of it can run; neither is an error."""
    status, printed = day("import sys; sys.exit(sys.argv[1:] != ['b'])", lacks=lambda item: "no Go" * (item == "a"))
    assert status == 0
    assert "    a (not run: no Go)\n    b\n" in printed
    status, printed = day("import sys; sys.exit(1)", lacks=lambda _item: "no Go")
    assert status == 0
    assert "not run: no Go" in printed
    assert "0 passed, 0 failed, 1 not run" in printed


def test_what_could_not_be_checked_is_no_error(day):
    """Where the proof says so with its exit status."""
    status, printed = day("import sys; print('no such release'); sys.exit(2)", unchecked=2)
    assert status == 0
    assert "no such release" in printed
    assert "not run: exit status 2" in printed


def test_what_a_registry_does_not_give_is_no_error(day):
    """Every proof says that with the same exit status."""
    status, printed = day("import sys; print('no such release'); sys.exit(69)")
    assert status == 0
    assert "no such release" in printed
    assert "not run: exit status 69" in printed


def test_what_hangs_is_stopped_and_an_error(day, monkeypatch):
    """With the processes that it started: nothing of it uses a processor any more."""
    monkeypatch.setattr(today, "_IDLE", 0.5)
    monkeypatch.setattr(today, "_LOOK", 0.1)
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    status, printed = day(program, seconds=0.01)
    assert status == 1
    assert "failed: stopped: it did nothing for 0 seconds" in printed


def test_what_is_slow_is_no_error(day, monkeypatch):
    """A busy machine gives it less than it needs: what works is stopped only when the time is over."""
    monkeypatch.setattr(today, "_IDLE", 0.5)
    monkeypatch.setattr(today, "_LOOK", 0.1)
    monkeypatch.setattr(today, "_LEAST_CPU", 0.01)
    monkeypatch.setattr(today, "LIMIT", 1.0)
    status, printed = day("while True: pass", seconds=0.01)
    assert status == 0
    assert "not run: to its end: the 1 seconds were over" in printed


def test_what_works_in_a_session_of_its_own_does_not_hang(day, monkeypatch, tmp_path):
    """As the suites do that a proof starts, and which it can stop so. Nothing of it goes on when the time is over."""
    monkeypatch.setattr(today, "_IDLE", 0.5)
    monkeypatch.setattr(today, "_LOOK", 0.1)
    monkeypatch.setattr(today, "_LEAST_CPU", 0.01)
    monkeypatch.setattr(today, "LIMIT", 3.0)
    program = "import subprocess, sys; subprocess.run(['timeout', '9', *sys.argv[2:]], start_new_session=True)"
    work = f"while True: pass  # {tmp_path}"
    status, printed = day(program, items=("--", sys.executable, "-c", work))
    assert status == 0
    assert "not run: to its end: the 3 seconds were over" in printed
    # A process that was killed takes a moment to end.
    until = time.monotonic() + 10
    while any(work.encode() in _read(each) for each in Path("/proc").glob("[0-9]*/cmdline")):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_is_stopped_may_end_its_servers(day, monkeypatch, tmp_path):
    """It is interrupted before it is killed."""
    monkeypatch.setattr(today, "LIMIT", 3.0)
    ended = tmp_path / "ended"
    program = f"""if True:
        import pathlib, signal, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            time.sleep(60)
        finally:
            pathlib.Path({str(ended)!r}).touch()
    """
    assert day(program)[0] == 0
    assert ended.exists()


def test_what_lacks_time_is_named(day, monkeypatch):
    """Neither what was not begun nor what was not finished is an error."""
    monkeypatch.setattr(today, "LIMIT", 0.2)
    status, printed = day("import time; time.sleep(60)")
    assert status == 0
    assert "not run: to its end: the 0 seconds were over" in printed
    monkeypatch.setattr(today, "LIMIT", -1.0)
    assert "not run: the -1 seconds were over" in day("import time; time.sleep(60)")[1]


def test_a_date_that_is_none_is_refused(capsys):
    """With the value and what was expected."""
    with pytest.raises(SystemExit):
        today.main(["--date", "tomorrow"])
    assert "'tomorrow' is no date: expected something like 2026-12-01" in capsys.readouterr().err
