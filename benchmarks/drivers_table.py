"""What queries of psycopg and SQLAlchemy cost on a real PostgreSQL: bare, with the stock instrumentations and ours.

    make bench NAME=drivers ARGS="--markdown build/bench/drivers.md"

The server is that of DATABASE_URL, or one that is started for this run. Bare queries have processes of their own: what
CPython specialized for a driver's class would serve an instrumented one beside it badly. `turns` describes the rest.
Times are CPU time of the thread that makes the queries. Spans go to a batch processor whose thread never wakes.
"""

from __future__ import annotations

import gc
import platform
import sys
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import bench_sqlalchemy
import databases
import turns

if TYPE_CHECKING:
    from collections.abc import Callable


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        title: The query.
        name: Its name in `WORK`.
        stock: The mode of the stock instrumentation.
        ours: That of ours.
    """

    title: str
    name: str
    stock: str
    ours: str

    def modes(self) -> tuple[str, str, str]:
        """The modes of processes that measure it: bare, stock and ours."""
        return f"{self.name}: bare", f"{self.name}: {self.stock}", f"{self.name}: {self.ours}"


ROWS = (
    Row("psycopg, `execute`", "psycopg", "stock", "ours"),
    Row("the same, with metrics; stock's traces", "psycopg", "stock", "ours, metrics"),
    Row("the same, not sampled", "psycopg", "stock, not sampled", "ours, not sampled"),
    Row("SQLAlchemy on psycopg, a select", "select", "stock", "ours"),
    Row("the same, not sampled", "select", "stock, not sampled", "ours, not sampled"),
    Row("SQLAlchemy on psycopg, `engine.connect()` and a select", "connect", "stock", "ours"),
)
MODES = tuple(dict.fromkeys(mode for row in ROWS for mode in row.modes()))
STARTS, ROUNDS, QUERIES, WARM_UP = 6, 15, 500, 20
DISTRIBUTIONS = (
    *("psycopg", "sqlalchemy", "opentelemetry-sdk", "opentelemetry-instrumentation-psycopg"),
    "opentelemetry-instrumentation-sqlalchemy",
)
TABLE = "CREATE TABLE IF NOT EXISTS bench_t (id int PRIMARY KEY, v text)"
FILL = "INSERT INTO bench_t VALUES (1, 'x') ON CONFLICT DO NOTHING"


def _psycopg(mode: str, url: str) -> Callable[[], Any]:
    """`execute` of a cursor."""
    import psycopg  # noqa: PLC0415  # only in a process that measures it

    if mode.startswith("stock"):
        from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor  # noqa: PLC0415  # likewise

        PsycopgInstrumentor().instrument(**databases.providers(mode))
    elif mode.startswith("ours"):
        databases.instrument("psycopg", mode)
    cursor = psycopg.connect(url, autocommit=True).cursor()
    return lambda: cursor.execute("SELECT id, v FROM bench_t WHERE id = %s", (1,)).fetchone()


def _engine(mode: str, url: str) -> tuple[Any, Any]:
    """An engine, and a select."""
    import sqlalchemy as sa  # noqa: PLC0415  # likewise

    bench_sqlalchemy.instrument(mode)
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), pool_size=1)
    table = sa.Table("bench_t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String))
    return engine, sa.select(table).where(table.c.id == 1)


def _select(mode: str, url: str) -> Callable[[], Any]:
    """A select on an open connection."""
    engine, select = _engine(mode, url)
    connection = engine.connect()
    return lambda: connection.execute(select).all()


def _connect(mode: str, url: str) -> Callable[[], Any]:
    """A select on a connection of the pool."""
    engine, select = _engine(mode, url)

    def query() -> Any:
        with engine.connect() as connection:
            return connection.execute(select).all()

    return query


WORK = {"psycopg": _psycopg, "select": _select, "connect": _connect}


def _work(mode: str, url: str) -> None:
    """Run as one of the processes: do a turn for each line of standard input."""
    import psycopg  # noqa: PLC0415  # not in the process that starts the others

    with psycopg.connect(url) as connection:
        # Processes start at the same time.
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        connection.execute(TABLE)
        connection.execute(FILL)
    name, _, how = mode.partition(": ")
    query = WORK[name](how, url)
    print("ready", flush=True)
    # A collection would fall on a query by chance; it takes place between the turns.
    gc.disable()
    while sys.stdin.readline():
        gc.collect()
        for _ in range(WARM_UP):
            query()
        started = time.thread_time()
        for _ in range(QUERIES):
            query()
        print((time.thread_time() - started) / QUERIES * 1e6, flush=True)


def table(found: list[turns.Start]) -> str:
    """As Markdown."""
    lines = ["| query | bare | stock adds | otel-fastpath adds | |", "|---|---:|---:|---:|---:|"]
    for row in ROWS:
        bare, *instrumented = row.modes()
        stock, ours = (turns.added_to(bare, found, mode) for mode in instrumented)
        shown = (f"{turns.first(found, (bare,)):.0f} us", turns.said(stock), turns.said(ours))
        lines.append(f"| {row.title} | {' | '.join(shown)} | {turns.ratio(stock, ours)} |")
    parts = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    said = (
        f"CPU of the thread for a query on a real PostgreSQL over loopback: medians of {len(found)} processes (least "
        "to most), each the median of the differences to a process with bare queries, in "
        f"{len(found[0][MODES[0]])} turns of {QUERIES} queries. "
        f"Python {platform.python_version()}, {parts}."
    )
    return "\n".join((*lines, "", said))


def main() -> int:
    """Print the table, and write it to a file if requested."""
    options = turns.arguments(__doc__, STARTS, ROUNDS, QUERIES)
    if options.worker:
        _work(*options.worker)
        return 0
    turns.show(table(turns.measure(__file__, MODES, options.starts, options.rounds)), options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
