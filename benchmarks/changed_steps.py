"""What is left of the gain of an operation while a step of it is changed: each function that patches rest on, in turn.

    python benchmarks/changed_steps.py [--only TEXT]

A release of OpenTelemetry may change any function. Here one of them gets another line that does nothing, so that its
fingerprint is unknown, and the instructions of the operation that it belongs to are counted: with stock, with this
package, and with this package while the function is changed. Needs valgrind.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.counting.callables import Running, load

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRACE = "opentelemetry.sdk.trace"
_BATCH = "opentelemetry.sdk._shared_internal:BatchProcessor.emit"
_ENCODER = "opentelemetry.exporter.otlp.proto.common._internal"
_METRICS = "opentelemetry.sdk.metrics._internal"
_SAMPLE = f"{_METRICS}.exemplar.exemplar_reservoir"
_ASGI = "opentelemetry.instrumentation.asgi:OpenTelemetryMiddleware"


class Operation(NamedTuple):
    """What is measured, and the functions that are changed in turn.

    Attributes:
        module: The module of this folder with the callables.
        bare: The work without telemetry.
        instrumented: The work with it.
        changed: The functions.
    """

    module: str
    bare: str
    instrumented: str
    changed: tuple[str, ...]


OPERATIONS = {
    "span": Operation(
        "bench_span",
        "nothing",
        "start_and_end",
        (f"{_TRACE}:Tracer.start_span", f"{_TRACE}:Span.end", f"{_TRACE}.export:BatchSpanProcessor.on_end", _BATCH),
    ),
    "span, current, 7 attributes": Operation(
        "bench_span",
        "nothing",
        "span_7_attributes",
        (f"{_TRACE}:Tracer.start_span", f"{_TRACE}:Span.end", f"{_TRACE}.export:BatchSpanProcessor.on_end", _BATCH),
    ),
    "record_exception, 5 frames": Operation(
        "bench_span", "start_and_end", "record_shallow", (f"{_TRACE}:Span.add_event",)
    ),
    "otlp, a span, 7 attributes": Operation(
        "bench_otlp",
        "plain_10",
        "plain_11",
        (f"{_ENCODER}.trace_encoder:_encode_span", f"{_ENCODER}:_encode_value"),
    ),
    "counter, 3 attributes": Operation(
        "bench_metrics",
        "nothing",
        "add",
        (
            f"{_METRICS}.aggregation:_SumAggregation.aggregate",
            f"{_METRICS}._view_instrument_match:_ViewInstrumentMatch.consume_measurement",
            f"{_METRICS}.instrument:Counter.add",
        ),
    ),
    "histogram, 3 attributes": Operation(
        "bench_metrics",
        "nothing",
        "record",
        (f"{_METRICS}.aggregation:_ExplicitBucketHistogramAggregation.aggregate",),
    ),
    "histogram, sampled span": Operation(
        "bench_metrics",
        "in_span",
        "record_in_span",
        (
            f"{_SAMPLE}:AlignedHistogramBucketExemplarReservoir._find_bucket_index",
            f"{_SAMPLE}:FixedSizeExemplarReservoirABC.offer",
        ),
    ),
    "collect 128 points": Operation(
        "bench_metrics",
        "record_all",
        "collect",
        (f"{_METRICS}.aggregation:_ExplicitBucketHistogramAggregation.collect",),
    ),
    "log record, 7 attributes": Operation("bench_logs", "nothing", "emit_7", (_BATCH,)),
    "ASGI request": Operation("bench_http_asgi", "request_bare", "request", (f"{_ASGI}.__call__",)),
}


class ChangedModule:
    """Finds one module, in which one function has another first line.

    Args:
        place: The function, as "module:qualified.name".
        folder: Where the file of the module is written.
        line: The line.
    """

    def __init__(self, place: str, folder: Path, line: str = "_changed = None") -> None:
        self._module, _, name = place.partition(":")
        self._path = name.split(".")
        self._folder = folder
        self._line = line

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> Any:
        """The module with the changed function."""
        found = importlib.machinery.PathFinder.find_spec(name, path) if name == self._module else None
        if found is None or found.origin is None:
            return None
        file = self._folder / f"{name}.py"
        text = Path(found.origin).read_text(encoding="utf-8")
        file.write_text(changed(text, self._path, self._line), encoding="utf-8")
        return importlib.util.spec_from_file_location(
            name, file, submodule_search_locations=found.submodule_search_locations
        )


def changed(text: str, path: Sequence[str], line: str) -> str:
    """The text of a module with this as the first line of one function."""
    node: Any = ast.parse(text)
    for part in path:
        node = next(each for each in node.body if getattr(each, "name", "") == part)
    is_docstring = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    first = node.body[1 if is_docstring and len(node.body) > 1 else 0]
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, f"{' ' * first.col_offset}{line}\n")
    return "".join(lines)


def _count(operation: Operation, side: str, place: str, library: str, folder: str) -> None:
    """In a process of its own, under valgrind: count the operation."""
    if place:
        sys.meta_path.insert(0, ChangedModule(place, Path(folder)))
    sys.path.insert(0, str(Path(__file__).parent))
    setups = importlib.import_module("setups")
    # With a changed source, patches may be skipped.
    setups.instrument = _instrument
    names = (operation.bare, operation.instrumented, side)
    bare, instrumented, setup = (load(f"{operation.module}:{name}", name) for name in names)
    with Running(bare, instrumented, setup) as running:
        native.dump_profiles(running, library, "0")
    if side != "stock":
        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # not for stock

        for row in FastpathInstrumentor().status():
            if row.state.value == "skipped" or (row.reason and row.state.value == "applied"):
                print(f"    {row.state.value}: {row.name}: {row.reason}", file=sys.stderr)


def _instrument(core: str) -> None:
    from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # not for stock

    FastpathInstrumentor().instrument(core=core, telemetry="full", disabled="exceptions")


def _counted(name: str, side: str, place: str, library: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--count", name, side, place, library, folder]
        subprocess.run(
            native.under_valgrind(command, Path(folder)),
            stdout=sys.stdout,
            check=True,
            preexec_fn=native.fix_addresses,
        )
        return native.read_instructions(Path(folder))["0"][0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="the operations and functions whose names contain this text")
    parser.add_argument("--core", default="compiled", choices=("compiled", "pure"))
    parser.add_argument("--count", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        name, *rest = options.count
        _count(OPERATIONS[name], *rest)
        return
    print("| Operation | Function that is changed | Stock | Here | While it is changed | Gain that stays |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        library = str(native.build(native.INSTRUCTIONS, Path(folder)))
        for name, operation in OPERATIONS.items():
            places = [each for each in operation.changed if options.only in f"{name} {each}"]
            if not places:
                continue
            stock, here = (_counted(name, side, "", library) for side in ("stock", options.core))
            for place in places:
                now = _counted(name, options.core, place, library)
                kept = (stock - now) / (stock - here)
                function = place.partition(":")[2]
                print(f"| {name} | `{function}` | {stock:,.0f} | {here:,.0f} | {now:,.0f} | {kept:.0%} |", flush=True)


if __name__ == "__main__":
    main()
