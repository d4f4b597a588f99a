"""A part of each driver's own tests passes with it wrapped; `make suite NAME=asyncpg` and its like run them all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from comparison import Suite, compare, status_of
from harness.paths import UnavailableError

HERE = Path(__file__).parent
# Passes unless the environment has a setting of ours, as a driver's test that we break.
SUITE = """
import os


class TestDriver:
    def test_steady(self):
        pass

    def test_frames(self):
        assert "OTEL_FASTPATH_SQLITE3" not in os.environ

    def test_failing(self):
        assert False
"""
# Plugins of this repository's own tests, which take a second to load.
LEAN = [word for name in ("hypothesispytest", "anyio", "benchmark") for word in ("-p", f"no:{name}")]

# Fails the first time that it is run with us.
ONCE = """
import os
from pathlib import Path

RUN = Path("run")


def test_second_time():
    with_us = "OTEL_FASTPATH_SQLITE3" in os.environ
    first = not RUN.exists()
    if with_us:
        RUN.touch()
    assert not (with_us and first)


def test_steady():
    pass
"""


@pytest.fixture
def suite(tmp_path):
    """A suite with a test that breaks with us, one that never breaks, and one that always fails."""
    tmp_path.joinpath("test_driver.py").write_text(SUITE, encoding="utf-8")
    return Suite(tmp_path, ["test_driver.py"], {"OTEL_FASTPATH_SQLITE3": "on"}, LEAN)


def test_what_cannot_be_downloaded_has_a_status_of_its_own(capsys):
    """As `make test-today` expects it: a registry that is out of reach breaks no test."""

    def main(release):
        raise UnavailableError(f"no release {release}")

    assert status_of(main, "1.0") == os.EX_UNAVAILABLE
    assert "no release 1.0" in capsys.readouterr().err


def test_a_test_that_breaks_is_an_error(suite, capsys):
    """It is named; one that fails without us, too, is none."""
    assert compare("driver", suite) == 1
    assert capsys.readouterr().out.splitlines() == [
        "driver: 2 tests pass bare, 1 with us",
        "broken: test_driver.py::TestDriver::test_frames",
    ]


def test_one_that_is_known_to_break_is_none(suite, capsys):
    """It is named with its reason."""
    assert compare("driver", suite._replace(known={"test_frames": "frames"})) == 0
    assert "broken, as is known: test_driver.py::TestDriver::test_frames: frames" in capsys.readouterr().out


def test_one_that_depends_on_timing_is_named(suite, capsys):
    """It is no error: the second time, it passes with us."""
    suite.folder.joinpath("test_driver.py").write_text(ONCE, encoding="utf-8")
    assert compare("driver", suite) == 0
    assert capsys.readouterr().out.splitlines() == [
        "driver: 2 tests pass bare, 1 with us",
        "depends on timing; run again, it passes with us or fails without us: test_driver.py::test_second_time",
    ]


def test_one_that_no_longer_breaks_is_an_error(suite, capsys):
    """The list would hide it if it broke again."""
    known = {"test_frames": "frames", "test_steady": "old", "test_elsewhere": "not run here"}
    assert compare("driver", suite._replace(known=known)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "no longer broken, and still listed: test_steady"


def test_without_tests_nothing_is_shown(suite, capsys):
    """What pytest says is printed."""
    assert compare("driver", suite._replace(tests=["test_missing.py"])) == 1
    assert "test_missing.py" in capsys.readouterr().out


def test_an_error_of_ours_is_an_error(suite, capsys):
    """Though no test noticed it."""
    text = "def test_fault():\n    from otel_fastpath.patching import faults\n    faults.report('here', ValueError())\n"
    suite.folder.joinpath("test_driver.py").write_text(text, encoding="utf-8")
    assert compare("driver", suite) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["an error of ours: here: 1"]


ASYNCPG = ("asyncpg", "test_cursor.py", "test_transaction.py", "test_prepare.py")
SQLALCHEMY = ("sqlalchemy", "--driver=sqlite", "test/engine/test_transaction.py", "test/engine/test_reconnect.py")
REDIS = ("redis", "test_pipeline.py", "test_asyncio/test_pipeline.py")


@pytest.mark.slow
@pytest.mark.timeout(1860)
@pytest.mark.parametrize("words", [ASYNCPG, SQLALCHEMY, REDIS], ids=lambda words: words[0])
def test_a_part_passes_as_without_us(words, request):
    """Statements, cursors and transactions; psycopg's need its repository."""
    name, *arguments = words
    if name == "asyncpg":
        request.getfixturevalue("bundled_postgresql")
    if name == "redis" and shutil.which("redis-server") is None:
        pytest.skip("no redis-server is installed")
    pytest.importorskip(name)
    done = subprocess.run(
        [sys.executable, HERE / f"run_{name}.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
