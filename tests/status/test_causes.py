"""Patches that are skipped because a release is not known yet."""

from __future__ import annotations

import json

import pytest

from otel_fastpath import status
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import Row, State
from otel_fastpath.status.causes import causes

VERSIONS = {
    "opentelemetry-sdk": "1.46.0",
    "opentelemetry-instrumentation-asgi": "0.67b0",
    "opentelemetry-api": "1.45.10",
}
END = "opentelemetry.sdk.trace:Span.end"
ASGI = "opentelemetry.instrumentation.asgi:OpenTelemetryMiddleware.__call__"
ATTACH = "opentelemetry.context:attach"


def skipped(name, unknown, state=State.SKIPPED):
    """A row of such a patch."""
    return Row(name, "module:name", state, "the source is not one", f"{name} costs much.", unknown)


ROWS = [
    skipped("asgi.request", ASGI),
    skipped("span.end", END),
    skipped("context", ATTACH),
    skipped("span.other", END),
    skipped("foreign", ""),
    skipped("applied", ATTACH, State.APPLIED),
]


@pytest.fixture(autouse=True)
def releases(monkeypatch):
    """These distributions are installed."""
    monkeypatch.setattr(interpreter, "installed", lambda name: [(VERSIONS[name], "")] if name in VERSIONS else [])
    monkeypatch.setattr(interpreter, "version", VERSIONS.get)


def test_the_newest_release_is_first():
    """With all patches that a function is the cause of."""
    found = causes(ROWS)

    assert [(each.distribution, each.version, each.function, list(each.costs)) for each in found] == [
        ("opentelemetry-sdk", "1.46.0", END, ["span.end", "span.other"]),
        ("opentelemetry-api", "1.45.10", ATTACH, ["context", "applied"]),
        ("opentelemetry-instrumentation-asgi", "0.67b0", ASGI, ["asgi.request"]),
    ]


def test_the_text_says_what_it_costs():
    """The table has the others."""
    lines = status.as_text(status.collect(ROWS), 100).splitlines()

    at = lines.index("STOCK'S CODE RUNS, BECAUSE A RELEASE IS NOT KNOWN YET")
    assert lines[at + 1 : at + 5] == [
        "opentelemetry-sdk 1.46.0 changed Span.end; `otel-fastpath prove` may accept it. Until then, stock's",
        "    function runs:",
        "  span.end  span.end costs much.",
        "  span.other  span.other costs much.",
    ]
    *_, table = "\n".join(lines).partition("NAME")
    assert [line.split()[0] for line in table.splitlines()[1:] if not line.startswith(" ")] == ["foreign", "applied"]


def test_the_whole_table_has_them_too():
    """With the reason of each."""
    *_, table = status.as_text(status.collect(ROWS), 100, is_whole=True).partition("NAME")

    assert [line.split()[0] for line in table.splitlines()[1:] if not line.startswith(" ")] == [
        row.name for row in ROWS
    ]


def test_the_json_has_the_causes():
    """And each row the function."""
    found = json.loads(status.as_json(status.collect(ROWS)))

    assert found["causes"][0] == {
        "distribution": "opentelemetry-sdk",
        "version": "1.46.0",
        "function": END,
        "costs": {"span.end": "span.end costs much.", "span.other": "span.other costs much."},
    }
    assert [row["unknown"] for row in found["patches"]] == [row.unknown for row in ROWS]


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("opentelemetry.sdk.trace.export", "opentelemetry-sdk"),
        ("opentelemetry.instrumentation.asgi", "opentelemetry-instrumentation-asgi"),
        ("opentelemetry.context", "opentelemetry-api"),
        ("fastapi.telemetry._api", "fastapi"),
    ],
)
def test_the_distribution_of_a_module(module, expected):
    """The longest part of the name that one is named after."""
    assert interpreter.distribution_of(module) == expected


def test_a_release_that_is_not_known(monkeypatch):
    """It is last, as is one whose version is no version."""
    monkeypatch.setattr(interpreter, "version", {"opentelemetry-sdk": None, "opentelemetry-api": "1.0"}.get)

    assert [each.version for each in causes(ROWS)] == ["1.0", "?", "?"]
