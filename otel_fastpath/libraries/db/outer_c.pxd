# C types for the compiled twin of outer.py.
import cython

from otel_fastpath.libraries.call_span_c cimport Link, Plan, Query

@cython.locals(call=Query)
cpdef open_outer(Link link, Plan plan, object start_ns)
