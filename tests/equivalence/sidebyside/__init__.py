"""Runs the same scenario on stock OpenTelemetry and on the fast path, in one process, and compares what can be seen.

`compare.assert_same(scenario, setup)` is the way in. A scenario is a function of a `World`: it does what it likes with
`world.tracer`, and everything that an exporter, a processor, a log handler or the caller sees becomes a line of
`world.happenings`. Ids come from a seeded `random`, the time from a clock that stands still unless told.
"""
