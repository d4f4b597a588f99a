"""A service that fails in several ways, and shows how often.

OTEL_FASTPATH_EXCEPTIONS=handled,code opentelemetry-instrument uvicorn examples.exceptions.service:app
curl localhost:8000/exceptions
"""

from __future__ import annotations

import asyncio
import json

from fastapi import FastAPI, HTTPException, Response

from otel_fastpath import exceptions

ITEMS = {1: "lamp", 2: "table", 3: "chair"}

app = FastAPI()


class OutOfStockError(Exception):
    """Raised if an item is out of stock."""


@app.get("/items/{number}")
async def item(number: int) -> str:
    """Answer 404 for a missing item: a KeyError, converted to an HTTPException."""
    try:
        return ITEMS[number]
    except KeyError:
        raise HTTPException(404, "no such item") from None


@app.get("/price")
async def price(text: str) -> float:
    """Read a number, or use a default: a ValueError that is always handled."""
    try:
        return float(text)
    except ValueError:
        return 0.0


@app.get("/order/{number}")
async def order(number: int) -> str:
    """Fail: a bug that ends in a 500."""
    if number % 2:
        raise OutOfStockError(number)
    return "ordered"


@app.get("/slow")
async def slow() -> str:
    """Give up after a moment: a TimeoutError; the CancelledError that it takes is not counted."""
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(1)
    except TimeoutError:
        return "too slow"
    return "done"


@app.get("/body")
async def body() -> bool:
    """Decode invalid JSON in a worker thread."""
    try:
        await asyncio.to_thread(json.loads, "{nope")
    except json.JSONDecodeError:
        return False
    return True


@app.get("/exceptions")
async def table() -> Response:
    """The table, from any service that counts."""
    return Response(text_table(exceptions.snapshot()), media_type="text/plain")


def text_table(counts: tuple[exceptions.TypeCount, ...]) -> str:
    """One line per type, and one per place where it was raised."""
    lines = [f"{'RAISED':>8}{'HANDLED':>9}  TYPE, AND WHERE"]
    for count in counts:
        handled = "-" if count.handled is None else str(count.handled)
        lines.append(f"{count.raised:8}{handled:>9}  {count.type}")
        lines += [f"{site.raised:8}{'':11}  {site.function}, {site.file}:{site.line}" for site in count.sites[:3]]
    return "\n".join(lines) + "\n"
