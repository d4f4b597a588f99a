"""The commands have one grammar: the same options, exit statuses and ways to say what is wrong."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from disabled_instrumentations import all_but

import otel_fastpath
from otel_fastpath.tools.common.arguments import REFUSED
from otel_fastpath.tools.common.exit_codes import ALWAYS, EXIT_CODES, Exit
from otel_fastpath.tools.common.served_application import with_application

PACKAGE = Path(otel_fastpath.__file__).parent
ROOT = PACKAGE.parent
sys.path.insert(0, str(ROOT / "docs"))
import commands_page  # noqa: E402  # found only from here on

PARSERS = commands_page.parsers()
# Command -> the folders with its code.
FOLDERS = {
    "try": ("trial",),
    "bench": ("bench",),
    "verify": ("verify",),
    "prove": ("prove",),
    "budget": ("budget",),
    "profile": ("profile",),
    "docs": ("manual",),
}
# Each ends soon, and prints something.
QUICK = {
    "status": ["--all"],
    "try": ["no-such-program"],
    "budget": ["schema"],
    "bench": ["--list", "--only", "span*"],
    "verify": ["no-such-program"],
    "prove": ["--write", "no-such-folder/file"],
    "profile": ["no-such-program"],
    "docs": ["patches"],
    "completion": ["bash"],
}

# So that no process imports all libraries.
LEAN = {**os.environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but("fastpath")}


def run(*arguments, **more):
    """The finished process of a command."""
    command = [sys.executable, "-m", "otel_fastpath", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, **more)


def test_each_command_has_exit_statuses():
    """In its help, and in the one table."""
    assert EXIT_CODES.keys() == PARSERS.keys()
    for name in REFUSED.keys() & PARSERS.keys():
        for code, meaning in EXIT_CODES[name].items():
            assert f"{code} {meaning}".replace("`", "") in PARSERS[name].epilog


@pytest.mark.source
def test_the_tables_of_the_page_are_those_of_the_source():
    """`make docs-tables` writes them."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert text == commands_page.page(text)
    rows = re.findall(r"^\| `?([\w]+)`? \| (\d+) \| (.+) \|$", text, re.MULTILINE)
    expected = {(name, code): meaning for name, codes in EXIT_CODES.items() for code, meaning in codes.items()}
    assert {(name, int(code)): meaning for name, code, meaning in rows} == expected | {
        ("each", code): meaning for code, meaning in ALWAYS.items()
    }


@pytest.mark.source
def test_the_schema_of_each_json_is_a_number():
    """It is increased when a key is renamed or removed."""
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))

    assert set(re.findall(r'"schema": (\S+),', text)) == {"SCHEMA"}
    assert set(re.findall(r"^SCHEMA: Final = (.*)$", text, re.MULTILINE)) == {"1"}


@pytest.mark.source
def test_no_other_page_has_such_a_table():
    """It is one table."""
    others = [path for path in (ROOT / "docs").glob("*.md") if path.name not in {"commands.md", "patches.md"}]

    assert [
        path.name for path in others if re.search(r"^\| (exit )?status \| meaning", path.read_text(), re.MULTILINE)
    ] == []


