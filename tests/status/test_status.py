"""`otel-fastpath status` says what became of every patch: readable on a terminal, and as JSON."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import astuple
from importlib import metadata
from pathlib import Path

import pytest

from otel_fastpath import compiled, settings, status
from otel_fastpath.patching.instrumentor_report import StatusReport, TracerStatus
from otel_fastpath.patching.patch import Row, State
from otel_fastpath.status import Status

WIDTH = 100
COLUMNS = ("name", "target", "state", "reason", "why", "unknown")
SHORT = Row("a.short", "module:name", State.APPLIED, "", "Why.")
LONG = Row(
    "tracer.start_as_current_span",
    "opentelemetry.sdk.trace:Tracer.start_as_current_span",
    State.SKIPPED,
    "the source of opentelemetry.sdk.trace:Tracer.start_as_current_span (fingerprint 0123456789ab) is not one this "
    "patch was written for",
    "Why.",
)


def example(**changes):
    """A status with these facts."""
    facts = {
        "version": "1.2",
        "core": "c",
        "why_not_compiled": "",
        "python": "CPython 3.13.0",
        "distributions": {"opentelemetry-api": "1.45.1", "opentelemetry-sdk": None},
        "faults": {},
        "notes": (),
        "rows": (SHORT, LONG),
    }
    return Status(**{**facts, **changes})


def test_the_text_is_a_table():
    """Name, state and target in columns, the reason below its target, and nothing wider than asked for."""
    lines = status.as_text(example(), WIDTH).splitlines()

    assert lines == [
        "otel-fastpath 1.2, compiled core, CPython 3.13.0",
        "1 applied, 1 skipped",
        "opentelemetry-api 1.45.1, opentelemetry-sdk not installed",
        "0 faults",
        "",
        "NAME                          STATE    TARGET, AND WHY IT IS NOT APPLIED",
        "a.short                       applied  module:name",
        "tracer.start_as_current_span  skipped  opentelemetry.sdk.trace:Tracer.start_as_current_span",
        "                                       the source of",
        "                                       opentelemetry.sdk.trace:Tracer.start_as_current_span",
        "                                       (fingerprint 0123456789ab) is not one this patch was written",
        "                                       for",
    ]
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"core": "py", "why_not_compiled": "OTEL_FASTPATH_CORE=py"},
            "otel-fastpath 1.2, pure Python core (OTEL_FASTPATH_CORE=py), CPython 3.13.0",
        ),
        ({"core": ""}, "otel-fastpath 1.2, no core, CPython 3.13.0"),
        ({"faults": {"b": 1}}, "1 fault, stock's code ran instead: b 1"),
        ({"faults": {"b": 2, "a": 1}}, "3 faults, stock's code ran instead: a 1, b 2"),
        ({"notes": ("One thing.",)}, "Note: One thing."),
        ({"wrong_settings": ("A: 1 is not valid.",)}, "Wrong setting: A: 1 is not valid."),
        ({"not_loaded": ("flask: ImportError: no",)}, "Not loaded: flask: ImportError: no"),
    ],
)
def test_the_head_says_what_explains_the_rest(changes, line):
    """The core and why it is that one, faults by place, and notes."""
    assert line in status.as_text(example(**changes), WIDTH).splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_any_width_is_readable(width):
    """Reasons keep some room however narrow it is, a long target gets two lines, and no word is broken."""
    lines = [line.strip() for line in status.as_text(example(rows=(LONG,)), width).splitlines()]

    words = " ".join(lines).split()
    assert "0123456789ab)" in words
    assert ("opentelemetry.sdk.trace:" in words) == (width < WIDTH)
    assert ("Tracer.start_as_current_span" in lines) == (width < WIDTH)


def test_the_json_has_a_schema():
    """Every fact under a name that stays."""
    document = json.loads(status.as_json(example(faults={"a": 1})))

    assert document == {
        "schema": 1,
        "version": "1.2",
        "core": "c",
        "why_not_compiled": "",
        "python": "CPython 3.13.0",
        "distributions": {"opentelemetry-api": "1.45.1", "opentelemetry-sdk": None},
        "faults": {"a": 1},
        "notes": [],
        "wrong_settings": [],
        "tracers": [],
        "not_loaded": [],
        "not_installed": [],
        "left_out": {},
        "causes": [],
        "patches": [dict(zip(COLUMNS, astuple(row), strict=True)) for row in (SHORT, LONG)],
    }


WAY = TracerStatus(
    "checkout, the global provider",
    tuple(f"scope.{number}" for number in range(12)),
    "otel-fastpath",
    {"start": ("Ids are drawn here.",), "processors": ("A is called.", f"Spans are copied because of {'X' * 60}.")},
)


def test_the_text_has_a_section_about_tracers():
    """After the patches: their provider, the first of their names, and one sentence a line with its part before it."""
    lines = status.as_text(example(tracers=(WAY,)), 80).splitlines()

    assert lines[-8:] == [
        "",
        "TRACERS IN USE, AND WHICH WAY THEIR SPANS TAKE",
        "checkout, the global provider: scope.0, scope.1, scope.2, scope.3, scope.4,",
        "    scope.5, scope.6, scope.7, scope.8, scope.9 and 2 more",
        "  start       Ids are drawn here.",
        "  processors  A is called.",
        "              Spans are copied because of",
        f"                {'X' * 60}.",
    ]


def test_the_json_has_the_tracers():
    """All of their names, and the sentences by part."""
    (found,) = json.loads(status.as_json(example(tracers=(WAY,))))["tracers"]

    assert found == {
        "provider": WAY.provider,
        "tracers": list(WAY.tracers),
        "served_by": "otel-fastpath",
        "parts": {part: list(sentences) for part, sentences in WAY.parts.items()},
    }


def test_what_is_collected_has_the_tracers_of_the_report():
    """A plain list of rows has none."""
    assert status.collect(StatusReport([SHORT], [WAY])).tracers == (WAY,)
    assert status.collect([SHORT]).tracers == ()


def waits(name, module="opentelemetry.instrumentation.nowhere", state=State.WAITING):
    """A row of a patch that waits, or is off."""
    return Row(name, f"{module}:thing", state, f"{module} is not imported yet", "Why.")


ROWS = (
    SHORT,
    waits("db.one"),
    waits("db.two", "json"),
    waits("db.three", "json"),
    *(Row(f"http.{name}", "m:n", State.OFF, "by setting", "Why.") for name in "ab"),
    Row("http.c", "m:n", State.OFF, "by another", "Why."),
)


def test_the_short_table_has_what_concerns_this_environment():
    """Without what waits for a module that is not installed; what has the same reason is in one row."""
    found = status.collect(ROWS)

    assert found.not_installed == ("db.one",)
    text = status.as_text(found, WIDTH)
    assert text.splitlines()[1] == (
        "1 applied, 0 skipped, 2 waiting, 3 off, 1 for modules that are not installed (--all lists them)"
    )
    *_, table = text.partition("NAME")
    assert [line.split(maxsplit=2) for line in table.splitlines()[1:]] == [
        ["a.short", "applied", "module:name"],
        ["db.*", "waiting", "2 patches"],
        ["json", "is", "not imported yet"],
        ["http.*", "off", "2 patches"],
        ["by", "setting"],
        ["http.c", "off", "m:n"],
        ["by", "another"],
    ]


def test_the_whole_table_has_each_patch():
    """In the order of the status."""
    *_, table = status.as_text(status.collect(ROWS), WIDTH, is_whole=True).partition("NAME")
    lines = table.splitlines()

    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == [row.name for row in ROWS]


def test_states_have_colours():
    """Each its own; without them, the text is the same as on a plain terminal."""
    found = example(wrong_settings=("A: 1 is not valid.",))
    text = status.as_text(found, WIDTH, is_coloured=True)

    assert "\033[32mapplied\033[0m  module:name" in text
    assert "\033[1;31mskipped\033[0m" in text
    assert "\033[33mWrong setting: A: 1 is not valid.\033[0m" in text
    assert re.sub(r"\033\[[\d;]*m", "", text) == status.as_text(found, WIDTH)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_can_be_turned_off(variables, expected):
    """By the variable that other programs know, and by the kind of the terminal."""
    assert settings.wants_colour(variables) == expected


def test_this_process_is_described(instrumented, core, no_faults):
    """What is collected are the facts of this process."""
    no_faults.report("a place", ValueError())
    found = status.collect(instrumented.status())

    assert found.core == core
    assert found.faults == {"a place": 1}
    assert found.distributions["opentelemetry-sdk"]
    assert "tracer.start_span" in {row.name for row in found.rows}


@pytest.fixture
def command(environ, tmp_path):
    """Runs `otel-fastpath` in an empty folder, as a script or as a module."""
    environ.setenv("COLUMNS", str(WIDTH))
    script = str(Path(sys.executable).with_name("otel-fastpath"))

    def run(*arguments, as_module=False, **variables):
        return subprocess.run(
            [*((sys.executable, "-m", "otel_fastpath") if as_module else (script,)), *arguments],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.mark.parametrize("as_module", [False, True])
def test_the_command_prints_the_table(command, as_module):
    """The SDK's patches show as applied, and every line fits."""
    result = command("status", as_module=as_module)

    assert (result.returncode, result.stderr) == (0, "")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("tracer.start_span ")]
    assert line.split() == ["tracer.start_span", "applied", "opentelemetry.sdk.trace:Tracer.start_span"]
    # A name is never divided, so that it can be searched for: a line of one word may be longer.
    lines = [line for line in result.stdout.splitlines() if len(line.split()) > 1]
    assert max(map(len, lines)) <= WIDTH


