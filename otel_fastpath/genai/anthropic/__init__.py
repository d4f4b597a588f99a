"""`opentelemetry-instrumentation-genai-anthropic`: messages of Anthropic's client, at once and streamed."""
