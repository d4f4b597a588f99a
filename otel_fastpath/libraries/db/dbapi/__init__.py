"""Drivers that follow the DB-API (PEP 249), and the official instrumentation that theirs are built on."""