def test_the_command_has_json_for_the_settings_of_the_environment(command):
    """As opentelemetry-instrument would: a service's own variables hold."""
    result = command("status", "--json", OTEL_FASTPATH_CORE="py", OTEL_FASTPATH_DISABLED="tracer.start_span")

    document = json.loads(result.stdout)
    states = {row["name"]: (row["state"], row["reason"]) for row in document["patches"]}
    assert (document["schema"], document["core"]) == (1, "py")
    assert states["tracer.start_span"] == ("off", "disabled by setting (tracer.start_span)")
    assert states["trace.use_span"] == ("applied", "")


def test_the_command_imports_what_is_named(command, tmp_path):
    """A module of the working folder is found, and what it prints is not in the way of the JSON."""
    (tmp_path / "service.py").write_text("print('starting')\nimport opentelemetry.propagate\n")

    result = command("status", "--json", "service")

    assert result.returncode == 0
    assert json.loads(result.stdout)["schema"] == 1
    assert result.stderr == "starting\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "ModuleNotFoundError: No module named 'service'"),
        ("raise RuntimeError('no\\ndatabase')", "RuntimeError: no database"),
        ("import sys; sys.exit('usage')", "SystemExit: usage"),
        ("def", "SyntaxError: invalid syntax (service.py, line 1)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(command, tmp_path, text, problem):
    """On stderr, with exit status 2 and nothing on stdout."""
    if text is not None:
        (tmp_path / "service.py").write_text(text)

    result = command("status", "service")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"otel-fastpath: service cannot be imported: {problem}\n"


@pytest.mark.parametrize(
    ("value", "states", "note"),
    [("*", {"applied"}, "opentelemetry-instrument loads none of this."), ("fastpath", {"off"}, "")],
)
def test_the_command_knows_what_is_not_loaded(command, value, states, note):
    """Where opentelemetry-instrument would not load us, the output says so."""
    result = command("status", "--json", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=value)

    document = json.loads(result.stdout)
    assert {row["state"] for row in document["patches"] if row["name"].startswith("tracer.")} == states
    assert "".join(document["notes"]).endswith(note)


def test_without_a_command_there_is_the_whole_help_and_an_error(command):
    """On stderr with exit status 2: a script that forgot the command does not look successful."""
    result = command()

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == command("--help").stdout


def test_the_version_names_the_installed_build(command):
    """The version of the package's metadata, and the build that `status` names in its first line."""
    result = command("--version")

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"otel-fastpath {metadata.version('otel-fastpath')}, ")
    assert result.stdout == command("status").stdout.partition("\n")[0] + "\n"