@pytest.mark.parametrize("name", FOLDERS)
def test_the_statuses_are_those_that_the_code_returns(name):
    """Each member of `Exit` that its modules name, no more and no fewer."""
    named = set()
    for folder in FOLDERS[name]:
        for path in (PACKAGE / "tools" / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Exit":
                    named.add(int(Exit[node.attr]))
    # Of all: 0, and 2 by `run_guarded`.
    assert named - {Exit.INTERRUPTED} | {0, 2} == EXIT_CODES[name].keys() | {0, 2}


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, option) for name in REFUSED for option in REFUSED[name][0]],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_explained(name, option):
    """One sentence names the option, its value, and the command that has it; the exit status is 2."""
    given = ["x"] if option == "COMMAND" else [option, "x"]
    done = run(*name.split(), *given)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"otel-fastpath: {name} {' '.join(given)}: it ")
    assert "; to " in line
    assert "use `otel-fastpath " in line


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "budget"])
def test_no_command_refuses_a_quiet_run(name):
    """Scripts may pass `--no-progress` to all."""
    parser = PARSERS.get(name)
    if parser is None:
        steps = commands_page._choices(commands_page._choices(commands_page._parser())["budget"])
        parser = steps[name.partition(" ")[2]]

    assert any("--no-progress" in action.option_strings for action in parser._actions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: expected one of status, run, try, "),
        (["budget", "chek"], "budget chek: expected one of check, compare, "),
        (["completion", "ksh"], "completion ksh: expected one of bash, zsh, fish"),
        (["prove", "--only", "x"], "--only: not expected here; `otel-fastpath prove --help` names what is"),
        (["budget", "check", "--pause", "x"], "--pause x: expected a number of seconds from 0 upwards"),
        (["budget", "check", "--pause", "-1"], "--pause -1: expected a number of seconds from 0 upwards"),
        (["try", "--status", "99", "y"], "--status 99: expected a status of HTTP, from 100 to 599"),
        (["status", "python3", "-X", "dev", "a"], "status python3 -X dev a: expected an application, as in "),
        (["status", "sh", "-c", "app"], "status sh -c app: expected an application, as in `otel-fastpath status"),
        (["status", "app", "--nothing"], "--nothing: not expected here; `otel-fastpath status --help` names what is"),
        (
            ["verify", "--load", "no-such-one", "--ready", "http://localhost/", "x"],
            "--load no-such-one: no such",
        ),
        (["bench", "--nothing"], "--nothing: not expected here; `otel-fastpath bench --help` names what is"),
        (["docs", "a", "b"], "b: not expected here; `otel-fastpath docs --help` names what is"),
        (["try", "--clients", "x", "y"], "--clients x: expected a number from 1 upwards"),
        (["verify", "--seconds", "nan", "y"], "--seconds nan: expected a number of seconds above 0"),
        (["bench", "--cycles", "0"], "--cycles 0: expected a number from 1 upwards"),
        (["budget", "check", "--pairs", "x"], "--pairs x: expected a number from 1 upwards"),
        (["prove", "--programs", "²"], "--programs ²: expected a number from 1 upwards"),
        (["status", "--pid", "x"], "--pid x: expected the id of a process, a number"),
        (["status", "--pid", "1", "app:app"], "status --pid 1 app:app: expected one of both"),
        (["status", "python", "app.py"], "status python app.py: expected an application, as in `otel-fastpath status"),
        (
            ["status", "gunicorn", "-w", "2"],
            "status gunicorn -w 2: expected an application, as in `otel-fastpath status",
        ),
        (["profile", "--url", "http://192.0.2.1/", "x"], "--url http://192.0.2.1/: expected a URL of this machine"),
        (["verify", "--url", "x", "y"], "--url x: expected a URL such as"),
        (["verify", "--url", "http://localhost/", "--ready", "x", "y"], "--url http://localhost/: expected no --ready"),
        (
            ["docs", "gunicron"],
            "docs gunicron: expected the name of a page; near it: gunicorn; `otel-fastpath docs` lists all",
        ),
    ],
)
def test_an_error_names_the_value_and_what_was_expected(arguments, message):
    """In one line, with exit status 2."""
    done = run(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"otel-fastpath: {message}")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["app:app", "--json"], ["app:app", "--json=-"]),
        (["--json", "openai"], ["--json=-", "openai"]),
        (["--json", "s.json", "app"], ["--json", "s.json", "app"]),
        (["--json", "-", "app"], ["--json", "-", "app"]),
        (["--json", "/srv/s.txt", "app"], ["--json", "/srv/s.txt", "app"]),
        (["uvicorn", "--app-dir", "a b", "c:d"], ["--app-dir=a b", "c:d"]),
        (["gunicorn", "c:d", "--chdir=e"], ["--chdir=e", "c:d"]),
        (["waitress-serve", "--call", "a:b"], ["a:b()"]),
        (["--app-dir", "src", "a:b", "--all"], ["--app-dir", "src", "a:b", "--all"]),
        (["uvicorn", "shop.main:app", "--port", "8000"], ["shop.main:app"]),
        (
            ["--as-is", "gunicorn", "-k", "uvicorn.workers.UvicornWorker", "-b", "localhost:80", "a:b()"],
            ["--as-is", "a:b()"],
        ),
        (["--html", "s.html", "uvicorn", "--factory", "app:create"], ["--html", "s.html", "app:create()"]),
        (["opentelemetry-instrument", "python3.13", "-m", "hypercorn", "a:b"], ["a:b"]),
        (["1234"], ["1234"]),
    ],
)
def test_the_application_is_taken_from_a_command(given, expected):
    """Of servers; what is no command stays as it is."""
    assert with_application(given) == expected


