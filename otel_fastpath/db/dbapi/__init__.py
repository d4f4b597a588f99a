"""Drivers that follow the DB-API (PEP 249), and the stock instrumentation that theirs are built on."""
