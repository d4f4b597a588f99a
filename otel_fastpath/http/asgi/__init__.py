"""The stock ASGI instrumentation, on which those of FastAPI and Starlette stand."""
