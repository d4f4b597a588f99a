"""A small shop service as many are: FastAPI, asyncpg, OpenAI. It knows nothing of OpenTelemetry.

Run it from this folder, with a database and an OpenAI-compatible server to talk to::

    export DATABASE_URL=postgresql://... OPENAI_API_KEY=... # and OPENAI_BASE_URL, OPENAI_MODEL
    uvicorn app:app                          # no telemetry
    opentelemetry-instrument uvicorn app:app # telemetry, and otel-fastpath where it is installed
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import openai
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

SCHEMA = Path(__file__).with_name("schema.sql")
DEFAULT_MODEL = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
FIND_ITEM: Any = {
    "type": "function",
    "function": {
        "name": "find_item",
        "description": "Look an item of the shop up by its number.",
        "parameters": {
            "type": "object",
            "properties": {"item_id": {"type": "integer"}},
            "required": ["item_id"],
        },
    },
}

router = APIRouter()


class Item(BaseModel):
    """One thing the shop sells."""

    id: int
    category: str
    name: str
    price: Decimal
    views: int


class Question(BaseModel):
    """What a customer asks."""

    text: str
    model: str = DEFAULT_MODEL


class Answer(BaseModel):
    """What the customer is told, and what it cost in tokens."""

    text: str
    tokens: int


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the database pool and the OpenAI client for as long as the service runs."""
    pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=4, max_size=4)
    async with pool, openai.AsyncOpenAI() as client:
        await pool.execute(SCHEMA.read_text(encoding="utf-8"))
        app.state.pool = pool
        app.state.openai = client
        yield


def _pool(request: Request) -> Any:
    return request.app.state.pool


def _openai(request: Request) -> openai.AsyncOpenAI:
    client: openai.AsyncOpenAI = request.app.state.openai
    return client


Pool = Annotated[Any, Depends(_pool)]
OpenAI = Annotated[openai.AsyncOpenAI, Depends(_openai)]


@router.get("/hello")
async def hello(name: str = "world") -> dict[str, str]:
    """Answer without asking anyone."""
    return {"hello": name}


@router.get("/items/{item_id}")
async def read_item(item_id: int, pool: Pool) -> Item:
    """Read one row."""
    row = await pool.fetchrow("SELECT id, category, name, price, views FROM items WHERE id = $1", item_id)
    if row is None:
        raise HTTPException(404, "no such item")
    return Item(**row)


@router.get("/items")
async def list_items(pool: Pool, category: str, limit: int = 10) -> list[Item]:
    """Read several rows."""
    rows = await pool.fetch(
        "SELECT id, category, name, price, views FROM items WHERE category = $1 ORDER BY id LIMIT $2", category, limit
    )
    return [Item(**row) for row in rows]


@router.post("/items/{item_id}/views")
async def count_view(item_id: int, pool: Pool) -> dict[str, int]:
    """Write one row in a transaction."""
    async with pool.acquire() as connection, connection.transaction():
        known = await connection.fetchval("SELECT count(*) FROM items WHERE id = $1", item_id)
        await connection.execute("UPDATE items SET views = views + 1 WHERE id = $1", item_id)
    return {"counted": known}


@router.post("/chat")
async def chat(question: Question, client: OpenAI) -> Answer:
    """Ask the model once."""
    completion = await client.chat.completions.create(
        model=question.model,
        messages=[{"role": "system", "content": "You sell furniture."}, {"role": "user", "content": question.text}],
        temperature=0.2,
        max_tokens=200,
    )
    return _answer(completion)


@router.post("/chat/stream")
async def stream_chat(question: Question, client: OpenAI) -> StreamingResponse:
    """Pass the model's words on as they come."""
    stream = await client.chat.completions.create(
        model=question.model,
        messages=[{"role": "user", "content": question.text}],
        stream=True,
        stream_options={"include_usage": True},
    )

    async def words() -> AsyncIterator[str]:
        async with stream:
            async for chunk in stream:
                for choice in chunk.choices:
                    if choice.delta.content:
                        yield f"data: {json.dumps(choice.delta.content)}\n\n"
                if chunk.usage is not None:
                    yield f"event: done\ndata: {chunk.usage.total_tokens}\n\n"

    return StreamingResponse(words(), media_type="text/event-stream")


@router.post("/assistant")
async def assistant(question: Question, client: OpenAI, pool: Pool) -> Answer:
    """Let the model look things up in the database before it answers."""
    messages: list[Any] = [{"role": "user", "content": question.text}]
    first = await client.chat.completions.create(model=question.model, messages=messages, tools=[FIND_ITEM])
    reply = first.choices[0].message
    if not reply.tool_calls:
        return _answer(first)
    messages.append(reply.model_dump(exclude_none=True))
    for call in reply.tool_calls:
        if call.type == "function":
            row = await pool.fetchrow(
                "SELECT name, price FROM items WHERE id = $1", json.loads(call.function.arguments)["item_id"]
            )
            content = "unknown" if row is None else f"{row['name']} costs {row['price']}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return _answer(await client.chat.completions.create(model=question.model, messages=messages, tools=[FIND_ITEM]))


@router.get("/fault")
async def fault() -> None:
    """Fail as a programming error does."""
    raise ZeroDivisionError("the service has a bug")


def _answer(completion: Any) -> Answer:
    usage = completion.usage
    return Answer(text=completion.choices[0].message.content or "", tokens=usage.total_tokens if usage else 0)


async def stock_failed(_: Request, error: Exception) -> JSONResponse:
    """Tell the caller that it was the model's server that failed."""
    return JSONResponse({"detail": "the model's server failed", "status": getattr(error, "status_code", None)}, 502)


def create_app(**settings: Any) -> FastAPI:
    """Make the application; `settings` are FastAPI's own."""
    settings.setdefault("lifespan", lifespan)
    made = FastAPI(title="example shop", **settings)
    made.include_router(router)
    made.add_exception_handler(openai.APIError, stock_failed)
    return made


app = create_app()
