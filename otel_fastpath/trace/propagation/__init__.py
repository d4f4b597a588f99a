"""The headers that carry spans and baggage between processes: W3C's, and several propagators in one."""
