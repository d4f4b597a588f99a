"""Generates the tables of docs/telemetry.md: the metrics and spans that `telemetry="full"` adds.

Metrics are those that the wrappers create when they are configured, spans those that the patches and endpoints declare.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_fastpath.db.database import DATABASES
from otel_fastpath.db.pools import PoolMetrics
from otel_fastpath.features import FEATURES, LIBRARIES
from otel_fastpath.otlp.altering import counts as altered
from otel_fastpath.status import presence
from otel_fastpath.wrapping.library import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.wrapping.library import Library

PACKAGE = Path(__file__).parents[1] / "otel_fastpath"
PACKAGE = Path(__file__).parents[1] / "otel_fastpath"
BEGIN = "<!-- tables: begin -->\n"
METRICS = """
## Metrics

The last column says whether `same` has the metric, too, in the stock instrumentation's place.

| Part | Metric | Kind | Unit | What it is | `same` |
| --- | --- | --- | --- | --- | --- |
"""
SPANS = """
## Spans

| Part | Span | `same` |
| --- | --- | --- |
"""
NO_NAME = "every other call of the API, named after its path: `models.list`, `files.content`"


class Recorder:
    """A meter provider, and its only meter: keeps what is created."""

    def __init__(self) -> None:
        self.created: dict[str, tuple[str, str, str]] = {}

    def get_meter(self, *_args: Any, **_kwargs: Any) -> Recorder:
        """This object."""
        return self

    def __getattr__(self, method: str) -> Any:
        """A method that creates an instrument."""
        if not method.startswith("create_"):
            raise AttributeError(method)
        kind = method.removeprefix("create_").replace("_", " ")

        def create(name: str, *args: Any, **kwargs: Any) -> None:
            unit, description = (kwargs["unit"], kwargs["description"]) if kwargs.get("unit") else args[:2]
            self.created[name] = (kind, unit, description)

        return create


def _instruments(library: Library, *, is_same: bool) -> dict[str, tuple[str, str, str]]:
    """The instruments that a wrapper creates."""
    recorder = Recorder()
    library.configure(Setup({"meter_provider": recorder}, is_same=is_same))
    # Their metrics are created when the first pool is seen.
    if (PACKAGE / "db" / library.name / "pools.py").exists():
        database = DATABASES[library.name]
        active = database.active
        if active.options.metrics:
            PoolMetrics(active, lambda: active, "", ())
        database.stop()
    if library.stop is not None:
        library.stop()
    return recorder.created


def metrics_rows() -> Iterator[tuple[str, ...]]:
    """Part, name, kind, unit, description, and whether `same` has it."""
    kind = "observable up down counter"
    yield "patches", f"`{presence.NAME}`", kind, f"`{presence.UNIT}`", presence.DESCRIPTION, "no"
    left_out = presence.LEFT_OUT_NAME, presence.LEFT_OUT_UNIT, presence.LEFT_OUT_DESCRIPTION
    yield "patches", f"`{left_out[0]}`", "observable counter", f"`{left_out[1]}`", left_out[2], "no"
    yield "exporters", f"`{altered.NAME}`", "observable counter", f"`{altered.UNIT}`", altered.DESCRIPTION, "no"
    for own in (metric for feature in FEATURES for metric in feature.metrics()):
        yield own.part, f"`{own.name}`", own.kind, f"`{own.unit}`", own.description, "no"
    for library in LIBRARIES.wrappers:
        in_place = _instruments(library, is_same=True)
        for name, (kind, unit, description) in _instruments(library, is_same=False).items():
            yield library.name, f"`{name}`", kind, f"`{unit}`", description, _yes_or_no(name in in_place)


def spans_rows() -> Iterator[tuple[str, ...]]:
    """Part, span, and whether `same` has it."""
    for library in LIBRARIES.wrappers:
        yield from _of_openai() if library.name == "openai" else _of_patches(library)


def _of_patches(library: Library) -> Iterator[tuple[str, ...]]:
    beyond = [pattern for rival in library.rivals for pattern in (*rival.beyond, *rival.silent)]
    names: dict[tuple[str, bool], list[str]] = {}
    for patch in library.patches:
        # Others make a span if an option asks for it, or none.
        if "is a span" in patch.why or "is one span" in patch.why:
            is_same = bool(library.rivals) and not any(fnmatchcase(patch.name, pattern) for pattern in beyond)
            names.setdefault((patch.why, is_same), []).append(f"`{patch.name.partition('.')[2]}`")
    for (why, is_same), every in names.items():
        yield library.name, f"{why} {', '.join(every)}", _yes_or_no(is_same)


def _of_openai() -> Iterator[tuple[str, ...]]:
    from otel_fastpath.genai.openai import endpoints  # noqa: PLC0415  # a folder that can be deleted
    from otel_fastpath.genai.openai.realtime import sockets  # noqa: PLC0415  # likewise

    name = "openai"
    for operation, is_same in dict.fromkeys(
        (each.operation, each in endpoints.STOCK) for each in endpoints.TABLE.values()
    ):
        yield name, f"`{operation}`", _yes_or_no(is_same)
    for operation in dict.fromkeys(operation for operation, *_ in sockets.SESSIONS):
        yield name, f"`{operation}`: a websocket session", "no"
    yield name, NO_NAME, "no"


def _yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"


def page(text: str) -> str:
    """The text of docs/telemetry.md with its tables made again."""
    metrics, spans = ("".join(f"| {' | '.join(row)} |\n" for row in rows) for rows in (metrics_rows(), spans_rows()))
    return f"{text.partition(BEGIN)[0]}{BEGIN}{METRICS}{metrics}{SPANS}{spans}"
