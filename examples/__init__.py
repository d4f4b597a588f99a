"""Runnable examples of otel-fastpath; `python -m examples.demo` is the one that puts them all to work."""
