"""OTLP requests encoded directly as bytes, and the patches of the exporters."""
