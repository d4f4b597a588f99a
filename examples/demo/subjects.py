"""The services that the demo measures, and the ways in which it runs each of them."""

from dataclasses import dataclass
from pathlib import Path

from examples.demo.mix import ORDERS, SHOP, Mix
from examples.demo.services import ROOT, SERVICE, SIGNALS

BARE, STOCK, FASTPATH = "bare", "stock", "fastpath"
TRACED = (STOCK, FASTPATH)
# The instrumentations that the project's environment has besides those of the service: loading them takes time. That of
# asyncpg is off, too: OpenTelemetry would send the spans of both layers for each statement, otel-fastpath those of
# SQLAlchemy (docs/sqlalchemy.md), and the comparison would be one of different telemetry.
NOT_OF_ORDERS = (
    "aiohttp-client",
    "aiohttp-server",
    "asyncpg",
    "cassandra",
    "django",
    "flask",
    "mysqlclient",
    "psycopg",
    "psycopg2",
    "pymysql",
    "requests",
    "sqlite3",
    "starlette",
    "urllib3",
)


@dataclass(frozen=True)
class Way:
    """A service without telemetry, with OpenTelemetry or with otel-fastpath, and the signals that it sends.

    Attributes:
        base: `BARE`, `STOCK` or `FASTPATH`.
        signals: What it sends.
        name: The name of its processes.
    """

    base: str
    signals: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Subject:
    """A service that is measured.

    Attributes:
        name: Its name in the names of files.
        title: What it is made of.
        folder: Where its `app.py` is.
        mix: The requests to it.
        signals: What it sends.
        rounds: The rounds of a run.
        apart: Whether the signals are measured one by one.
        disabled: The instrumentations that are not loaded.
    """

    name: str
    title: str
    folder: Path
    mix: Mix
    signals: tuple[str, ...]
    rounds: int
    apart: bool
    disabled: tuple[str, ...] = ()

    def ways(self) -> list[Way]:
        """All the ways, those with every signal under the name of their base.

        A signal's cost is what it adds to the signals before it: traces alone, then metrics as well, then logs as well.
        """
        found = [Way(BARE, (), BARE)]
        for base in TRACED:
            found.append(Way(base, self.signals, base))
            if self.apart:
                found += [
                    Way(base, self.signals[:count], f"{base}-{'-'.join(self.signals[:count])}")
                    for count in range(1, len(self.signals))
                ]
        return found


SUBJECTS = {
    each.name: each
    for each in (
        Subject(
            name="shop",
            title="FastAPI, asyncpg, OpenAI",
            folder=SERVICE,
            mix=SHOP,
            signals=("traces", "metrics"),
            rounds=10,
            apart=False,
        ),
        Subject(
            name="orders",
            title="FastAPI, httpx, SQLAlchemy over asyncpg, redis, logging, OpenAI",
            folder=ROOT / "examples" / "orders",
            mix=ORDERS,
            signals=SIGNALS,
            rounds=2,
            apart=True,
            disabled=NOT_OF_ORDERS,
        ),
    )
}
