"""Requests of OTLP as bytes, and the patches of the exporters."""
