# C types for the compiled twin of scopes.py.

cpdef make_scope(object tracer, object name, object kind, object attributes)
cpdef enter_scope(object scope)
cpdef exit_scope(object scope, object error)
cpdef make_current(object context)
cpdef activate(object span)
cpdef detach_token(object token)