def test_the_application_is_imported_from_the_folder_of_the_server(tmp_path):
    """With the files that it reads there; a function without parameters makes it, as uvicorn has it."""
    (tmp_path / "my app").mkdir()
    (tmp_path / "my app" / "there.py").write_text(
        "def create():\n"
        "    assert open('there.txt').read() == 'there'\n"
        "    import sqlite3\n"
        "    return lambda environ, start_response: []\n",
        encoding="utf-8",
    )
    (tmp_path / "my app" / "there.txt").write_text("there", encoding="utf-8")
    given = ["--json", "s.json", "gunicorn", "--chdir", "my app", "there:create"]

    assert run("status", *given, cwd=tmp_path).returncode == 0
    patches = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))["patches"]
    assert "applied" in {patch["state"] for patch in patches if patch["name"].startswith("sqlite3")}
    done = run("status", "uvicorn", "--app-dir", "my app", "there:create", cwd=tmp_path)
    assert "there:create cannot be imported: FileNotFoundError: " in done.stderr
    done = run("status", "gunicorn", "--chdir", "nowhere", "there:create", cwd=tmp_path)
    assert done.stderr == "otel-fastpath: --chdir nowhere: No such file or directory\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no shell there closes a stream")
@pytest.mark.parametrize("arguments", [["docs"], ["status"], ["try", "no-such-program"]], ids=str)
def test_a_stream_that_the_caller_has_closed_is_no_error(arguments):
    """As by `>&-`: what would be written there goes nowhere."""
    for closed, other in ((1, "stderr"), (2, "stdout")):
        shell = f'"$@" {closed}>&-'
        done = subprocess.run(
            ["/bin/sh", "-c", shell, "sh", sys.executable, "-m", "otel_fastpath", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
            env=LEAN,
        )

        assert done.returncode == (4 if arguments[0] == "try" else 0), done.stderr
        assert "Traceback" not in getattr(done, other)


def test_the_status_of_an_application_can_be_a_page(tmp_path):
    """With the JSON beside it, and the text on the terminal."""
    (tmp_path / "app.py").write_text("async def app(scope, receive, send): ...\n", encoding="utf-8")
    done = run("status", "--html", "s.html", "--json", "s.json", "uvicorn", "app:app", "--port", "1", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    applied = [patch["name"] for patch in found["patches"] if patch["state"] == "applied"]
    assert applied
    assert all(f">{name}<" in page for name in applied)
    assert f"{len(applied)} applied" in done.stdout


@pytest.mark.parametrize(
    ("name", "arguments"),
    [*QUICK.items(), pytest.param("prove", ["--programs", "1"], marks=pytest.mark.slow, id="prove to its end")],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_a_closed_pipe_is_silent(name, arguments):
    """As of `| head`, and of `2>&1 | head`: no traceback, and an exit status that shells know or the command's own."""
    # What a program of `run` prints about its own pipe is its own.
    assert QUICK.keys() == PARSERS.keys() - {"run"}
    for is_whole in (False, True):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "otel_fastpath", name, *arguments]
        try:
            done = subprocess.run(
                command,
                stdout=writing,
                stderr=writing if is_whole else subprocess.PIPE,
                text=True,
                check=False,
                timeout=200,
                env=LEAN,
            )
        finally:
            os.close(writing)

        assert done.returncode in {0, 2, 4, 120, 141}
        assert "Traceback" not in (done.stderr or "")
        assert "Broken" not in (done.stderr or "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_commands_and_options(shell):
    """Of each shell; shtab makes it."""
    pytest.importorskip("shtab")
    done = run("completion", shell)

    assert done.returncode == 0, done.stderr
    for word in ("status", "verify", "no-progress", "stock-runs"):
        assert word in done.stdout
