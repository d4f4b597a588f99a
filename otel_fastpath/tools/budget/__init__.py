"""Overhead budgets: how much telemetry may cost. They are declared, measured and enforced here.

Importing this package does nothing: pytest does so in every project that has otel-fastpath installed. Its public names
are those of `otel_fastpath.budget`.
"""
