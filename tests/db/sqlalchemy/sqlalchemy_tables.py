"""The tables of the tests, as Core and as the ORM have them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, orm

# Attributes that are in the list of differences.
DIFFERENT = {"error.type", "db.response.status_code", "db.operation.batch.size"}
USAGE = "db.client.connections.usage"
METADATA = sa.MetaData()
T = sa.Table("t", METADATA, sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String))


class Base(orm.DeclarativeBase):
    """The application's."""


class Row(Base):
    """A row of `t`."""

    __tablename__ = "t"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    v: orm.Mapped[str]


def select_one(connection):
    """The row of a statement with a parameter."""
    return connection.execute(sa.select(T).where(T.c.id == 1)).all()


def usage(seen):
    """State -> number of connections, and the name of the pool."""
    points = seen.metrics().get(USAGE, [])
    return {(point.attributes["pool.name"], point.attributes["state"]): point.value for point in points}


def what_both_see(engine):
    """What both see alike."""
    with engine.connect() as connection:
        METADATA.create_all(connection)
        connection.execute(sa.text("INSERT INTO t (v) VALUES (:v)"), [{"v": "a"}, {"v": "b"}])
        connection.execute(T.insert(), {"id": 7, "v": "seven"})
        select_one(connection)
        connection.exec_driver_sql("/* c */ select 'literal'")
        with connection.begin_nested():
            connection.exec_driver_sql("-- c\nSELECT 1")
        with pytest.raises(exc.IntegrityError):
            connection.execute(T.insert(), {"id": 7, "v": "seven"})
