"""FastAPI's own telemetry (`FastAPI(telemetry=...)`, since FastAPI 0.142)."""
