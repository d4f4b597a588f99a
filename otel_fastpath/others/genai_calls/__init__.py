"""Calls of LLMs through `opentelemetry.util.genai`, which OpenTelemetry's instrumentations of LLMs use."""
