"""An order service as many are: FastAPI, httpx, SQLAlchemy over asyncpg, redis, logging, OpenAI.

It knows nothing of OpenTelemetry. Run it from this folder; without REDIS_URL it does not use redis::

    psql $DATABASE_URL -f schema.sql
    python prices.py --port 8090 & export PRICES_URL=http://127.0.0.1:8090
    export DATABASE_URL=postgresql://... REDIS_URL=redis://... OPENAI_API_KEY=... # and OPENAI_BASE_URL, OPENAI_MODEL
    opentelemetry-instrument uvicorn app:app
"""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Annotated

import httpx
import openai
from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel, ConfigDict
from redis.asyncio import Redis
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

MODEL = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
VIEWS_KEPT_S = 3600

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("orders")


class Base(DeclarativeBase):
    """The base of the tables."""


class OrderRow(Base):
    """An order in the database."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    item: Mapped[str]
    quantity: Mapped[int]
    price: Mapped[Decimal]


class NewOrder(BaseModel):
    """What a customer orders."""

    customer: str
    item: str
    quantity: int


class Order(NewOrder):
    """An order with its price."""

    model_config = ConfigDict(from_attributes=True)
    price: Decimal


class Question(BaseModel):
    """What a customer asks about an order."""

    text: str


class Answer(BaseModel):
    """What the customer is told."""

    text: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the clients for as long as the service runs."""
    engine = create_async_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1))
    url = os.environ.get("REDIS_URL")
    app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
    app.state.cache = Redis.from_url(url) if url else None
    async with httpx.AsyncClient(base_url=os.environ["PRICES_URL"]) as prices, openai.AsyncOpenAI() as model:
        app.state.prices, app.state.model = prices, model
        yield
    if app.state.cache is not None:
        await app.state.cache.aclose()
    await engine.dispose()


async def _session(request: Request) -> AsyncIterator[AsyncSession]:
    async with request.app.state.sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(_session)]
app = FastAPI(title="example orders", lifespan=lifespan)


@app.get("/orders/{order_id}")
async def read_order(order_id: int, request: Request, session: Session) -> Order:
    """Read an order, and count that it was viewed."""
    found = await _find(order_id, session)
    if cache := request.app.state.cache:
        await cache.incr(f"views:{order_id}")
        await cache.expire(f"views:{order_id}", VIEWS_KEPT_S)
    log.info("order %d was viewed", order_id, extra={"customer": found.customer})
    return Order.model_validate(found)


@app.get("/customers/{customer}/orders")
async def list_orders(customer: str, session: Session) -> list[Order]:
    """Read the first orders of a customer."""
    query = select(OrderRow).where(OrderRow.customer == customer).order_by(OrderRow.id).limit(5)
    found = (await session.scalars(query)).all()
    log.info("the orders of %s were listed", customer, extra={"count": len(found)})
    return [Order.model_validate(each) for each in found]


@app.post("/orders", status_code=201)
async def create_order(order: NewOrder, request: Request, session: Session) -> Order:
    """Ask for the price, and store the order."""
    try:
        answer = await request.app.state.prices.get(f"/prices/{order.item}")
        answer.raise_for_status()
    except httpx.HTTPError:
        log.exception("there is no price of %s", order.item)
        raise HTTPException(502, "no price") from None
    row = OrderRow(**order.model_dump(), price=Decimal(answer.json()["price"]))
    session.add(row)
    await session.commit()
    log.info("%s ordered %d x %s", order.customer, order.quantity, order.item, extra={"price": float(row.price)})
    return Order.model_validate(row)


@app.post("/orders/{order_id}/questions")
async def answer_question(order_id: int, question: Question, request: Request, session: Session) -> Answer:
    """Let the model answer a question about an order."""
    found = await _find(order_id, session)
    completion = await request.app.state.model.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": f"The customer ordered {found.quantity} x {found.item}."},
            {"role": "user", "content": question.text},
        ],
    )
    log.info("a question about order %d was answered", order_id, extra={"tokens": completion.usage.total_tokens})
    return Answer(text=completion.choices[0].message.content)


async def _find(order_id: int, session: AsyncSession) -> OrderRow:
    found = await session.get(OrderRow, order_id)
    if found is None:
        log.warning("order %d does not exist", order_id)
        raise HTTPException(404, "no such order")
    return found
