"""Calls of LLMs through `opentelemetry.util.genai`, which each official instrumentation of an LLM's client uses."""
