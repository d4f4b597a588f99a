"""An order service: FastAPI, httpx, SQLAlchemy over asyncpg, redis, logging and OpenAI."""
