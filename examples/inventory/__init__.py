"""An inventory service of a game, aiohttp and asyncpg, and what telemetry costs it."""
