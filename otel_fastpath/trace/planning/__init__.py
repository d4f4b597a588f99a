"""Which short cuts the configuration of a tracer allows: worked out once for each tracer, as its plan."""
