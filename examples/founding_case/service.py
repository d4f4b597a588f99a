"""The service of the case: it streams a model's words as they arrive. It does not use OpenTelemetry itself.

Run it from this folder, with OPENAI_API_KEY and OPENAI_BASE_URL set::

    gunicorn service:app --worker-class uvicorn.workers.UvicornWorker
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the client for as long as the service runs."""
    async with openai.AsyncOpenAI() as client:
        app.state.openai = client
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/ask")
async def ask(request: Request, text: str) -> StreamingResponse:
    """Ask the model, and stream what it says."""
    stream = await request.app.state.openai.chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "system", "content": "You sell furniture."}, {"role": "user", "content": text}],
        temperature=0.2,
        stream=True,
    )

    async def words() -> AsyncIterator[str]:
        async for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content:
                    yield choice.delta.content

    return StreamingResponse(words(), media_type="text/plain")
