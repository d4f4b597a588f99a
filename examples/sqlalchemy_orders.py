"""Core, the ORM and an async engine of SQLAlchemy on sqlite, as otel-fastpath records them: run it to see the spans.

python -m examples.sqlalchemy_orders
"""

import asyncio

import sqlalchemy as sa
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import create_async_engine

from otel_fastpath import FastpathInstrumentor


class Base(orm.DeclarativeBase):
    """The base of the models."""


class Order(Base):
    """An order."""

    __tablename__ = "orders"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    item: orm.Mapped[str]


def work() -> None:
    """The work of an application."""
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine, checkfirst=False)
    with orm.Session(engine) as session:
        session.add_all([Order(item="table"), Order(item="chair"), Order(item="lamp")])
        session.commit()
        session.scalars(sa.select(Order).where(Order.item.in_(["table", "lamp"]))).all()
        session.execute(sa.text("SELECT id FROM orders WHERE item = 'secret'"))
    engine.dispose()


async def async_work() -> None:
    """The same with an async engine."""
    engine = create_async_engine("sqlite+aiosqlite://")
    async with engine.connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
    await engine.dispose()


def main() -> None:
    """Print each span's name and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(sqlalchemy="on", tracer_provider=provider)
    work()
    asyncio.run(async_work())
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        text = (span.attributes or {}).get("db.query.text", "")
        print(f"{span.name:20}  {' '.join(str(text).split())}")


if __name__ == "__main__":
    main()
