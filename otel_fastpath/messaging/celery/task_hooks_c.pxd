# C types for the compiled twin of task_hooks.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _globals
cdef dict _utils_globals
cdef Facts _hooks
cdef object _CONSUMER
cdef object _PRODUCER

cpdef bint are_known() except -1

@cython.locals(own=dict)
cdef bint _is_usual(object instrumentor) except -1

cdef _task_id(dict kwargs)

cdef _registered(dict kwargs)

cdef _note_time(object self, object task_id)

cdef _record(object self, object task_id, dict attributes)

cdef _kept(object task, tuple key)

cdef _say(str message, object task_id)

cdef _keep(object task, tuple key, tuple opened)

cdef _give_up(object activation, object token)

cdef _remote_context(object request)

cdef _links(object context)

cdef _inject(dict headers)

cdef _describe_sent(object span, object name, object task_id, dict kwargs)

cdef _describe_run(object span, object task, object request, dict kwargs)
