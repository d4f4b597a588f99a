"""Runnable examples of otel-fastpath; `python -m examples.demo` uses most of them together."""
