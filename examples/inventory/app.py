"""An inventory service: aiohttp.web and asyncpg. It knows nothing of OpenTelemetry.

export DATABASE_URL=postgresql://...
python app.py --port 8080                          # no telemetry
opentelemetry-instrument python app.py --port 8080 # telemetry, and otel-fastpath if it is installed
"""

import argparse
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
from aiohttp import web

SCHEMA = Path(__file__).with_name("schema.sql")
POOL = web.AppKey("pool", asyncpg.Pool)
READ = "SELECT item, amount FROM inventory WHERE player = $1 ORDER BY item"
GRANT = """
    INSERT INTO inventory (player, item, amount) VALUES ($1, $2, $3)
    ON CONFLICT (player, item) DO UPDATE SET amount = inventory.amount + excluded.amount RETURNING amount
"""
NOTE = "INSERT INTO grants (player, item, amount) VALUES ($1, $2, $3)"


async def _database(app: web.Application) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=8, max_size=8) as pool:
        await pool.execute(SCHEMA.read_text(encoding="utf-8"))
        app[POOL] = pool
        yield


async def read(request: web.Request) -> web.Response:
    """What a player has."""
    rows = await request.app[POOL].fetch(READ, int(request.match_info["player"]))
    if not rows:
        raise web.HTTPNotFound
    return web.json_response({row["item"]: row["amount"] for row in rows})


async def grant(request: web.Request) -> web.Response:
    """Give a player some of an item, and note it, in one transaction."""
    player, asked = int(request.match_info["player"]), await request.json()
    item, amount = str(asked["item"]), int(asked["amount"])
    async with request.app[POOL].acquire() as connection, connection.transaction():
        total = await connection.fetchval(GRANT, player, item, amount)
        await connection.execute(NOTE, player, item, amount)
    return web.json_response({"item": item, "amount": total}, status=201)


def application() -> web.Application:
    """Make the application."""
    app = web.Application()
    app.cleanup_ctx.append(_database)
    app.router.add_get("/players/{player}/items", read)
    app.router.add_post("/players/{player}/items", grant)
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    web.run_app(application(), host="127.0.0.1", port=parser.parse_args().port, access_log=None, print=None)
