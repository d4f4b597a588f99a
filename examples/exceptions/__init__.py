"""The exceptions of a running service: `python -m examples.exceptions`."""