@pytest.fixture
def no_compiled_modules(monkeypatch):
    """A pure installation: none of the compiled modules is found."""
    monkeypatch.setattr(compiled, "EXTENSION_SUFFIXES", [])
    compiled.choose(None)
    yield
    monkeypatch.undo()
    compiled.choose(None)


@pytest.mark.usefixtures("no_compiled_modules")
def test_a_pure_installation_says_why_and_how_to_change_it():
    """In plain words: which interpreter, what it costs, why it is so, and the command that compiles."""
    python = f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}"
    found = status.collect((), ["One thing."])

    assert (found.core, found.why_not_compiled) == ("py", f"this installation has no compiled modules for {python}")
    assert found.notes[1:] == ("One thing.",)
    text = " ".join(status.as_text(found, WIDTH).split())
    assert "emits the same telemetry as the compiled one and uses more CPU time" in text
    assert "was built without a C compiler or with OTEL_FASTPATH_EXTENSION=off" in text
    assert "run: OTEL_FASTPATH_EXTENSION=require pip install --force-reinstall" in text


@pytest.mark.usefixtures("no_compiled_modules")
def test_another_interpreter_is_not_told_to_compile(monkeypatch):
    """The compiled core is for CPython."""
    monkeypatch.setattr(sys.implementation, "name", "pypy")

    (note,) = status.collect(()).notes

    assert note.endswith("The compiled core is available for CPython only.")


@pytest.mark.usefixtures("no_compiled_modules")
def test_a_pure_core_that_was_asked_for_needs_no_advice(monkeypatch):
    """The compiled modules are there, or one of them is not: neither is an installation without them."""
    monkeypatch.setattr(compiled, "EXTENSION_SUFFIXES", [".py"])
    monkeypatch.setattr(compiled, "TWINS", ("trace.context.scope",))
    compiled.choose("py")
    assert status.collect(()).notes == ()
    monkeypatch.setattr(compiled, "TWINS", ("trace.context.scope", "trace.context.nothing"))
    compiled.choose(None)
    assert compiled.implementation() == ("py", "compiled modules are missing: trace.context.nothing")


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("--help",), 0), (("status", "-h"), 0)])
def test_wrong_commands_are_explained(command, arguments, code):
    """Without a known sub-command: usage and exit status 2; help is help."""
    result = command(*arguments)

    assert result.returncode == code
    assert "usage: otel-fastpath" in result.stdout + result.stderr
