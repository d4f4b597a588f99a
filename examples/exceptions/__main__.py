"""Run the service under load and print its growing table of exceptions, then the exceptions of its spans.

python -m examples.exceptions
python -m examples.exceptions --rounds 5 --requests 200
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from itertools import cycle, islice

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor, exceptions

# In turns: one in four items is missing, every other order fails.
PATHS = (
    "/items/1",
    "/items/2",
    "/items/9",
    "/price?text=12",
    "/price?text=x",
    "/order/1",
    "/order/2",
    "/slow",
    "/body",
)


async def load(client: httpx.AsyncClient, requests: int) -> None:
    """Make so many requests, a few at a time."""
    paths = islice(cycle(PATHS), requests)

    async def visitor() -> None:
        for path in paths:
            await client.get(path)

    await asyncio.gather(*(visitor() for _ in range(4)))


async def serve(rounds: int, requests: int) -> None:
    """Run the service in this process, and ask it for its table after each round."""
    from examples.exceptions.service import app  # noqa: PLC0415  # once it is instrumented

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        for number in range(1, rounds + 1):
            await load(client, requests)
            print(f"after {number * requests} requests\n{(await client.get('/exceptions')).text}")


def operations(spans: InMemorySpanExporter) -> dict[str, tuple[int, int]]:
    """The number of server spans of each name, and the number of exceptions in all of them."""
    found: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for span in spans.get_finished_spans():
        raised = (span.attributes or {}).get("cpython.exceptions")
        if isinstance(raised, int):
            count, total = found[span.name]
            found[span.name] = (count + 1, total + raised)
    return dict(found)


def main() -> int:
    """Run it.

    Returns:
        The exit code: 1 if exceptions cannot be counted.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="tables to print (default %(default)s)")
    parser.add_argument("--requests", type=int, default=900, help="requests before each (default %(default)s)")
    options = parser.parse_args()
    # FastAPI makes a server span of each request where a provider is set.
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    # Without `mine` there is more: what the standard library and FastAPI raise and handle inside.
    FastpathInstrumentor().instrument(
        exceptions="handled,code,operations", exceptions_modules="mine", tracer_provider=provider
    )
    if not exceptions.is_counting():
        print(exceptions.status()[0].reason)
        return 1
    asyncio.run(serve(options.rounds, options.requests))
    print("exceptions per server span")
    for name, (count, total) in sorted(operations(spans).items()):
        print(f"{total / count:8.2f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
